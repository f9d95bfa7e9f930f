"""State Controllers that get the order of a run wrong (CTL-1)."""

from __future__ import annotations

from typing import Any

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_leases import Lease
from agentbeat_conformance.mutants.base_shelf import ShelfProfile
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_conformance.mutants.replies import Refused
from agentbeat_protocol import ControllerMessage, RenewRequest, ResetRequest, VerifyRequest

__all__: list[str] = []


@controller_mutant(
    "verify-refused-in-order",
    breaks={"CTL-1.a"},
    text="It refuses verify even when it is in order.",
)
class VerifyRefusedInOrder(BaseController):
    def check_phase(self, lease: Lease, phase: str) -> None:
        super().check_phase(lease, phase)
        if phase == "verify":
            raise Refused("phase_out_of_order", "expected another step now")


@controller_mutant(
    "snapshot-answer-without-phase", breaks={"CTL-1.b"}, text="Its snapshot answers do not name the phase."
)
class SnapshotAnswerWithoutPhase(BaseController):
    def snapshot(self, lease: Lease, phase: str) -> dict[str, Any]:
        members = super().snapshot(lease, phase)
        del members["phase"]
        return members


@controller_mutant(
    "answer-names-another-run", breaks={"CTL-1.b"}, text="Its snapshot answers name a run of its own making."
)
class AnswerNamesAnotherRun(BaseController):
    def snapshot(self, lease: Lease, phase: str) -> dict[str, Any]:
        return {**super().snapshot(lease, phase), "run_id": "run-of-its-own"}


@controller_mutant(
    "answer-with-surplus-members",
    breaks={"CTL-1.c"},
    text="Its snapshot answers have a member that the specs do not name.",
)
class AnswerWithSurplusMembers(BaseController):
    def snapshot(self, lease: Lease, phase: str) -> dict[str, Any]:
        return {**super().snapshot(lease, phase), "rows": len(self.shelves)}


@controller_mutant(
    "after-without-before",
    breaks={"CTL-1.d"},
    text="It takes snapshot after without a snapshot before.",
    consequences={"CTL-1.z"},
)
class AfterWithoutBefore(BaseController):
    def check_phase(self, lease: Lease, phase: str) -> None:
        if phase != "after" or lease.stage != "reset" or lease.released:
            super().check_phase(lease, phase)


@controller_mutant(
    "verify-right-after-reset",
    breaks={"CTL-1.e"},
    text="It verifies a run without snapshots, and takes both at that moment.",
    consequences={"CTL-1.z"},
)
class VerifyRightAfterReset(BaseController):
    def check_phase(self, lease: Lease, phase: str) -> None:
        if phase != "verify" or lease.stage != "reset" or lease.released:
            super().check_phase(lease, phase)

    def verify(self, lease: Lease, request: VerifyRequest) -> dict[str, Any]:
        if lease.taken:
            return super().verify(lease, request)
        references = {}
        for phase in ("before", "after"):
            taken = self.snapshot(lease, phase)
            references[phase] = {"ref": taken["snapshot_ref"], "digest": taken["digest"]}
        taken_now = VerifyRequest.model_validate({**request.model_dump(), **references})
        return super().verify(lease, taken_now)


@controller_mutant(
    "verify-without-after",
    breaks={"CTL-1.f"},
    text="It verifies before snapshot after, and takes the one before for both.",
    consequences={"CTL-1.z"},
)
class VerifyWithoutAfter(BaseController):
    def check_phase(self, lease: Lease, phase: str) -> None:
        if phase == "verify" and lease.stage == "before" and not lease.released:
            lease.taken["after"] = lease.taken["before"]
            return
        super().check_phase(lease, phase)

    def check_snapshot(self, lease: Lease, phase: str, given: Any) -> None:
        if lease.taken["after"] is not lease.taken["before"]:
            super().check_snapshot(lease, phase, given)


@controller_mutant(
    "release-needs-verify",
    breaks={"CTL-1.g"},
    text="It releases a run with snapshots only once it was verified.",
    consequences={"CTL-1.z"},
)
class ReleaseNeedsVerify(BaseController):
    def check_phase(self, lease: Lease, phase: str) -> None:
        super().check_phase(lease, phase)
        if phase == "release" and lease.request.snapshots and lease.stage != "verify":
            raise Refused("phase_out_of_order", "expected verify first")


@controller_mutant(
    "renew-only-after-reset",
    breaks={"CTL-1.h"},
    text="It renews a lease only before the first snapshot.",
    consequences={"CTL-1.z"},
)
class RenewOnlyAfterReset(BaseController):
    def check_phase(self, lease: Lease, phase: str) -> None:
        super().check_phase(lease, phase)
        if phase.startswith("renew") and lease.stage != "reset":
            raise Refused("phase_out_of_order", "expected no snapshot yet")


@controller_mutant(
    "renew-keeps-the-end",
    breaks={"CTL-1.h"},
    text="It answers a renewal and leaves the end of the lease where it was.",
    consequences={"CTL-2.d"},
)
class RenewKeepsTheEnd(BaseController):
    def renew(self, lease: Lease, request: RenewRequest) -> dict[str, Any]:
        end = lease.expires_at
        super().renew(lease, request)
        lease.expires_at = end
        return {"lease_id": lease.lease_id, "expires_at": self.end_of(lease)}


@controller_mutant(
    "snapshot-after-release",
    breaks={"CTL-1.i"},
    text="It takes a snapshot for a lease that was released.",
    consequences={"CTL-1.z"},
)
class SnapshotAfterRelease(BaseController):
    def check_phase(self, lease: Lease, phase: str) -> None:
        if phase != "before" or lease.stage != "reset":
            super().check_phase(lease, phase)


@controller_mutant(
    "renew-revives-a-released-lease",
    breaks={"CTL-1.i"},
    text="A renewal brings a released lease back.",
    consequences={"CTL-1.z"},
)
class RenewRevivesAReleasedLease(BaseController):
    def check_phase(self, lease: Lease, phase: str) -> None:
        if phase.startswith("renew"):
            lease.released = False
        super().check_phase(lease, phase)


@controller_mutant(
    "reset-needs-snapshots", breaks={"CTL-1.j"}, text="It refuses a reset that announces no snapshots."
)
class ResetNeedsSnapshots(BaseController):
    def check_profile(self, request: ResetRequest, profile: ShelfProfile) -> None:
        super().check_profile(request, profile)
        if not request.snapshots:
            raise Refused("invalid_request", "expected a run with snapshots")


@controller_mutant(
    "renew-sets-the-phase-back",
    breaks={"CTL-1.z"},
    text="A renewal after snapshot before forgets that it was taken, so the run cannot go on.",
)
class RenewSetsThePhaseBack(BaseController):
    def renew(self, lease: Lease, request: RenewRequest) -> dict[str, Any]:
        if lease.stage == "before":
            lease.stage = "reset"
        return super().renew(lease, request)


@controller_mutant(
    "late-release-ends-the-next-run",
    breaks={"CTL-1.z"},
    text="A release that is repeated ends the lease of the run that holds the environment by then.",
)
class LateReleaseEndsTheNextRun(BaseController):
    def recorded(self, lease: Lease, phase: str, request: ControllerMessage) -> bytes | None:
        body = super().recorded(lease, phase, request)
        if body is not None and phase == "release" and self.holder is not None:
            self.holder.released = True
        return body
