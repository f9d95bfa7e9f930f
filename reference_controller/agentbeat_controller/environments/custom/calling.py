"""A business call on a system outside the Controller's transaction: written down before it runs.

A call takes two transactions. The first writes that the call is let in. The second holds the lease while the
tool runs, writes the call's line in the log, and takes the first mark away. So a snapshot waits for the call
(CTL-4), the log has the order in which calls ran, and a call that died in the middle leaves its mark: it is
in the after snapshot as one of unknown outcome (CTL-8).

A call whose window closes between the two was let in and never ran; it leaves its mark too.
"""

from __future__ import annotations

from pydantic import BaseModel

from agentbeat_controller.environments.base import BusinessDoor, Entry
from agentbeat_controller.environments.operations import Operation, Outcome, Refusal, perform
from agentbeat_protocol import CanonicalError, canonical_json

from . import journal

__all__ = ["call_outside"]


def call_outside(
    door: BusinessDoor, deployment: str, run_id: str | None, operation: Operation, asked: BaseModel | Refusal
) -> Outcome:
    """One call through the door; the answer.

    Raises:
        ProtocolError: what the door refuses with.
    """
    with door.enter(deployment, run_id) as entry:
        asked = _writable(asked)
        if isinstance(asked, Refusal):
            return perform(entry, operation, asked)
        number = journal.add_begun(entry.connection, entry.environment_id, operation.name, _members(asked))
        if number is None:
            return perform(entry, operation, Refusal("call_limit_reached", "too many calls have no outcome"))
        first = entry
    # By the run's name: without it another run of the Deployment could have the environment by now.
    with door.enter(deployment, first.run_id) as entry:
        return _finish(entry, operation, asked, number)


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
