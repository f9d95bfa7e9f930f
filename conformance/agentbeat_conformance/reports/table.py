"""The report in a terminal: a row for each requirement, grouped by rule, what does not hold, the verdict.

What a server sent is printed as text: no mark-up of rich's is read from it and no control character passes.
Colours are rich's, which leaves them out unless the output is a terminal; no meaning hangs on them.
A command to repeat an exchange is never broken by us, so that it can be copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.expected_failures import ExpectedFailure
from agentbeat_conformance.outcomes import Outcome, Result, Verdict
from agentbeat_conformance.reports.details import SEQUENCE
from agentbeat_conformance.reports.excerpts import answer_text, request_text, visible
from agentbeat_conformance.reports.records import Report, in_reading_order
from agentbeat_conformance.reports.wording import (
    OUTCOMES,
    VERDICTS,
    counts_line,
    meaning,
    next_step,
    outcome_words,
    plan_line,
)

__all__ = ["render_table"]

WIDEST: Final = 120

#: How many of a result's findings, and of its exchanges, the table shows.
_FINDINGS: Final = 6
_EXCHANGES: Final = 1
#: How much of a body is shown, in characters.
_BODY: Final = 360
_TOO_LONG: Final = "too long for a command line; --transcript FILE keeps its bytes"
#: The header fields of an answer that a reader is likely to need.
_FIELDS: Final = frozenset(
    {"content-type", "www-authenticate", "retry-after", "allow", "location", "connection"}
)

_STYLES: Final = MappingProxyType(
    {
        Outcome.PASS: "green",
        Outcome.FAIL: "bold red",
        Outcome.WARN: "yellow",
        Outcome.NOT_APPLICABLE: "dim",
        Outcome.COULD_NOT_RUN: "magenta",
        Outcome.ERROR: "bold magenta",
    }
)
_VERDICT_STYLES: Final = MappingProxyType(
    {
        Verdict.CONFORMANT: "bold green",
        Verdict.NOT_CONFORMANT: "bold red",
        Verdict.INCOMPLETE: "bold yellow",
        Verdict.NOTHING_TESTED: "bold yellow",
        Verdict.ERROR: "bold magenta",
    }
)


def render_table(report: Report, console: Console) -> None:
    """Print the report, as wide as the console and at most 120 columns; it reads well from 80 on."""
    width = min(console.width, WIDEST)
    console.print(_heading(report), width=width)
    if report.results:
        console.print(_requirements(report), width=width)
    for result in report.ended(Outcome.FAIL, Outcome.WARN, Outcome.ERROR):
        _print_trouble(report, result, console, width)
    _print_reasons(report, console, width)
    console.print(_summary(report), width=width)


def _heading(report: Report) -> Text:
    text = Text()
    text.append(f"AgentBeat conformance {report.suite_version}", "bold")
    text.append(f"  {report.tier}  {visible(report.endpoint)}\n")
    facts = [
        f"catalogue {report.catalogue} {report.catalogue_digest[:19]}…",
        f"seed {report.seed}",
        plan_line(report),
    ]
    text.append(visible("  ".join(facts)), "dim")
    return text


def _requirements(report: Report) -> Table:
    table = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("requirement", ratio=1)
    section = None
    for result in in_reading_order(report.results):
        made = result.requirement
        if made.section != section:
            if section is not None:
                table.add_section()
            section = made.section
            table.add_row("", "", "", Text(section, "bold"))
        outcome = Text(outcome_words(report, result), _STYLES[result.outcome])
        table.add_row(Text(made.id), Text(made.level), outcome, Text(made.text))
    return table


def _print_trouble(report: Report, result: Result, console: Console, width: int) -> None:
    made = result.requirement
    title = Text()
    title.append(f"{made.id} {outcome_words(report, result)}", _STYLES[result.outcome])
    title.append(f"  {made.text}", "bold")
    console.print(title, width=width)
    entry = report.expectation(result)
    if entry is not None:
        _print_indented(Text(_expected(entry)), "  ", console, width)
    for line in _findings(result):
        _print_indented(Text(line), "  ", console, width)
    for exchange in report.shown_by(result)[:_EXCHANGES]:
        if result.outcome is not Outcome.WARN:
            _print_exchange(exchange, console, width)
        _print_command(report.repeat(exchange), console)
    sequence = report.leading_to(result)
    if sequence:
        _print_indented(Text(SEQUENCE), "  ", console, width)
    for exchange in sequence:
        console.print(Text(report.repeat(exchange) or _TOO_LONG), soft_wrap=True)
    console.print()


def _expected(entry: ExpectedFailure) -> str:
    return f"expected until {entry.expires}: {visible(entry.reason)}"


def _findings(result: Result) -> Iterator[str]:
    if result.reason:
        yield visible(result.reason)
    for finding in result.findings[:_FINDINGS]:
        yield f"- {visible(finding.message)}"
    more = len(result.findings) - _FINDINGS
    if more > 0:
        yield f"- … and {more} more"


def _print_exchange(exchange: Exchange, console: Console, width: int) -> None:
    sent = request_text(exchange.request, limit=_BODY)
    came = answer_text(exchange, limit=_BODY, fields=_FIELDS)
    for mark, text in (("    > ", sent), ("    < ", came)):
        for line in text.splitlines():
            _print_indented(Text(line, "dim"), mark, console, width)


def _print_command(command: str | None, console: Console) -> None:
    if command is None:
        console.print(Text(f"  repeat it: {_TOO_LONG}"))
    else:
        console.print(Text("  repeat it:"))
        console.print(Text(command), soft_wrap=True)


def _print_indented(text: Text, indent: str, console: Console, width: int) -> None:
    for line in text.wrap(console, width - len(indent), overflow="fold") or [Text()]:
        console.print(Text.assemble((indent, "dim"), line) if line else Text(indent.rstrip(), "dim"))


def _print_reasons(report: Report, console: Console, width: int) -> None:
    results = report.ended(Outcome.COULD_NOT_RUN, Outcome.NOT_APPLICABLE)
    reasons: dict[tuple[Outcome, str], list[str]] = {}
    for result in results:
        reasons.setdefault((result.outcome, result.reason or "no reason given"), []).append(
            result.requirement.id
        )
    for (outcome, reason), ids in reasons.items():
        text = Text()
        text.append(OUTCOMES[outcome], _STYLES[outcome])
        text.append(f"  {', '.join(ids)}: {visible(reason)}")
        console.print(text, width=width)
    for complaint in report.complaints:
        console.print(Text(f"expected failures  {visible(complaint)}", "bold red"), width=width)
    if reasons or report.complaints:
        console.print()


def _summary(report: Report) -> Text:
    text = Text()
    text.append(VERDICTS[report.verdict], _VERDICT_STYLES[report.verdict])
    text.append(f"  {counts_line(report)}\n{meaning(report)}\n{next_step(report)}")
    return text
