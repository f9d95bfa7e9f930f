"""The lease on an environment: taken by reset, always given back.

`leased` releases however its block ends: well, with an error, or cancelled (Ctrl-C), even more than once. A
reset whose answer never came, or cannot be used, may have made a lease all the same, and would keep others
out until it expires. Where the answer names the lease, that one is released; else it is asked for once
more, which CTL-2 answers with the recorded one.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_core.clients import ControllerClient
from agentbeat_core.failures import ControllerError
from agentbeat_core.plans import Seconds
from agentbeat_core.runs.timeline import Timeline
from agentbeat_protocol import Instant, ResetAnswer

__all__ = ["Lease", "leased"]

#: How long cleaning up may take, in seconds: the run has ended, only the environment waits.
_CLEANUP_SECONDS: Final = 5.0
#: A lease of the default length (15 minutes) is long enough for this many seconds of run, with time to spare.
_DEFAULT_LEASE_COVERS: Final = 600.0
#: At L3: renew, two snapshots, reading both, verify.
_STEPS_UNDER_LEASE: Final = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """An environment, prepared and held for one attempt."""

    answer: ResetAnswer
    attempt_nonce: str


@asynccontextmanager
async def leased(
    controller: ControllerClient, timeline: Timeline, *, snapshots: bool, seconds: Seconds
) -> AsyncIterator[Lease]:
    """Reset the environment, hold it for the block, release it.

    Raises:
        ControllerError: there is no lease. The block has not begun.
    """
    nonce = secrets.token_hex(16)
    answer = await _reset(controller, timeline, nonce, snapshots=snapshots)
    try:
        await _renew_for(controller, timeline, answer, seconds)
        yield Lease(answer=answer, attempt_nonce=nonce)
    finally:
        await _to_its_end(_release(controller, timeline, answer.lease_id))


async def _reset(
    controller: ControllerClient, timeline: Timeline, nonce: str, *, snapshots: bool
) -> ResetAnswer:
    try:
        with timeline.phase("reset"):
            return await controller.reset(attempt_nonce=nonce, snapshots=snapshots)
    except ControllerError as error:
        if error.uncertain:
            await _to_its_end(_abandon(controller, nonce, snapshots=snapshots, lease_id=error.lease_id))
        raise
    except asyncio.CancelledError:
        await _to_its_end(_abandon(controller, nonce, snapshots=snapshots))
        raise


async def _renew_for(
    controller: ControllerClient, timeline: Timeline, answer: ResetAnswer, seconds: Seconds
) -> None:
    """Make the lease outlive a long run.

    The new end is the old one and the run's length: an instant of the Controller's own clock, so that the
    clocks of two machines are never compared.
    """
    longest = seconds.invoke + seconds.evidence + _STEPS_UNDER_LEASE * seconds.controller
    if longest <= _DEFAULT_LEASE_COVERS:
        return
    try:
        end = Instant.from_nanoseconds(answer.expires_at.unix_nanoseconds + int(longest * 1_000_000_000))
    except ValueError:
        # A lease up to the end of the year 9999 outlives every run.
        return
    with timeline.phase("reset"):
        await controller.renew(answer.lease_id, end)


async def _release(controller: ControllerClient, timeline: Timeline, lease_id: str) -> None:
    # A lease that cannot be released expires; the phase says that it failed.
    with suppress(ControllerError), timeline.phase("release"):
        await controller.release(lease_id, seconds=_CLEANUP_SECONDS)


async def _abandon(
    controller: ControllerClient, nonce: str, *, snapshots: bool, lease_id: str | None = None
) -> None:
    """Release a lease that may exist; `lease_id` where the reset's refused answer named it."""
    with suppress(ControllerError):
        if lease_id is None:
            lease_id = await _asked_again(controller, nonce, snapshots=snapshots)
        if lease_id is not None:
            await controller.release(lease_id, seconds=_CLEANUP_SECONDS)


async def _asked_again(controller: ControllerClient, nonce: str, *, snapshots: bool) -> str | None:
    try:
        answer = await controller.reset(attempt_nonce=nonce, snapshots=snapshots, seconds=_CLEANUP_SECONDS)
    except ControllerError as error:
        return error.lease_id
    return answer.lease_id


async def _to_its_end(cleaning: Coroutine[Any, Any, None]) -> None:
    """Await `cleaning` to its end, which is near; a cancellation meanwhile is passed on afterwards.

    Were it passed on at once, the HTTP clients would be closed under the cleaning, or the event loop.
    """
    task = asyncio.get_running_loop().create_task(cleaning)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
