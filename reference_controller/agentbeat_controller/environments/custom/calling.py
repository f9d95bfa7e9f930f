"""A business call on a system outside the Controller's transaction: written down before it runs.

A call takes two transactions. The first writes that the call is let in. The second holds the lease while the
tool runs, writes the call's line in the log, and takes the first mark away. So a snapshot waits for the call
(CTL-4), the log has the order in which calls ran, and a call that died in the middle leaves its mark: it is
in the after snapshot as one of unknown outcome (CTL-8).

A call that still waits for the second transaction when a snapshot is taken has not run, and will find its
window closed. The process that let it in knows that, and leaves its mark out of the state; another process on
the same database would show it as one of unknown outcome, which is the safe side.
"""

from __future__ import annotations

import threading

from pydantic import BaseModel

from agentbeat_controller.environments.base import BusinessDoor, Entry
from agentbeat_controller.environments.operations import Operation, Outcome, Refusal, perform
from agentbeat_protocol import CanonicalError, canonical_json

from . import journal

__all__ = ["OutsideCalls"]


class OutsideCalls:
    """Takes calls through the door: a `Caller`."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: set[tuple[str, int]] = set()

    def __call__(
        self,
        door: BusinessDoor,
        deployment: str,
        run_id: str | None,
        operation: Operation,
        asked: BaseModel | Refusal,
    ) -> Outcome:
        """One call; the answer.

        Raises:
            ProtocolError: what the door refuses with.
        """
        with door.enter(deployment, run_id) as entry:
            asked = _writable(asked)
            if isinstance(asked, Refusal):
                return perform(entry, operation, asked)
            here = entry.environment_id
            number = journal.add_begun(entry.connection, here, operation.name, _members(asked))
            if number is None:
                return perform(entry, operation, Refusal("call_limit_reached", "too many calls are open"))
            run_id = entry.run_id  # without it another run could have the environment by now
            self._wait(here, number)
        try:
            with door.enter(deployment, run_id) as entry:
                self._go(here, number)
                return _finish(entry, operation, asked, number)
        finally:
            self._go(here, number)

    def waiting(self, environment_id: str) -> frozenset[int]:
        """The numbers of the calls that this process has let in and that have not run.

        Right for a caller that holds the environment's lease: none of them can begin meanwhile.
        """
        with self._guard:
            return frozenset(number for where, number in self._waiting if where == environment_id)

    def _wait(self, environment_id: str, number: int) -> None:
        with self._guard:
            self._waiting.add((environment_id, number))

    def _go(self, environment_id: str, number: int) -> None:
        with self._guard:
            self._waiting.discard((environment_id, number))


def _finish(entry: Entry, operation: Operation, asked: BaseModel, number: int) -> Outcome:
    outcome = perform(entry, operation, asked)
    journal.remove_begun(entry.connection, entry.environment_id, number)
    return outcome


def _members(asked: BaseModel) -> object:
    return asked.model_dump(mode="json", exclude_unset=True)


def _writable(asked: BaseModel | Refusal) -> BaseModel | Refusal:
    """The arguments, if the log can hold them: found out before the tool runs, not after."""
    if isinstance(asked, Refusal):
        return asked
    try:
        canonical_json(_members(asked))
    except CanonicalError:
        return Refusal("invalid_request", "expected arguments that JSON holds exactly")
    return asked
