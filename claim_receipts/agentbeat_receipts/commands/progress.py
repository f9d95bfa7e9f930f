"""How far a long command is, on standard error: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentbeat_receipts.commands.options import say

__all__ = ["progress"]


@contextmanager
def progress() -> Iterator[Callable[[str, int], None]]:
    """For the block, a function that is told each step before it begins: what it is, of how many."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield lambda text, _: say(f"{text} ...")
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(min_width=36)),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("starting", total=None)
    begun = 0

    def on_step(text: str, steps: int) -> None:
        nonlocal begun
        bar.update(task, description=text, total=steps, completed=begun)
        begun += 1

    with bar:
        yield on_step
