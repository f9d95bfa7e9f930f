"""The report on a Core in a terminal: a row for each group, what did not pass, the verdict.

What a Core wrote is shown as text: no mark-up is read from it, and no control character passes.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentbeat_conformance.core_side.runner import ScenarioResult, core_verdict
from agentbeat_conformance.core_side.scenarios import CORE_SUITE_VERSION, Scenario
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.reports.excerpts import shortened, visible
from agentbeat_conformance.reports.wording import OUTCOMES, VERDICTS

__all__ = ["print_results", "print_scenarios"]

WIDEST: Final = 140
#: How many findings of a scenario are shown, and how much of the Core's messages.
_FINDINGS: Final = 4
_MESSAGES: Final = 300

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
_COLUMNS: Final = (
    Outcome.PASS,
    Outcome.FAIL,
    Outcome.WARN,
    Outcome.COULD_NOT_RUN,
    Outcome.ERROR,
    Outcome.NOT_APPLICABLE,
)
_MEANINGS: Final = MappingProxyType(
    {
        Verdict.CONFORMANT: "Every document that must be refused was, and every legal one was taken.",
        Verdict.NOT_CONFORMANT: "A scenario that must hold does not.",
        Verdict.INCOMPLETE: "Nothing that was tried failed, but not everything could be tried: no pass.",
        Verdict.NOTHING_TESTED: "The command asked for nothing and gave no readable result: this is no pass.",
        Verdict.ERROR: "The suite itself failed, so this says nothing about the Core.",
    }
)


def print_scenarios(scenarios: Iterable[Scenario], console: Console) -> None:
    """What is served and what is then expected, two lines for each scenario."""
    for each in scenarios:
        line = Text.assemble((each.id, "bold"), f"  {each.tier}  {each.rule}  {visible(each.served)}")
        console.print(line, soft_wrap=True)
        console.print(Text(f"    expected: {each.expects.text}", "dim"), soft_wrap=True)


def print_results(
    results: Sequence[ScenarioResult], console: Console, *, command: str, verbose: bool = False
) -> None:
    """The groups, then everything that did not pass, then the verdict; `verbose` shows every scenario."""
    width = min(console.width, WIDEST)
    heading = Text(f"AgentBeat conformance, Core's side {CORE_SUITE_VERSION}", "bold")
    heading.append(f"  {visible(command)}", "not bold")
    console.print(heading, width=width)
    console.print(_groups(results), width=width)
    if verbose:
        console.print(_every(results), width=width)
    for result in results:
        if result.outcome in (Outcome.FAIL, Outcome.WARN, Outcome.ERROR):
            console.print(_trouble(result), width=width)
    for line in _reasons(results):
        console.print(line, width=width)
    console.print(_summary(results, command), width=width, soft_wrap=True)


def _groups(results: Sequence[ScenarioResult]) -> Table:
    table = _table()
    table.add_column("group", no_wrap=True)
    shown = [outcome for outcome in _COLUMNS if any(result.outcome is outcome for result in results)]
    for outcome in shown:
        table.add_column(OUTCOMES[outcome], justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for group in dict.fromkeys(result.scenario.group for result in results):
        own = [result for result in results if result.scenario.group == group]
        counts = Counter(result.outcome for result in own)
        cells = [Text(str(counts[o]) if counts[o] else "·", _STYLES[o]) for o in shown]
        table.add_row(group, *cells, f"{sum(result.seconds for result in own):.1f}")
    return table


def _every(results: Sequence[ScenarioResult]) -> Table:
    table = _table()
    table.add_column("id", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("served", ratio=3)
    table.add_column("expected", ratio=2)
    for result in results:
        scenario = result.scenario
        table.add_row(
            Text(scenario.id),
            Text(OUTCOMES[result.outcome], _STYLES[result.outcome]),
            Text(visible(scenario.served)),
            Text(scenario.expects.text),
        )
    return table


def _trouble(result: ScenarioResult) -> Text:
    scenario = result.scenario
    text = Text()
    text.append(f"{scenario.id} {OUTCOMES[result.outcome]}", _STYLES[result.outcome])
    text.append(f"  {scenario.rule}, {scenario.tier}\n", "bold")
    text.append(f"  served    {visible(scenario.served)}\n  expected  {scenario.expects.text}\n")
    for finding in result.findings[:_FINDINGS]:
        text.append(f"  - {visible(finding)}\n")
    if len(result.findings) > _FINDINGS:
        text.append(f"  - … and {len(result.findings) - _FINDINGS} more (--json has them)\n")
    if result.reason:
        text.append(f"  {visible(result.reason)}\n")
    if result.asked:
        text.append(f"  it asked  {visible(shortened('; '.join(result.asked), 600))}\n", "dim")
    if result.spoken and result.spoken.messages.strip():
        said = result.spoken.messages.strip()[-_MESSAGES:]
        text.append(f"  it said   {visible(said.replace(chr(10), ' / '))}\n", "dim")
    return text


def _reasons(results: Sequence[ScenarioResult]) -> Iterable[Text]:
    reasons: dict[tuple[Outcome, str], list[str]] = {}
    for result in results:
        if result.outcome in (Outcome.COULD_NOT_RUN, Outcome.NOT_APPLICABLE):
            reasons.setdefault((result.outcome, result.reason or ""), []).append(result.scenario.id)
    for (outcome, reason), ids in reasons.items():
        named = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        yield Text.assemble((OUTCOMES[outcome], _STYLES[outcome]), f"  {named}: {visible(reason)}")


def _summary(results: Sequence[ScenarioResult], command: str) -> Text:
    verdict = core_verdict(results)
    counts = Counter(result.outcome for result in results)
    said = ", ".join(f"{counts[o]} {OUTCOMES[o]}" for o in _COLUMNS if counts[o])
    style = {Verdict.CONFORMANT: "bold green", Verdict.NOT_CONFORMANT: "bold red"}.get(verdict, "bold yellow")
    text = Text.assemble("\n", (VERDICTS[verdict], style), f"  {said or 'no scenario'}\n{_MEANINGS[verdict]}")
    first = next((result for result in results if result.outcome is Outcome.FAIL), None)
    if first is not None:
        again = f"agentbeat conformance core --command {shlex.quote(command)} --only {first.scenario.id}"
        text.append(f"\nOne of them again: {visible(again)}")
    return text


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False)
