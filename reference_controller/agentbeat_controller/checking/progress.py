"""How long work shows that it goes on: a line that is written over on a terminal, else a line now and then.

progress = Progress(sys.stderr)
progress.say("3 of 97, shop-refund")
progress.end()
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Final, TextIO

__all__ = ["Progress", "time_left"]

#: Seconds between two lines where there is no terminal.
_BETWEEN_LINES: Final = 15.0
#: Of so many parts nothing can be said yet.
_TOO_FEW: Final = 10
_MINUTE: Final = 60


class Progress:
    """What is being done now.

    Args:
        stream: where it is said.
        clock: seconds that never go back.
    """

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._terminal = stream.isatty()
        self._started = self._last = clock()

    def part(self, number: int, total: int, name: str) -> None:
        """Say that a part begins, and how long the rest may take."""
        left = time_left(self._clock() - self._started, number - 1, total)
        self.say(f"{number} of {total}{left}: {name}")

    def say(self, text: str) -> None:
        """Say it; on a terminal cut to its width, for a line that breaks cannot be written over."""
        now = self._clock()
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{text[:width]}")
        elif now - self._last > _BETWEEN_LINES:
            self._last = now
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def end(self) -> None:
        """Take the line away."""
        if self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def time_left(seconds: float, done: int, total: int) -> str:
    """Words for how long the rest takes, if it goes on as it went.

    >>> time_left(60, 20, 120)
    ', about 5 min left'
    >>> time_left(60, 2, 120)
    ''
    """
    if done < _TOO_FEW:
        return ""
    minutes = round(seconds / done * (total - done) / _MINUTE)
    return f", about {minutes} min left" if minutes else ", less than a minute left"
