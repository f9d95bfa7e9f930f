"""From a run's two kept snapshots to its checks and verdicts.

The states are read back from the bytes that the digests are over, and nothing else is looked at: the same
snapshots and the same response give the same verdict in any process (CTL-8).
"""

from __future__ import annotations

from sqlalchemy import Connection

from agentbeat_controller import store
from agentbeat_controller.contents import state_in
from agentbeat_controller.environments.base import Environment
from agentbeat_controller.environments.sound_checks import sound_checks
from agentbeat_controller.leases import Lease
from agentbeat_controller.receipts import Findings
from agentbeat_controller.refusals import profile_changed, snapshot_mismatch
from agentbeat_controller.store import Snapshot
from agentbeat_protocol import VerifyRequest, verdicts_from_checks
from agentbeat_protocol.controller import Phase

__all__ = ["judge", "own_snapshot"]


def own_snapshot(connection: Connection, lease: Lease, request: VerifyRequest, phase: Phase) -> Snapshot:
    """CTL-7: the lease's own snapshot of a phase, if that is what the request names.

    Raises:
        ProtocolError: `snapshot_mismatch`.
    """
    own = store.snapshot_of(connection, lease.lease_id, phase)
    named = request.before if phase == "before" else request.after
    if own is None or (named.ref, named.digest) != (own.snapshot_ref, own.digest):
        raise snapshot_mismatch(f"/{phase}")
    return own


def judge(
    environment: Environment, lease: Lease, *, before: Snapshot, after: Snapshot, final_response: str
) -> Findings:
    """What the profile's checks make of the run.

    Raises:
        ProtocolError: `profile_changed`: since the reset the catalogue has got another profile of this id;
            `controller_unavailable`.
    """
    profile = environment.profiles.get(lease.profile_id)
    if profile is None or profile.profile_digest != lease.profile_digest:
        raise profile_changed()
    states = state_in(before.content), state_in(after.content)
    sound = sound_checks(profile, lambda: environment.checks(profile, *states, final_response=final_response))
    return Findings(
        checks=sound.checks,
        checks_digest=sound.digest,
        verdicts=verdicts_from_checks(sound.checks, empty=profile.not_applicable),
    )
