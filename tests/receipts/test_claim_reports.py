"""What the reports show of a verification, and that nothing delivered is more than text in them."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from rich.console import Console

from agentbeat_receipts.claims import Analysis, ClaimFinding, ClaimReport, Fault, Licence
from agentbeat_receipts.objects import Pair
from agentbeat_receipts.reports.exactness import decimal_text, number_text, ratio_text
from agentbeat_receipts.reports.findings import chain_reasons, claim_reasons
from agentbeat_receipts.reports.html import to_html
from agentbeat_receipts.reports.json_report import to_json
from agentbeat_receipts.reports.outcomes import ExitCode, headline, outcome_of
from agentbeat_receipts.reports.table import render_table
from agentbeat_receipts.verification import Finding, Reason, Verdict
from support.claim_batches import Making, batch, judged, kiosk_manifest
from support.claim_commands import retrospective

MISSING = "v-3.capped.1"
PLAIN = Making(manifest=kiosk_manifest(contracts=()))


def table(report: ClaimReport, *, width: int = 120, terminal: bool = False) -> str:
    out = io.StringIO()
    colours = "standard" if terminal else "auto"
    render_table(report, Console(file=out, width=width, force_terminal=terminal, color_system=colours))
    return out.getvalue()


@pytest.fixture(scope="module")
def sound() -> ClaimReport:
    return judged(batch(PLAIN))


@pytest.fixture(scope="module")
def short() -> ClaimReport:
    return judged(batch(PLAIN).without("receipts", MISSING))


@pytest.fixture(scope="module")
def wrong() -> ClaimReport:
    changed = {
        "v-1.free.1": {"values": {"sale": 1, "surplus": 999, "margin": 50, "ratio": Pair(pair=(50, 90))}}
    }
    return judged(batch(Making(manifest=PLAIN.manifest, disclosed=changed)))


def analysed(report: ClaimReport, analysis: Analysis) -> ClaimReport:
    claims = tuple(
        replace(claim, verdict=Verdict.PASS, findings=(), analyses=(analysis,))
        if claim.claim == "C1"
        else claim
        for claim in report.claims
    )
    return replace(report, claims=claims)


# The outcome.


def test_a_batch_passes_when_whatever_it_claims_passes(sound: ClaimReport) -> None:
    assert sound.claim("C1").verdict is Verdict.NO_CONTRACT
    assert outcome_of(sound).code is ExitCode.PASS
    assert "Everything that is claimed passes" in headline(sound)


def test_coverage_that_was_never_claimed_does_not_count_against_a_batch() -> None:
    report = judged(batch(Making(manifest=retrospective())))
    assert report.chain.coverage is Verdict.NOT_CLAIMED
    assert outcome_of(report).code is ExitCode.PASS


def test_a_missing_terminal_is_inconclusive_and_a_wrong_value_invalid(
    short: ClaimReport, wrong: ClaimReport
) -> None:
    assert outcome_of(short).code is ExitCode.INCONCLUSIVE
    assert set(outcome_of(short).concerned) == {"coverage", "C4"}
    assert outcome_of(wrong).code is ExitCode.INVALID
    assert set(outcome_of(wrong).concerned) == {"surplus", "C4"}


def test_without_openings_or_without_any_claim_nothing_passes(sound: ClaimReport) -> None:
    sealed = judged(batch(PLAIN), opened=False)
    assert outcome_of(sealed).code is ExitCode.INCONCLUSIVE
    nothing = replace(sound, claims=())
    assert outcome_of(nothing).code is ExitCode.INCONCLUSIVE
    assert "Nothing is claimed" in headline(nothing)


# Exact numbers.


@pytest.mark.parametrize(
    ("pair", "decimal"),
    [
        ((77, 2), "38.5"),
        ((-77, 2), "-38.5"),
        ((77, -2), "-38.5"),
        ((1, 3), "≈ 0.3333"),
        ((-2, 3), "≈ -0.6667"),
        ((-1, 100_000), "≈ 0"),
        ((5, 100_000), "≈ 0.0001"),
        ((0, 7), "0"),
        ((0, -7), "0"),
        ((7, 0), None),
        (("90071992547409930", 10), "9007199254740993"),
        (("9007199254740993", 2), "4503599627370496.5"),
    ],
)
def test_a_ratio_has_the_decimal_of_its_integers(pair: tuple[Any, Any], decimal: str | None) -> None:
    assert decimal_text(Pair(pair=pair)) == decimal
    assert ratio_text(Pair(pair=pair)) == f"{pair[0]}/{pair[1]}"


def test_a_number_beyond_measure_is_cut_for_people_and_whole_in_json(sound: ClaimReport) -> None:
    large = "1" + "0" * 127
    assert number_text(large) == "100000000000… (128 digits)"
    report = analysed(sound, Analysis(contract="c", outcome="o", subjects=4, estimate=Pair(pair=(large, 7))))
    found = json.loads(to_json(report))["claims"][-4]["analyses"][0]["estimate"]
    assert (found["numerator"], found["denominator"]) == (large, 7)
    assert large not in to_html(report)


# What a report shows.


def test_the_table_names_each_claim_its_verdict_and_why(wrong: ClaimReport) -> None:
    text = table(wrong)
    for claim in wrong.claims:
        assert re.search(rf"^ {claim.claim} +{claim.verdict} ", text, re.MULTILINE), claim.claim
    assert "480/20 = 24" in text
    assert "v-1.free.1: got 999 disclosed, expected 10" in text
    assert "licence: none" in text
    assert "caveat: verified_only_within_committed_ingress" in text


def test_a_reason_that_concerns_many_claims_is_told_once(short: ClaimReport) -> None:
    sealed = table(judged(batch(PLAIN), opened=False))
    assert len(re.findall(r"^evidence_absent", sealed, re.MULTILINE)) == 1
    assert "evidence_absent ×20" in sealed
    assert table(short).count("\nterminal_missing") == 1


def test_colours_are_for_terminals_only(wrong: ClaimReport) -> None:
    assert "\x1b[" in table(wrong, terminal=True)
    assert "\x1b" not in table(wrong)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_table_keeps_to_its_width(wrong: ClaimReport, width: int) -> None:
    assert max(len(line.rstrip()) for line in table(wrong, width=width).splitlines()) <= min(width, 120)


def test_numbers_of_a_contract_are_shown_exactly_with_decimals_and_boundary() -> None:
    report = judged(batch(PLAIN))
    with_contract = replace(report, chain=replace(report.chain, manifest=kiosk_manifest()))
    shown = analysed(
        with_contract,
        Analysis(
            contract="cap-helps",
            outcome="surplus",
            subjects=5,
            estimate=Pair(pair=(385, 10)),
            lower=Pair(pair=(149, 4)),
            lower_envelope=(Pair(pair=(148, 4)), Pair(pair=(150, 4))),
            levels=(Pair(pair=(200, 10)), Pair(pair=(585, 10))),
        ),
    )
    for text in (table(shown), to_html(shown)):
        for part in ("385/10", "38.5", "149/4", "37.25", "148/4", "150/4", "threshold", "mean of capped"):
            assert part in text, part
    found = json.loads(to_json(shown))["claims"][-4]["analyses"][0]
    assert found["lower"] == {"numerator": 149, "denominator": 4, "decimal": "37.25"}
    assert found["upper"] is None


def test_the_json_has_verdicts_values_dependencies_and_evidence(short: ClaimReport) -> None:
    found = json.loads(to_json(short))
    assert (found["outcome"], found["exit_code"]) == ("Inconclusive", 3)
    assert found["coverage"]["missing"] == [MISSING]
    assert found["questions"]["coverage"] == "INCONCLUSIVE_COVERAGE"
    claims = {claim["claim"]: claim for claim in found["claims"]}
    assert claims["sale"]["value"] == {"numerator": 15, "denominator": 19, "decimal": "≈ 0.7895"}
    assert claims["C2"]["depends_on"] == ["A", "Q"]
    assert claims["C4"]["word"] == "Inconclusive"
    assert short.chain.manifest_digest in claims["C4"]["evidence"]
    assert {reason["code"] for reason in found["reasons"]} == {"terminal_missing", "chain_gap"}
    assert found["licences"]["granted"] == Licence.NONE


# The page.


class Page(HTMLParser):
    """Its ids, its links, and everything it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"] or "")
        if tag == "a":
            self.links.append(found["href"] or "")
        if tag in ("script", "link", "img", "iframe", "object", "embed") or "src" in found:
            self.loads.append(tag)
        assert not any(name.startswith("on") for name in found)


