"""Consoles for what is told: as wide as the terminal, or of a fixed width where there is none."""

from __future__ import annotations

import os
from typing import Final, TextIO

from rich.console import Console

__all__ = ["console_on", "say"]

#: The width of a result that goes into a pipe or a file, in columns.
_PLAIN_WIDTH: Final = 120


def console_on(file: TextIO) -> Console:
    """A console on this file."""
    console = Console(file=file, highlight=False)
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = _PLAIN_WIDTH
    return console


def say(console: Console, text: str) -> None:
    """One line of plain text, however long."""
    console.print(text, markup=False, soft_wrap=True)
