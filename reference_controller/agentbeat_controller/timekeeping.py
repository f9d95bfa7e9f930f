"""The Controller's own time, which never goes back (RCP-3).

`taken_at`, `issued_at` and the end of leases come from here. When the system clock is set back, time goes on
from where it was at the pace of the monotonic clock, so leases neither come back to life nor live longer.
Across restarts and processes the database keeps the latest time that was given out: the floor.

>>> from agentbeat_protocol import Instant
>>> system = iter([Instant.from_nanoseconds(5_000), Instant.from_nanoseconds(1_000)])
>>> keeper = Timekeeper(clock=lambda: next(system), monotonic=iter([0, 7]).__next__)
>>> keeper.now(floor=0), keeper.now(floor=0)
(5000, 5007)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from agentbeat_protocol import Instant

__all__ = ["NANOSECONDS", "Timekeeper"]

NANOSECONDS = 1_000_000_000


class Timekeeper:
    """Reads the clocks; safe to use from several threads.

    Args:
        clock: the system's time.
        monotonic: nanoseconds of a clock that is never set.
    """

    def __init__(
        self, *, clock: Callable[[], Instant] = Instant.now, monotonic: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._guard = threading.Lock()
        # Time was `_time` when the monotonic clock showed `_mark`.
        self._time: int | None = None
        self._mark = 0

    def now(self, *, floor: int) -> int:
        """Nanoseconds since 1970: never less than `floor`, nor than any earlier answer."""
        with self._guard:
            system, mark = self._clock().unix_nanoseconds, self._monotonic()
            carried = floor if self._time is None else max(floor, self._time + mark - self._mark)
            self._time, self._mark = max(system, carried), mark
            return self._time
