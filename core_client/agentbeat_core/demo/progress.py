"""What the demo says while it works: one live line on a terminal, plain lines elsewhere.

All of it goes to standard error; standard output is for the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as LiveBar
from rich.table import Column

__all__ = ["Progress", "progress_on"]


class Progress(Protocol):
    """Whoever shows how far the demo is."""

    def stage(self, text: str) -> None:
        """Something that is not a run begins, such as starting the servers."""
        ...

    def runs(self, total: int) -> None:
        """The runs begin; there are this many."""
        ...

    def phase(self, name: str, phase: str) -> None:
        """A run enters a phase."""
        ...

    def done(self, name: str, word: str) -> None:
        """A run has ended, in this word."""
        ...


@contextmanager
def progress_on(console: Console, *, every: int = 1) -> Iterator[Progress]:
    """Progress on this console, for the block; a live line is gone at its end.

    Args:
        every: where there is no live line, a line for this many runs that have ended.
    """
    if not console.is_terminal or console.is_dumb_terminal:
        yield _PlainLines(console, every)
        return
    bar = LiveBar(
        SpinnerColumn(spinner_name="line"),
        TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        expand=True,
    )
    with bar:
        yield _LiveLine(bar)


class _LiveLine:
    def __init__(self, bar: LiveBar) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=None)

    def stage(self, text: str) -> None:
        self._bar.update(self._task, description=text)

    def runs(self, total: int) -> None:
        self._bar.update(self._task, total=total)

    def phase(self, name: str, phase: str) -> None:
        self._bar.update(self._task, description=f"{name}: {phase.replace('_', ' ')}")

    def done(self, name: str, word: str) -> None:
        self._bar.update(self._task, advance=1, description=f"{name}: {word}")


class _PlainLines:
    def __init__(self, console: Console, every: int) -> None:
        self._console = console
        self._every = every
        self._total = self._ended = 0

    def stage(self, text: str) -> None:
        self._line(f"{text} ...")

    def runs(self, total: int) -> None:
        self._total = total

    def phase(self, name: str, phase: str) -> None:
        del name, phase  # a line for each would be noise in a log

    def done(self, name: str, word: str) -> None:
        self._ended += 1
        if self._ended % self._every and self._ended != self._total:
            return
        self._line(f"[{self._ended:>{len(str(self._total))}}/{self._total}] {name}: {word}")

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
