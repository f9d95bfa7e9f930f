"""The report in a terminal: the claims with their verdicts, why, what may be said, and the outcome.

What was delivered is printed as text: no mark-up of rich's is read from it and no control character passes.
Colours are rich's, which leaves them out unless the output is a terminal; no meaning hangs on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentbeat_protocol import cut
from agentbeat_receipts.claims.results import ClaimReport, ClaimVerdict, Licence
from agentbeat_receipts.objects import Manifest
from agentbeat_receipts.reports.exactness import number_text
from agentbeat_receipts.reports.findings import ReasonGroup, chain_reasons, claim_reasons
from agentbeat_receipts.reports.outcomes import ExitCode, headline, outcome_of, verdict_text
from agentbeat_receipts.reports.wording import analysis_lines, counts_text, mean_text, value_text, weaker_text
from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["render_table"]

WIDEST: Final = 120

#: From this width on there is room for exact sums and for the groups that a claim needs.
_ROOMY: Final = 110
#: How many places of a reason, reasons of a claim, and blockers are shown.
_PLACES: Final = 5
_REASONS: Final = 8
_BLOCKERS: Final = 16

_STYLES: Final = MappingProxyType(
    {
        Verdict.PASS: "green",
        Verdict.INVALID: "bold red",
        Verdict.INCONCLUSIVE_COVERAGE: "yellow",
        Verdict.INCONCLUSIVE: "yellow",
        Verdict.NO_EVIDENCE: "yellow",
        Verdict.NO_CONTRACT: "dim",
        Verdict.NOT_CLAIMED: "dim",
    }
)
_OUTCOMES: Final = MappingProxyType(
    {
        ExitCode.PASS: "bold green",
        ExitCode.INVALID: "bold red",
        ExitCode.INCONCLUSIVE: "bold yellow",
    }
)


def render_table(report: ClaimReport, console: Console) -> None:
    """Print the report, as wide as the console and at most 120 columns; it reads well from 80 on."""
    width = min(console.width, WIDEST)
    console.print(_heading(report), width=width)
    console.print(_chain(report), width=width)
    if report.claims:
        console.print(_claims(report, width), width=width)
    for claim in report.claims:
        _print_lines(_analyses(claim, report.chain.manifest), console, width)
    _print_lines(_reasons(report), console, width)
    _print_lines(_licences(report), console, width)
    console.print(_summary(report), width=width)


def _heading(report: ClaimReport) -> Text:
    text = Text()
    text.append(cut(report.title or "A batch without its manifest", 200), "bold")
    facts = [
        f"domain {cut(report.domain or 'not known')}",
        f"level {report.chain.level or 'none'}",
    ]
    if report.anchored_at is not None:
        facts.append(f"anchored at {report.anchored_at}")
    text.append("\n" + "  ".join(facts), "dim")
    text.append(f"\nmanifest {report.chain.manifest_digest or 'not known'}", "dim")
    return text


def _chain(report: ClaimReport) -> Text:
    chain = report.chain
    text = Text()
    questions = (
        ("integrity", chain.integrity),
        ("coverage", chain.coverage),
        ("openings", chain.openings),
        ("retries", chain.retries),
    )
    for name, verdict in questions:
        text.append(f"{name} ")
        text.append(str(verdict), _STYLES[verdict])
        text.append("  ")
    expected = "" if chain.expected is None else f" of {chain.expected}"
    ended = counts_text(report.statuses)
    text.append(f"\n{chain.arrived}{expected} terminals{f' ({ended})' if ended else ''}", "dim")
    stages = counts_text(report.stages)
    text.append(f", {report.settled} replayed{f': {stages}' if stages else ''}", "dim")
    return text


def _claims(report: ClaimReport, width: int) -> Table:
    roomy = width >= _ROOMY
    table = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("claim", overflow="fold")
    table.add_column("verdict", overflow="fold")
    table.add_column("sum/count = mean" if roomy else "mean", overflow="fold")
    table.add_column("of", no_wrap=True)
    if roomy:
        table.add_column("needs", no_wrap=True)
    table.add_column("why", ratio=1, overflow="fold")
    kind = None
    for claim in report.claims:
        if kind is not None and claim.kind != kind:
            table.add_section()
        kind = claim.kind
        of = str(claim.received) if claim.expected is None else f"{claim.received}/{claim.expected}"
        cells = [
            Text(cut(claim.claim)),
            Text(str(claim.verdict), _STYLES[claim.verdict]),
            Text(value_text(claim.value) if roomy else mean_text(claim.value)),
            Text(of),
            *([Text("".join(claim.depends_on))] if roomy else []),
            Text(_why(claim)),
        ]
        table.add_row(*cells)
    return table


def _why(claim: ClaimVerdict) -> str:
    groups = claim_reasons(claim)
    parts = [f"{group.code}{group.times}" for group in groups[:_REASONS]]
    if len(groups) > _REASONS:
        parts.append(f"and {len(groups) - _REASONS} more")
    parts += [_counted(f"null: {cut(name)}", count) for name, count in list(claim.nulls.items())[:_REASONS]]
    if len(claim.nulls) > _REASONS:
        parts.append(f"and {len(claim.nulls) - _REASONS} more kinds of null")
    if claim.weaker:
        parts.append(weaker_text(claim.weaker, claim.value))
    return ", ".join(parts)


def _counted(name: str, count: int) -> str:
    return name if count == 1 else f"{name} ×{count}"


def _analyses(claim: ClaimVerdict, manifest: Manifest | None) -> Iterator[Text]:
    for analysis in claim.analyses[:_REASONS]:
        title = f"{claim.claim} {cut(analysis.contract)}: {cut(analysis.outcome)}"
        yield Text(f"{title} over {analysis.subjects} profiles", "bold")
        if analysis.weaker:
            yield Text(f"  {weaker_text(analysis.weaker)}", "yellow")
        lines = list(analysis_lines(analysis, manifest))
        widest = max((len(name) for name, _ in lines[: 2 * _REASONS]), default=0)
        for name, number in lines[: 2 * _REASONS]:
            yield Text(f"  {name:<{widest}}  {value_text(number)}")
        if len(lines) > 2 * _REASONS:
            yield Text(f"  and {len(lines) - 2 * _REASONS} more numbers", "dim")
    if len(claim.analyses) > _REASONS:
        yield Text(f"and {len(claim.analyses) - _REASONS} more contracts of {claim.claim}", "dim")


def _reasons(report: ClaimReport) -> Iterator[Text]:
    groups = [*chain_reasons(report.chain)]
    for claim in report.claims:
        groups += claim_reasons(claim)
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for group in groups:
        # One fault of a transaction concerns many claims; it is told once.
        key = (group.code, tuple(place.subject for place in group.places))
        if key not in seen:
            seen.add(key)
            yield from _reason(group)


def _reason(group: ReasonGroup) -> Iterator[Text]:
    style = "dim" if group.verdict is Verdict.PASS else _STYLES[group.verdict]
    text = Text()
    text.append(f"{group.code}{group.times}", style)
    text.append(f"  {group.layer}, {cut(group.concerns)}: ", "dim")
    text.append(group.rule)
    yield text
    for place in group.places[:_PLACES]:
        said = ": ".join(part for part in (place.subject, place.detail) if part)
        if said:
            yield Text(f"  - {said}")
    more = group.count - min(_PLACES, len(group.places))
    if more > 0:
        yield Text(f"  - and {'at least ' if group.at_least else ''}{number_text(more)} more", "dim")


def _licences(report: ClaimReport) -> Iterator[Text]:
    licences = report.licences
    text = Text("licence: ")
    text.append(str(licences.granted), "green" if licences.granted is not Licence.NONE else "yellow")
    yield text
    by_licence: dict[Licence, list[str]] = {}
    for blocker in licences.blockers:
        by_licence.setdefault(blocker.licence, []).append(f"{cut(blocker.claim)} {blocker.verdict}")
    for licence, blockers in by_licence.items():
        more = len(blockers) - _BLOCKERS
        shown = ", ".join(blockers[:_BLOCKERS]) + (f" and {more} more" if more > 0 else "")
        yield Text(f"  {licence} is blocked by {shown}", "dim")


def _summary(report: ClaimReport) -> Text:
    outcome = outcome_of(report)
    text = Text("\n")
    text.append(outcome.word, _OUTCOMES[outcome.code])
    text.append(f"  {headline(report)}")
    words = dict.fromkeys(claim.verdict for claim in report.claims)
    for verdict in words:
        if verdict is not Verdict.PASS:
            text.append(f"\n  {verdict}: {verdict_text(verdict)}", "dim")
    for caveat in report.caveats:
        text.append(f"\n  caveat: {caveat}", "dim")
    return text


def _print_lines(lines: Iterator[Text], console: Console, width: int) -> None:
    for line in lines:
        console.print(line, width=width)
