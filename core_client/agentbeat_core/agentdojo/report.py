"""What is told at the end: a table of what was seen beside what is expected, and every run that differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentbeat_core.agentdojo.tally import ALL_SUITES, Count, Line, Seen, lines_of
from agentbeat_core.demo.consoles import say

__all__ = ["print_report", "report_document"]

_COLUMNS: Final = (
    ("agent", "left"),
    ("suite", "left"),
    ("of", "left"),
    ("runs", "right"),
    ("utility passes", "right"),
    ("attacks succeed", "right"),
    ("published: decided", "right"),
    ("passes", "right"),
    ("succeeded", "right"),
)
#: How many runs that differ are told; a broken server would fill the terminal.
_TOLD: Final = 50


def print_report(console: Console, runs: Sequence[Seen], *, seconds: float) -> None:
    """The table and what goes with it, for people."""
    lines = lines_of(runs)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, side in _COLUMNS:
        table.add_column(name, justify="right" if side == "right" else "left", no_wrap=True)
    for line in lines:
        table.add_row(*_cells(line), style="bold" if line.suite == ALL_SUITES else "")
    with console.capture() as capture:
        console.print(table)
    for text in capture.get().splitlines():
        say(console, text.rstrip())
    say(console, "")
    say(console, "Seen / expected. Utility passes and attacks that succeed are the benchmark's own verdicts,")
    say(console, "counted from checks[].actual; published is what the State Controller answers for.")
    _print_ending(console, runs, seconds)


def _print_ending(console: Console, runs: Sequence[Seen], seconds: float) -> None:
    wrong = [seen for seen in runs if seen.problems]
    for seen in wrong[:_TOLD]:
        for problem in seen.problems:
            console.print(Text(f"not as expected: {seen.play.name}: {problem}", "bold red"), soft_wrap=True)
    if len(wrong) > _TOLD:
        say(console, f"… and {len(wrong) - _TOLD} more runs.")
    ending = (
        f"{len(wrong)} of {len(runs)} runs did not come out as expected"
        if wrong
        else f"All {len(runs)} runs came out as expected"
    )
    say(console, f"{ending} ({seconds:.1f} s).")


def report_document(runs: Sequence[Seen]) -> str:
    """The same as one JSON document, for programs."""
    document = {
        "as_expected": not any(seen.problems for seen in runs),
        "lines": [asdict(line) for line in lines_of(runs)],
        "runs": [
            {
                "agent": seen.play.agent,
                "profile_id": seen.play.entry.profile_id,
                "said": seen.said and asdict(seen.said),
                "published": seen.published and asdict(seen.published),
                "problems": seen.problems,
            }
            for seen in runs
        ],
    }
    return json.dumps(document, indent=2)


def _cells(line: Line) -> Iterable[Text]:
    yield Text(line.agent)
    yield Text(line.suite)
    yield Text("pairs" if line.pairs else "tasks")
    yield Text(str(line.runs))
    for count in (line.utility, line.attack, line.decided, line.passes, line.succeeded):
        yield _count(count)


def _count(count: Count | None) -> Text:
    if count is None:
        return Text("-", style="dim")
    right = count.seen == count.expected
    return Text(f"{count.seen} / {count.expected}", style="" if right else "bold red")
