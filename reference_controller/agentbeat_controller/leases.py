"""A lease: which run holds which environment, how far it has come, and until when.

Pure: rules over one frozen record, no clock and no database. Times are whole nanoseconds since 1970 in the
Controller's own time.

    stage     reset ──before──▶ before ──after──▶ after ──verify──▶ verified     (CTL-1)
    status    active ──release──▶ released,   active ──time──▶ expired

The business window follows from both: with snapshots it is open while the stage is `before`, without them
while the lease is active (CTL-12).

>>> from agentbeat_controller.leases import next_stage
>>> next_stage("reset", "before")
'before'
>>> next_stage("reset", "verify") is None
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from agentbeat_controller.refusals import (
    binding_conflict,
    environment_closed,
    phase_out_of_order,
)
from agentbeat_protocol import ProtocolError
from agentbeat_protocol.state_receipts import BindingMode

__all__ = ["Lease", "Stage", "Status", "Step", "next_stage"]

Stage = Literal["reset", "before", "after", "verified"]
Status = Literal["active", "released", "expired"]
#: The steps that lead from one stage to the next.
Step = Literal["before", "after", "verify"]

_STEPS: Final[Mapping[tuple[Stage, Step], Stage]] = MappingProxyType(
    {("reset", "before"): "before", ("before", "after"): "after", ("after", "verify"): "verified"}
)
_NAMES: Final[Mapping[Step, str]] = MappingProxyType(
    {"before": "snapshot before", "after": "snapshot after", "verify": "verify"}
)


def next_stage(stage: Stage, step: Step) -> Stage | None:
    """The stage that `step` leads to, or None where it is out of order (CTL-1)."""
    return _STEPS.get((stage, step))


@dataclass(frozen=True, kw_only=True)
class Lease:
    """One run's hold on one environment, as the database keeps it."""

    lease_id: str
    run_id: str
    case_id: str
    profile_id: str
    profile_digest: str
    deployment_profile_id: str
    binding_mode: BindingMode
    environment_id: str
    attempt_nonce: str
    snapshots: bool
    injection_digest: str | None
    state_digest: str
    stage: Stage
    status: Status
    #: The end, in nanoseconds since 1970; the lease has expired from this very instant on.
    expires_at: int

    def has_expired(self, now: int) -> bool:
        """Whether the lease is over by time: recorded so, or active beyond its end. Released ones are not."""
        return self.status == "expired" or (self.status == "active" and now >= self.expires_at)

    def check_binding(self, *, case_id: str, profile_id: str) -> None:
        """The request speaks of the case and the profile that reset bound (CTL-2).

        Raises:
            ProtocolError: `binding_conflict`.
        """
        if (case_id, profile_id) != (self.case_id, self.profile_id):
            raise binding_conflict("the case and the profile of the run's reset")

    def check_active(self, step: str) -> None:
        """The lease still holds its environment; its expiry has been looked at before.

        Raises:
            ProtocolError: `phase_out_of_order`.
        """
        if self.status != "active":
            raise phase_out_of_order(step, f"the lease is {self.status}")

    def stage_after(self, step: Step) -> Stage:
        """The stage that `step` leads this lease to (CTL-1).

        Raises:
            ProtocolError: `phase_out_of_order`.
        """
        name = _NAMES[step]
        self.check_active(name)
        if not self.snapshots:
            raise phase_out_of_order(name, "the lease was reset without snapshots")
        reached = next_stage(self.stage, step)
        if reached is None:
            raise phase_out_of_order(name, f"the lease's last step was {self.stage}")
        return reached

    def window_refusal(self) -> ProtocolError | None:
        """Why a business call is refused now, or None while the window is open (CTL-12)."""
        if self.status != "active":
            return environment_closed("a lease that has not ended")
        if not self.snapshots or self.stage == "before":
            return None
        if self.stage == "reset":
            return environment_closed("a call after snapshot before has been answered")
        return environment_closed("a call before snapshot after is asked for")
