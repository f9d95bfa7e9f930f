"""How far the verification of a long bundle is: a line on standard error, where that is a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from agentbeat_receipts.streams import Progress

__all__ = ["stream_progress"]

#: Nothing is said of what takes less than so many seconds.
PATIENCE: Final = 2.0

_STAGES: Final = {"sighted": "reading", "opened": "opening"}
_COUNTED: Final = {"sighted": "files", "opened": "envelopes"}


@contextmanager
def stream_progress() -> Iterator[Callable[[Progress], None]]:
    """For the block, a function that is told how far a verification is; then the line is gone again."""
    from rich.console import Console
    from rich.progress import Progress as Line
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    # It is drawn when there is something new: no thread, beside which workers could not be forked.
    line = Line(*columns, console=console, transient=True, auto_refresh=False)
    task = line.add_task("", total=None)
    begun, shown = time.monotonic(), False

    def told(progress: Progress) -> None:
        nonlocal shown
        if time.monotonic() - begun < PATIENCE:
            return
        text = f"{_STAGES[progress.stage]}: {progress.deliveries:,} {_COUNTED[progress.stage]}"
        line.update(task, description=text, refresh=shown)
        if not shown:
            shown = True
            line.start()

    try:
        yield told
    finally:
        if shown:
            line.stop()
