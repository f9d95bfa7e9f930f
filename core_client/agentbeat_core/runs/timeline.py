"""Core's own clock around a run: when each phase began, how long it took, how it ended.

Durations come from the monotonic clock, in nanoseconds. The wall clock is read once, at the start; every
later instant is that one plus a duration, so a clock that is set during the run bends nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from agentbeat_protocol import Instant
from agentbeat_protocol.evaluation import PhaseTiming, Timing

__all__ = ["Phase", "PhaseName", "Timeline"]

PhaseName = Literal[
    "reset", "snapshot_before", "invoke", "snapshot_after", "evidence", "verify", "release", "judge"
]


@dataclass(slots=True)
class Phase:
    """How a phase ended."""

    failed: bool = False


class Timeline:
    """The phases of one run, in the order in which they began.

    Args:
        on_phase: told the name of each phase as it begins, in the run's own task; it must not raise.
    """

    def __init__(self, on_phase: Callable[[PhaseName], None] | None = None) -> None:
        self._on_phase = on_phase
        self._wall = time.time_ns()
        self._start = time.monotonic_ns()
        self._phases: list[PhaseTiming] = []

    @contextmanager
    def phase(self, name: PhaseName) -> Iterator[Phase]:
        """Time a phase; it has failed when it says so, or ends in an exception."""
        if self._on_phase is not None:
            self._on_phase(name)
        start = time.monotonic_ns()
        phase = Phase()
        try:
            yield phase
        except BaseException:
            phase.failed = True
            raise
        finally:
            self._phases.append(
                PhaseTiming(
                    phase=name,
                    started_at=self._instant(start),
                    duration_ns=time.monotonic_ns() - start,
                    outcome="failed" if phase.failed else "ok",
                )
            )

    def timing(self) -> Timing:
        """Everything up to now."""
        now = time.monotonic_ns()
        return Timing(
            started_at=self._instant(self._start),
            finished_at=self._instant(now),
            duration_ns=now - self._start,
            phases=tuple(self._phases),
        )

    def _instant(self, monotonic: int) -> Instant:
        return Instant.from_nanoseconds(self._wall + monotonic - self._start)
