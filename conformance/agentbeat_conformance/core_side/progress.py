"""How far a run is, on standard error: a live line on a terminal, elsewhere a line for what did not pass."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentbeat_conformance.outcomes import Outcome

if TYPE_CHECKING:
    from agentbeat_conformance.core_side.runner import ScenarioResult

__all__ = ["progress_of"]

_QUIET = (Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.COULD_NOT_RUN)


@contextmanager
def progress_of(total: int, *, jobs: int) -> Iterator[Callable[[ScenarioResult], None]]:
    """For the block, a function that is told each result as it comes."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        print(f"agentbeat conformance core: {total} scenarios, {jobs} at once", file=sys.stderr)
        yield _told
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("scenarios", total=total)

    def on_result(result: ScenarioResult) -> None:
        if result.outcome not in _QUIET:
            bar.console.print(_line(result), markup=False, highlight=False)
        bar.update(task, advance=1, description=result.scenario.group)

    with bar:
        yield on_result


def _told(result: ScenarioResult) -> None:
    if result.outcome not in _QUIET:
        print(_line(result), file=sys.stderr)


def _line(result: ScenarioResult) -> str:
    return f"{result.scenario.id}: {result.outcome}"
