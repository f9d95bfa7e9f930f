"""The page of a verification for everybody: headings, tables with heads, marks beside colours, contrast."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import pytest

from agentbeat_receipts.claims import ClaimReport
from agentbeat_receipts.reports.html import to_html
from agentbeat_receipts.reports.outcomes import judged, verdict_text
from support.claim_batches import Making, batch, kiosk_manifest, unopened
from support.claim_batches import judged as verdicts

STYLE = (files("agentbeat_receipts.reports") / "report.css").read_text()
MARKS = {"pass": "✓", "invalid": "✗", "open": "?", "none": "–"}


def _reports() -> dict[str, ClaimReport]:
    silent = Making(manifest=kiosk_manifest(contracts=()))
    return {
        "sound": verdicts(batch()),
        "a terminal missing": verdicts(batch(silent).without("receipts", "v-3.capped.1")),
        "an opening missing": verdicts(unopened(batch(), "v-1.free.1")),
        "no domain": verdicts(batch(silent), domain=None),
        "wrong": verdicts(batch(silent, disclosed={"v-1.free.1": {"values": {"sale": 0}}})),
    }


REPORTS = _reports()


class Page(HTMLParser):
    """Its elements with their attributes and texts, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        texts: list[str] = []
        self.found.append((tag, dict(attrs), texts))
        if tag not in ("meta", "wbr"):
            self._open.append(texts)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for texts in self._open:
            texts.append(data)

    def all(self, *tags: str) -> list[tuple[str, dict[str, str | None], str]]:
        """The elements of these names, with all the text in them."""
        return [(tag, attrs, "".join(texts)) for tag, attrs, texts in self.found if tag in tags]


@pytest.fixture(params=REPORTS.values(), ids=REPORTS)
def report(request: pytest.FixtureRequest) -> ClaimReport:
    found: ClaimReport = request.param
    return found


def test_the_page_says_its_language_title_and_one_first_heading(report: ClaimReport) -> None:
    page = Page(to_html(report))
    assert [attrs["lang"] for _, attrs, _ in page.all("html")] == ["en"]
    (_, _, title), (_, _, heading) = *page.all("title"), *page.all("h1")
    assert title.endswith(heading)
    assert [attrs["aria-label"] for _, attrs, _ in page.all("nav")] == ["Sections"]


def test_headings_go_down_one_level_at_a_time_and_none_is_empty(report: ClaimReport) -> None:
    headings = Page(to_html(report)).all("h1", "h2", "h3", "h4")
    levels = [int(tag[1]) for tag, _, _ in headings]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(text.strip() for _, _, text in headings)


def test_every_table_has_a_caption_and_every_head_says_what_it_heads(report: ClaimReport) -> None:
    page = Page(to_html(report))
    assert len(page.all("table")) == len(page.all("caption")) > 0
    assert {attrs.get("scope") for _, attrs, _ in page.all("th")} <= {"col", "row", "rowgroup"}
    groups = [text for _, attrs, text in page.all("th") if attrs["scope"] == "rowgroup"]
    assert len(groups) <= len(page.all("tbody"))
    # A box that scrolls is reached by keyboard and has a name.
    boxes = [attrs for _, attrs, _ in page.all("div") if attrs.get("class") == "scrolls"]
    assert all(attrs["tabindex"] == "0" and attrs["aria-label"] for attrs in boxes)


def test_each_verdict_is_a_word_with_a_mark_and_is_explained(report: ClaimReport) -> None:
    page = Page(to_html(report))
    badges = [(attrs.get("class") or "", text) for _, attrs, text in page.all("span")]
    shown = [(style.split()[1], text) for style, text in badges if style.startswith("badge ")]
    marked = [(style, text.split("\N{NO-BREAK SPACE}")) for style, text in shown]
    # The licence is a word by itself.
    assert [style for style, parts in marked if len(parts) == 1] in (["pass"], ["open"])
    assert all(MARKS[style] == parts[0] for style, parts in marked if len(parts) == 2)
    keys = [text for _, _, text in page.all("li")]
    for verdict in set(judged(report).values()):
        assert any(text.endswith(f"{verdict} {verdict_text(verdict)}") for text in keys)


def test_a_cell_of_the_matrix_tells_by_its_mark_what_its_colour_tells(report: ClaimReport) -> None:
    cells = [(attrs.get("class"), text) for _, attrs, text in Page(to_html(report)).all("td")]
    coloured = [(style, text) for style, text in cells if style in MARKS]
    assert coloured
    assert all(text.startswith(MARKS[str(style)]) for style, text in coloured)


def _palettes() -> list[dict[str, str]]:
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL)
    return [dict(re.findall(r"--(\w+): #([0-9a-f]{6})", text)) for text in (light, dark)]


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", _palettes(), ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "field"])
def test_text_stands_out_from_its_ground_by_four_and_a_half_to_one(
    palette: dict[str, str], ground: str
) -> None:
    for name in ("ink", "quiet", "link", "pass", "invalid", "open", "none"):
        less, more = sorted((_luminance(palette[name]), _luminance(palette[ground])))
        assert (more + 0.05) / (less + 0.05) >= 4.5, name
