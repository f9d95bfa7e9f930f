"""A business call on a worker: no transaction is open while the worker works.

The state is read, the worker is asked what the tool makes of it, and then, in one transaction, the window is
looked at, the state is found to be the one that the worker was given, and the new one is kept with the call's
line in the log. Where another process on the same database has kept a call of this run meanwhile, the worker
is asked again, with the state that there is now: no update is lost, and the log has the order in which calls
came to pass. A run takes a bounded number of calls, so that comes to an end.

In this process, calls that name the same run come one after another, so none of them asks in vain. Calls of
other runs do not wait for them, in no database.
"""

from __future__ import annotations

from pydantic import BaseModel

from agentbeat_controller.asides import with_asides
from agentbeat_controller.databases import LOCK_WAIT_SECONDS
from agentbeat_controller.environments.base import BusinessDoor
from agentbeat_controller.environments.operations import Operation, Outcome, Refusal, perform
from agentbeat_controller.queues import Turns
from agentbeat_controller.refusals import RetryLaterError

__all__ = ["WorkerCalls"]


class WorkerCalls:
    """Takes calls through the door: a `Caller`.

    Args:
        wait_seconds: until an earlier call of the same run has ended.
    """

    def __init__(self, *, wait_seconds: float = LOCK_WAIT_SECONDS) -> None:
        self._turns = Turns()
        self._wait_seconds = wait_seconds

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
            ProtocolError: what the door refuses with; `controller_unavailable`.
        """

        def work() -> Outcome:
            nonlocal run_id
            with door.enter(deployment, run_id) as entry:
                run_id = entry.run_id  # begun anew, without it another run could have the environment by now
                return perform(entry, operation, asked)

        with self._turns.taken((deployment, run_id), seconds=self._wait_seconds) as mine:
            if not mine:
                raise _too_many()
            return with_asides(work)


def _too_many() -> RetryLaterError:
    return RetryLaterError(
        "CTL-10",
        code="controller_unavailable",
        got="a call of a run whose earlier calls are still under way",
        expected="them to end first; nothing has changed",
        retry_after=1,
    )
