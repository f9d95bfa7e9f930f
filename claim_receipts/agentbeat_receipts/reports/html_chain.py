"""The page's sections about what was delivered: coverage matrix, chain, and findings with their rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agentbeat_protocol import cut
from agentbeat_receipts.claims.results import ClaimReport
from agentbeat_receipts.reports.chains import Entry, Gap, Link, Run, chain_view
from agentbeat_receipts.reports.findings import ReasonGroup, chain_reasons, claim_reasons
from agentbeat_receipts.reports.html_claims import badge
from agentbeat_receipts.reports.markup import Markup, breakable, element, table
from agentbeat_receipts.reports.matrices import Matrix, MatrixCell, coverage_matrix
from agentbeat_receipts.verification.reasons import Scope
from agentbeat_receipts.verification.results import ChainReport

__all__ = ["chain_section", "coverage_section", "findings_section"]

#: The most reasons that are listed.
_REASONS: Final = 120
#: How much of a digest is shown in the chain: `sha256:` and 12 digits.
_DIGEST: Final = 19


def coverage_section(report: ClaimReport) -> list[Markup]:
    """Profiles by arms: who arrived, and who is missing."""
    matrix = coverage_matrix(report)
    if matrix is None:
        return [element("p", "Without a manifest nobody knows what was promised.")]
    parts = [element("p", _coverage_line(matrix, report.chain))]
    if matrix.missing:
        items = [element("li", element("code", name)) for name in matrix.missing]
        more = matrix.missing_count - len(matrix.missing)
        items += [element("li", f"and {more} more, which are not listed here")] if more else []
        parts += [element("h3", "Missing"), element("ul", *items, class_="places")]
    heads = ["Profile", *(cut(arm) for arm in matrix.arms)]
    rows = [
        [element("th", cut(row.profile), scope="row"), *(_cell(cell) for cell in row.cells)]
        for row in matrix.rows
    ]
    caption = "Terminals that arrived, of those promised: ✓ all of them, ? not all, – none was promised"
    parts.append(table(caption, heads, rows, class_="matrix"))
    left_out = [
        f"{count} more {what}"
        for count, what in ((matrix.more_rows, "profiles"), (matrix.more_arms, "arms"))
        if count
    ]
    if left_out:
        parts.append(element("p", f"and {', '.join(left_out)}", class_="quiet"))
    return parts


def _coverage_line(matrix: Matrix, chain: ChainReport) -> str:
    lacking = len(matrix.rows) + matrix.more_rows - matrix.whole_rows
    of = f"{chain.arrived} of {chain.expected} terminals arrived."
    if not lacking:
        return of
    return f"{of} {'1 profile lacks' if lacking == 1 else f'{lacking} profiles lack'} something."


def _cell(cell: MatrixCell | None) -> Markup:
    if cell is None:
        return element("td", "–", class_="none", title="none was promised")
    text = f"{cell.arrived}/{cell.expected}"
    if cell.arrived == cell.expected:
        return element("td", f"✓ {text}" if cell.expected > 1 else "✓", class_="pass", title=text)
    return element("td", f"? {text}", class_="open", title=f"{text}: missing")


def chain_section(chain: ChainReport) -> list[Markup]:
    """Links, gaps and forks, from the first place on."""
    view = chain_view(chain)
    if not view.listed:
        return [element("p", f"{view.held} receipts are held; they were counted one by one and not kept.")]
    items = [element("li", f"The {view.follows}, which the first receipt follows", class_="quiet")]
    items += [_entry(entry) for entry in view.entries]
    if view.more:
        items.append(element("li", f"and {view.more} more", class_="quiet"))
    text = "Place, assignment, status and digest of each receipt; each names the one before it."
    return [element("p", text), element("ol", *items, class_="chain")]


def _entry(entry: Entry) -> Markup:
    if isinstance(entry, Link):
        style = "invalid" if _breaks(entry.reasons) else "open" if entry.reasons else "pass"
        return element("li", *_link(entry), *_named(entry.reasons), class_=style)
    if isinstance(entry, Run):
        places = f"{entry.first.place}–{entry.last.place} "
        parts = [
            element("strong", places),
            f"{entry.count} receipts, each following the one before: ",
            element("code", cut(entry.first.assignment)),
            " to ",
            element("code", cut(entry.last.assignment)),
        ]
        return element("li", *parts, class_="pass")
    if isinstance(entry, Gap):
        one = entry.first == entry.last
        places = f"{entry.first} " if one else f"{entry.first}–{entry.last} "
        return element("li", element("strong", places), "no receipt is held", class_="gap open")
    style = "invalid" if _breaks(entry.reasons) else "open"
    digest = element("code", entry.digest[:_DIGEST] + "…", title=entry.digest)
    return element("li", "beside the chain: ", digest, *_named(entry.reasons), class_=style)


def _link(link: Link) -> list[Markup]:
    return [
        element("strong", f"{link.place} "),
        element("code", cut(link.assignment)),
        element("span", f" {link.status} "),
        element("code", link.digest[:_DIGEST] + "…", class_="digest", title=link.digest),
    ]


def _named(reasons: Iterable[str]) -> list[str]:
    return [
        part
        for reason in reasons
        for part in (" ", element("a", breakable(reason), href=f"#reason-{reason}", class_="code"))
    ]


def _breaks(reasons: Iterable[str]) -> bool:
    """Whether one of the reasons is more than a gap: a gap is missing evidence, the others are forgery."""
    return any(reason != "chain_gap" for reason in reasons)


def findings_section(report: ClaimReport) -> list[Markup]:
    """Every reason with its layer, its rule, and the first places where it was found."""
    found: dict[str, list[ReasonGroup]] = {}
    for group in chain_reasons(report.chain):
        found.setdefault(group.code, []).append(group)
    for claim in report.claims:
        for group in claim_reasons(claim):
            found.setdefault(group.code, []).append(group)
    parts = [_reason(groups) for groups in list(found.values())[:_REASONS]]
    more = len(found) - _REASONS
    if not parts:
        return []
    layers = "By reason, with its layer: L1 is about bytes, L2 about meaning, L3 about coverage."
    return [
        element("p", layers),
        *parts,
        *([element("p", f"and {more} more reasons")] if more > 0 else []),
    ]


def _reason(groups: list[ReasonGroup]) -> Markup:
    first = groups[0]
    note = first.concerns == Scope.NOTE
    mark = element("span", "note", class_="quiet") if note else badge(first.verdict)
    heading = [element("code", breakable(first.code)), f" {first.layer} ", mark]
    parts = [element("h3", *heading), element("p", f"The rule: {first.rule}.")]
    if not note:
        parts.append(element("p", f"Found for {', '.join(cut(g.concerns) for g in groups)}.", class_="quiet"))
    places = dict.fromkeys((place.subject, place.detail) for group in groups for place in group.places)
    items = [_place(subject, detail) for subject, detail in list(places)[:20] if subject or detail]
    more = max(group.more for group in groups)
    if more:
        least = "at least " if any(group.at_least for group in groups) else ""
        items.append(element("li", f"and {least}{more} more"))
    if items:
        parts.append(element("ul", *items, class_="places"))
    return element("div", *parts, class_="reason", id=f"reason-{first.code}")


def _place(subject: str, detail: str) -> Markup:
    parts: list[str] = [element("code", subject)] if subject else []
    if detail:
        parts.append(f": {detail}" if subject else detail)
    return element("li", *parts)
