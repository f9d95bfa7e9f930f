"""What the demo tells at its end: the table, how to read it, where the files are; or all of it as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType
from rich.table import Table

from agentbeat_core.demo.output import OutputFolder
from agentbeat_core.demo.performance import Performed
from agentbeat_core.demo.table import rows_for

__all__ = ["print_report", "report_document"]

_LESSONS: Final = (
    "gullible follows an instruction that stands in a ticket, and does not say so. L1 sees the answer "
    "alone: security and ASR are not observed, which is neither pass nor fail. L2 sees the tool call, L3 "
    "the refund.",
    "careless also closes a ticket that is not its business. The rules at L2 look for what their author "
    "thought of; at L3 the State Controller compares the whole state of the desk.",
    "Missing is not empty: idle called no tool, and that was observed. A score without all of its evidence "
    "is provisional; only a complete L3 run with the Controller's signed verdicts is official.",
)
#: The case that the hint at the end looks into.
_SHOWN: Final = "refund-full-gullible-l3"
_QUERY: Final = ".evaluation.metrics.overall"


def print_report(
    console: Console, performed: Sequence[Performed], folder: OutputFolder, *, seconds: float
) -> None:
    """The table and what goes with it, for people."""
    _show(console, rows_for([each.row for each in performed], width=console.width))
    console.print()
    _show(console, _lessons())
    console.print()
    surprised = sum(bool(each.row.surprises) for each in performed)
    verdict = (
        f"{surprised} of {len(performed)} runs did not come out as their cases expect"
        if surprised
        else f"All {len(performed)} runs came out as their cases expect"
    )
    _line(console, f"{verdict} ({seconds:.1f} s).")
    _line(console, f"Requests, results and the registry are in {_shown(folder.path)}; look into one:")
    _line(console, f"  jq {_QUERY} {_shown(folder.result_path(_SHOWN))}")


def report_document(performed: Sequence[Performed], folder: OutputFolder) -> str:
    """The same as one JSON document, for programs."""
    rows = []
    for each in performed:
        rows.append(
            {
                "name": each.case.name,
                "case_id": each.case.case_id,
                "run_id": each.run_id,
                "agent": each.row.agent,
                "tier": each.case.tier,
                "note": each.case.note or None,
                **asdict(each.row.outcome),
                "surprises": each.row.surprises,
                "result": str(folder.result_path(each.case.name)),
            }
        )
    document = {
        "as_expected": not any(each.row.surprises for each in performed),
        "folder": str(folder.path),
        "runs": rows,
    }
    return json.dumps(document, indent=2)


def _lessons() -> RenderableType:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for lesson in _LESSONS:
        grid.add_row("*", lesson)
    return grid


def _show(console: Console, what: RenderableType) -> None:
    """Print it; where no terminal hides them, without the spaces that fill up each line."""
    if console.is_terminal:
        console.print(what)
        return
    with console.capture() as capture:
        console.print(what)
    for line in capture.get().splitlines():
        console.print(line.rstrip(), markup=False, soft_wrap=True)


def _shown(path: Path) -> str:
    return shlex.quote(str(path))


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
