"""Having a staging system forget its places, now or later.

A lease ends whether its place is forgotten or not. A place that is not is kept as a left-over, and each reset
tries some of them again, in turn: one that can never be forgotten holds up no other. A failure is logged when
the lease ends, or once by a process that finds the left-over; not at each try.

    forgetting = Forgetting(system)
    forgetting.forgotten("place-1")     # False, and the log says why
    forgetting.sweep(connection)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentbeat_controller.environments.containment import contained

from . import journal
from .failures import log_failure

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .systems import StagingSystem

__all__ = ["Forgetting"]

#: How many left-overs one sweep tries.
_SWEEP: Final = 4


class Forgetting:
    """What one process knows of it: which failures it has told, and which left-over it tried last."""

    def __init__(self, system: StagingSystem) -> None:
        self._system = system
        self._told: set[str] = set()
        self._last = ""

    def forgotten(self, place: str) -> bool:
        """Whether the system forgets the place now."""
        self._told.discard(place)
        return self._try(place)

    def sweep(self, connection: Connection) -> None:
        """Try some left-overs again: those that come next."""
        for place in journal.leftovers(connection, after=self._last, most=_SWEEP):
            self._last = place
            if self._try(place):
                journal.remove_leftover(connection, place)

    def _try(self, place: str) -> bool:
        try:
            with contained():
                self._system.forget(place)
        except Exception as error:  # noqa: BLE001 - somebody else's code, and the lease has ended
            if place not in self._told:
                log_failure(f"{self._system.name}: forget", error)
            self._told.add(place)
            return False
        self._told.discard(place)
        return True