@pytest.mark.parametrize("name", ["sound", "short", "wrong"])
def test_the_page_is_one_file_whose_links_lead_to_its_own_parts(
    name: str, request: pytest.FixtureRequest
) -> None:
    text = to_html(request.getfixturevalue(name))
    page = Page(text)
    assert page.loads == []
    assert "url(" not in text
    assert "@import" not in text
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert "prefers-color-scheme: dark" in text
    assert "default-src &#x27;none&#x27;" in text


def test_the_page_shows_who_is_missing_the_gap_and_the_rule(short: ClaimReport) -> None:
    text = to_html(short)
    assert ">? 1/2<" in text
    assert f"<li><code>{MISSING}</code></li>" in text
    assert "no receipt is held" in text
    assert "every assignment has its terminal" in text
    assert 'href="#reason-chain_gap"' in text


HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e[bold red]"


def test_what_was_delivered_is_only_text_everywhere(sound: ClaimReport) -> None:
    finding = ClaimFinding(Fault.VALUE_CONTRADICTS_REPLAY, HOSTILE, HOSTILE)
    claims = tuple(replace(claim, findings=(finding,), nulls={HOSTILE: 1}) for claim in sound.claims)
    chain = replace(sound.chain, findings=(Finding(Reason.OBJECT_UNREADABLE, HOSTILE, HOSTILE),))
    hostile = replace(
        sound, title=HOSTILE, claims=claims, chain=chain, stages={HOSTILE: 1}, statuses={HOSTILE: 2}
    )
    page, shown, written = to_html(hostile), table(hostile, terminal=True), to_json(hostile)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    for text in (page, shown, written):
        assert "\x1b[2J" not in text
        assert "\u202e" not in text
    assert "[bold red]" in shown


