"""State Controllers that judge in another order than CTL-2's, and leases that end wrongly by time."""

from __future__ import annotations

from typing import ClassVar

from agentbeat_conformance.mutants.base_controller import MAX_BODY, BaseController
from agentbeat_conformance.mutants.base_leases import Lease
from agentbeat_conformance.mutants.base_shelf import PROFILES, ShelfProfile
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_conformance.mutants.replies import Asked, Refused
from agentbeat_protocol import ControllerMessage, ResetRequest, read_json

__all__: list[str] = []


@controller_mutant(
    "body-is-judged-before-the-secret",
    breaks={"CTL-2.m"},
    text="It reads and judges the body before it looks at the secret.",
)
class BodyIsJudgedBeforeTheSecret(BaseController):
    async def admitted(self, asked: Asked, route: str) -> ControllerMessage:
        request = self.read(route, await asked.body.read(MAX_BODY))
        self.authorise(asked, route)
        self.check_media_type(asked)
        return request


@controller_mutant(
    "profile-is-looked-up-before-the-shape",
    breaks={"CTL-2.n"},
    text="It looks the profile up before it judges the request's shape.",
)
class ProfileIsLookedUpBeforeTheShape(BaseController):
    def read(self, route: str, raw: bytes) -> ControllerMessage:
        members = read_json(raw)
        name = members.get("profile_id") if isinstance(members, dict) else None
        if isinstance(name, str) and name not in PROFILES:
            raise Refused("profile_not_found", "expected a profile of the catalogue")
        return super().read(route, raw)


@controller_mutant(
    "conflict-comes-before-404",
    breaks={"CTL-2.o"},
    text="A run that was reset gets binding_conflict for an unknown profile.",
)
class ConflictComesBefore404(BaseController):
    def profile(self, request: ControllerMessage) -> ShelfProfile:
        lease = self.leases.get(request.run_id)
        if isinstance(request, ResetRequest) and lease is not None and request.profile_id not in PROFILES:
            raise Refused("binding_conflict", "expected the run's first reset")
        return super().profile(request)


@controller_mutant(
    "phase-is-judged-before-the-binding",
    breaks={"CTL-2.p"},
    text="It judges the order of a step before the case that it is bound to.",
    consequences={"CTL-1.z"},
)
class PhaseIsJudgedBeforeTheBinding(BaseController):
    def check_binding(self, lease: Lease, request: ControllerMessage) -> None:
        self.check_phase(lease, self.phase(request))
        super().check_binding(lease, request)


class _Short(BaseController):
    """Gives leases of two seconds."""

    lease_seconds: ClassVar[int] = 2


@controller_mutant(
    "expired-lease-is-verified", breaks={"CTL-2.q"}, text="It verifies a run whose lease has expired."
)
class ExpiredLeaseIsVerified(_Short):
    def check_expiry(self, lease: Lease) -> None:
        if lease.stage != "after":
            super().check_expiry(lease)


@controller_mutant(
    "recorded-answer-comes-before-expiry",
    breaks={"CTL-2.r"},
    text="It gives recorded answers on a lease that has expired.",
)
class RecordedAnswerComesBeforeExpiry(_Short):
    def check_expiry(self, lease: Lease) -> None:
        """Too early for this one."""

    def check_binding(self, lease: Lease, request: ControllerMessage) -> None:
        super().check_expiry(lease)
        super().check_binding(lease, request)


@controller_mutant(
    "expired-lease-keeps-the-environment",
    breaks={"CTL-6.g"},
    text="A run whose lease has expired holds the Deployment's environment until it is released.",
)
class ExpiredLeaseKeepsTheEnvironment(_Short):
    def check_free(self) -> None:
        if self.holder is not None and not self.holder.released:
            raise Refused("environment_busy", "expected it to be released first", ("Retry-After", "1"))


@controller_mutant(
    "window-outlives-the-lease",
    breaks={"CTL-12.f"},
    text="It lets business calls in on a lease that has expired.",
)
class WindowOutlivesTheLease(_Short):
    def lets_in(self, lease: Lease) -> bool:
        return lease.is_open


@controller_mutant(
    "released-lease-expires",
    breaks={"CTL-2.s"},
    text="A released lease expires in its time, and its recorded answers with it.",
)
class ReleasedLeaseExpires(_Short):
    def has_expired(self, lease: Lease) -> bool:
        return self.now() >= lease.expires_at
