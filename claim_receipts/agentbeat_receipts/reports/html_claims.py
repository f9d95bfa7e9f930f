"""The page's sections about claims: their grid, what may be said, and the numbers of C1 and C3."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from agentbeat_protocol import cut
from agentbeat_receipts.claims.groups import GROUPS
from agentbeat_receipts.claims.results import Analysis, ClaimReport, ClaimVerdict, Licence
from agentbeat_receipts.objects import Manifest, Pair
from agentbeat_receipts.reports.exactness import decimal_text, ratio_text
from agentbeat_receipts.reports.findings import claim_reasons
from agentbeat_receipts.reports.markup import Markup, breakable, element, table
from agentbeat_receipts.reports.outcomes import judged, verdict_text
from agentbeat_receipts.reports.wording import analysis_lines, weaker_text
from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["analyses_section", "badge", "claims_section", "licences_section", "verdict_class"]

#: The most reasons of a claim, kinds of null, blockers, contracts and numbers of a contract that are shown.
_REASONS: Final = 12
_BLOCKERS: Final = 40
_CONTRACTS: Final = 40
_NUMBERS: Final = 40

_CLASSES: Final = MappingProxyType(
    {
        Verdict.PASS: "pass",
        Verdict.INVALID: "invalid",
        Verdict.INCONCLUSIVE_COVERAGE: "open",
        Verdict.INCONCLUSIVE: "open",
        Verdict.NO_EVIDENCE: "open",
        Verdict.NO_CONTRACT: "none",
        Verdict.NOT_CLAIMED: "none",
    }
)
_MARKS: Final = MappingProxyType({"pass": "✓", "invalid": "✗", "open": "?", "none": "–"})


def verdict_class(verdict: Verdict) -> str:
    """The style of a verdict; the word says it all."""
    return _CLASSES[verdict]


def badge(verdict: Verdict) -> Markup:
    """A verdict with its mark."""
    name = _CLASSES[verdict]
    return element(
        "span",
        Markup(f"{_MARKS[name]}&nbsp;"),
        breakable(verdict),
        class_=f"badge {name}",
        title=verdict_text(verdict),
    )


def claims_section(report: ClaimReport) -> list[Markup]:
    """The grid: every claim with its verdict, its numbers, the groups that it needs, and why."""
    if not report.claims:
        return []
    groups = [element("th", group, scope="col", class_="group", title=group.label) for group in GROUPS]
    heads = ["Claim", "Verdict", "Sum/count", "Mean", "Receipts", "Why", *groups]
    bodies = []
    for kind, title in (("transaction", "Of each transaction"), ("experiment", "Of the batch")):
        rows = [_row(claim) for claim in report.claims if claim.kind == kind]
        bodies += [[_group(title, len(heads)), *rows]] if rows else []
    caption = "A dot stands under each group of fields that the claim needs"
    return [
        table(caption, heads, *bodies, class_="grid"),
        _key([(badge(verdict), verdict_text(verdict)) for verdict in _met(report)]),
        _key([(element("strong", group), group.label) for group in GROUPS]),
    ]


def _group(title: str, columns: int) -> list[str]:
    """The row over a group of rows."""
    return [element("th", title, scope="rowgroup", colspan=str(columns))]


def _met(report: ClaimReport) -> list[Verdict]:
    """The verdicts that the page shows, in their order."""
    met = set(judged(report).values())
    return [verdict for verdict in Verdict if verdict in met]


def _key(items: list[tuple[Markup, str]]) -> Markup:
    return element("ul", *(element("li", sign, " ", text) for sign, text in items), class_="key quiet")


def _row(claim: ClaimVerdict) -> list[str]:
    of = str(claim.received) if claim.expected is None else f"{claim.received} of {claim.expected}"
    needed = set(claim.depends_on)
    return [
        element("th", cut(claim.claim), scope="row"),
        element("td", badge(claim.verdict)),
        element("td", "" if claim.value is None else ratio_text(claim.value), class_="number"),
        element("td", "" if claim.value is None else decimal_text(claim.value) or "–", class_="number"),
        element("td", of, class_="number"),
        element("td", *_why(claim), class_="why"),
        *(element("td", "•" if group in needed else "", class_="group") for group in GROUPS),
    ]


def _why(claim: ClaimVerdict) -> Iterator[str]:
    reasons = claim_reasons(claim)
    parts: list[str] = []
    for group in reasons[:_REASONS]:
        link = element(
            "a", breakable(group.code), href=f"#reason-{group.code}", title=group.rule, class_="code"
        )
        parts += [link, group.times, ", "]
    if len(reasons) > _REASONS:
        parts += [f"and {len(reasons) - _REASONS} more", ", "]
    nulls = list(claim.nulls.items())
    for name, count in nulls[:_REASONS]:
        parts += [f"{count} null: {cut(name)}", ", "]
    if len(nulls) > _REASONS:
        parts += [f"and {len(nulls) - _REASONS} more kinds of null", ", "]
    if claim.weaker:
        parts += [weaker_text(claim.weaker, claim.value), ", "]
    yield from parts[:-1]


def licences_section(report: ClaimReport) -> list[Markup]:
    """The licence that is granted, and what stands against the higher ones."""
    licences = report.licences
    texts = {
        Licence.CAUSAL: "A causal reading of the contrasts is licensed.",
        Licence.DESCRIPTIVE: "The numbers may be described; no causal reading of them is licensed.",
        Licence.NONE: "Nothing may be said of the numbers on the strength of these receipts.",
    }
    style = "open" if licences.granted is Licence.NONE else "pass"
    parts = [
        element(
            "p",
            element("span", str(licences.granted), class_=f"badge {style}"),
            f" – {texts[licences.granted]}",
        )
    ]
    if licences.blockers:
        bodies: dict[Licence, list[list[str]]] = {}
        for blocker in licences.blockers[:_BLOCKERS]:
            rows = bodies.setdefault(blocker.licence, [_group(f"Against {blocker.licence}", 2)])
            rows.append(
                [element("th", cut(blocker.claim), scope="row"), element("td", badge(blocker.verdict))]
            )
        caption = "What stands against a higher licence"
        parts.append(table(caption, ["Claim", "Verdict"], *bodies.values()))
        parts += _more(len(licences.blockers) - _BLOCKERS)
    return parts


def analyses_section(report: ClaimReport) -> list[Markup]:
    """The exact numbers of each contract."""
    made = [(claim, analysis) for claim in report.claims for analysis in claim.analyses]
    parts = [_analysis(claim, analysis, report.chain.manifest) for claim, analysis in made[:_CONTRACTS]]
    return [*parts, *_more(len(made) - _CONTRACTS)]


def _analysis(claim: ClaimVerdict, analysis: Analysis, manifest: Manifest | None) -> Markup:
    lines = list(analysis_lines(analysis, manifest))
    rows = [_number(name, number) for name, number in lines[:_NUMBERS]]
    profiles = f"{analysis.subjects} profile{'' if analysis.subjects == 1 else 's'}"
    return element(
        "div",
        element("h3", f"{claim.claim} ", element("code", cut(analysis.contract)), " ", badge(claim.verdict)),
        table(f"{cut(analysis.outcome)} over {profiles}", ["Number", "Exact", "Decimal"], rows),
        *([element("p", weaker_text(analysis.weaker))] if analysis.weaker else []),
        *_more(len(lines) - _NUMBERS),
    )


def _number(name: str, number: Pair) -> list[str]:
    return [
        element("th", name, scope="row"),
        element("td", ratio_text(number), class_="number"),
        element("td", decimal_text(number) or "–", class_="number"),
    ]


def _more(count: int) -> list[Markup]:
    return [element("p", f"and {count} more", class_="quiet")] if count > 0 else []