# Bounds.


def test_long_lists_are_cut_and_what_is_left_out_is_counted(sound: ClaimReport) -> None:
    findings = tuple(Finding(Reason.OPENING_MISSING, f"a-{place}", "x" * 5000) for place in range(20_000))
    claims = tuple(
        replace(
            claim,
            findings=tuple(
                ClaimFinding(Fault.CELL_DIFFERS, f"c-{place}", "y" * 5000) for place in range(2000)
            ),
            evidence=tuple(f"sha256:{place:064x}" for place in range(5000)),
            nulls={f"reason-{place}": 1 for place in range(500)},
        )
        for claim in sound.claims
    )
    large = replace(sound, claims=claims, chain=replace(sound.chain, findings=findings))
    (group,) = chain_reasons(large.chain)
    assert (group.count, group.count - group.more) == (20_000, 20)
    page, shown, written = to_html(large), table(large), to_json(large)
    assert len(page) < 120_000
    assert len(shown) < 60_000
    assert len(written) < 400_000
    assert "and 19980 more" in page
    assert "and 19995 more" in shown
    assert json.loads(written)["claims"][0]["evidence_left_out"] == 4900


def test_the_total_that_a_verdict_gives_is_the_count_of_its_reason() -> None:
    sealed = judged(batch(PLAIN), opened=False)
    (group,) = claim_reasons(sealed.claim("sale"))
    assert (group.code, group.count) == ("evidence_absent", 20)
    assert all(place.subject for place in group.places)
