"""State Controllers that lose an answer, or take a different request for the same (CTL-2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_leases import Lease
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_conformance.mutants.replies import Asked, Refused
from agentbeat_protocol import ControllerMessage, RenewRequest, ResetRequest, VerifyRequest

__all__: list[str] = []

_EVERY = {"CTL-2.a", "CTL-2.b", "CTL-2.c", "CTL-2.d", "CTL-2.e"}


@controller_mutant(
    "recorded-answers-are-written-anew",
    breaks=_EVERY,
    text="It writes a recorded answer in another spelling each time: the same JSON in other bytes.",
    consequences={"CTL-1.z", "CTL-2.t", "CTL-2.f", "CTL-2.l"},
)
class RecordedAnswersAreWrittenAnew(BaseController):
    def recorded(self, lease: Lease, phase: str, request: ControllerMessage) -> bytes | None:
        body = super().recorded(lease, phase, request)
        return None if body is None else json.dumps(json.loads(body), indent=1).encode()


@controller_mutant(
    "reset-again-is-a-new-lease",
    breaks={"CTL-2.a"},
    text="The same reset again ends the lease and gives a new one.",
    consequences={"CTL-1.z", "CTL-2.t", "CTL-2.f", "CTL-2.l"},
)
class ResetAgainIsANewLease(BaseController):
    def find(self, request: ControllerMessage) -> Lease | None:
        lease = super().find(request)
        if isinstance(request, ResetRequest) and lease is not None and request == lease.request:
            lease.released = True
            return None
        return lease


@controller_mutant(
    "racing-resets-are-two-leases",
    breaks={"CTL-2.t"},
    text="Two equal resets that arrive at the same time get a lease each.",
)
class RacingResetsAreTwoLeases(BaseController):
    async def admitted(self, asked: Asked, route: str) -> ControllerMessage:
        request = await super().admitted(asked, route)
        if isinstance(request, ResetRequest) and request.run_id not in self.leases:
            await asyncio.sleep(0.01)
            self.leases.pop(request.run_id, None)
        return request


class _Forgetful(BaseController):
    """Does not find the recorded answer of one phase."""

    forgets: str

    def recorded(self, lease: Lease, phase: str, request: ControllerMessage) -> bytes | None:
        return None if phase.startswith(self.forgets) else super().recorded(lease, phase, request)


@controller_mutant(
    "snapshot-again-is-out-of-order",
    breaks={"CTL-2.b"},
    text="The same snapshot before again is 409 phase_out_of_order.",
    consequences={"CTL-1.z", "CTL-2.f", "CTL-2.l"},
)
class SnapshotAgainIsOutOfOrder(_Forgetful):
    forgets = "before"


@controller_mutant(
    "snapshot-is-taken-again",
    breaks={"CTL-2.b"},
    text="The same snapshot after again is taken anew, under another ref.",
    consequences={"CTL-1.z", "CTL-2.t", "CTL-2.f", "CTL-2.l"},
)
class SnapshotIsTakenAgain(_Forgetful):
    forgets = "after"

    def check_phase(self, lease: Lease, phase: str) -> None:
        if phase != "after" or "after" not in lease.taken:
            super().check_phase(lease, phase)

    def snapshot(self, lease: Lease, phase: str) -> dict[str, Any]:
        stage = lease.stage
        members = super().snapshot(lease, phase)
        if stage == "verify":
            lease.stage = stage
        return members


@controller_mutant(
    "verify-again-is-a-new-receipt",
    breaks={"CTL-2.c"},
    text="The same verify again is judged anew and gets a second receipt.",
    consequences={"CTL-1.z", "CTL-2.t", "CTL-2.f", "CTL-10.c"},
)
class VerifyAgainIsANewReceipt(BaseController):
    def recorded(self, lease: Lease, phase: str, request: ControllerMessage) -> bytes | None:
        body = super().recorded(lease, phase, request)
        if body is None or not isinstance(request, VerifyRequest):
            return body
        return self.record(lease, phase, request, self.verify(lease, request))


@controller_mutant(
    "renew-again-is-refused",
    breaks={"CTL-2.d"},
    text="The same renewal again is refused, since the lease ends no earlier.",
    consequences={"CTL-1.z", "CTL-2.l"},
)
class RenewAgainIsRefused(_Forgetful):
    forgets = "renew"


@controller_mutant(
    "renew-once-only",
    breaks={"CTL-2.d"},
    text="It takes renew for one phase: a later renewal is a conflict with the first.",
    consequences={"CTL-1.h", "CTL-1.z"},
)
class RenewOnceOnly(BaseController):
    def phase(self, request: ControllerMessage) -> str:
        return "renew" if isinstance(request, RenewRequest) else super().phase(request)


@controller_mutant(
    "renewals-have-one-answer",
    breaks={"CTL-2.d"},
    text="A later renewal gets the answer of the first, and the lease ends when that says.",
)
class RenewalsHaveOneAnswer(RenewOnceOnly):
    def is_same(self, first: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
        return super().is_same({**first, "expires_at": None}, {**again, "expires_at": None})


@controller_mutant(
    "release-again-is-refused",
    breaks={"CTL-2.e"},
    text="The same release again is 409 phase_out_of_order.",
    consequences={"CTL-1.z", "CTL-2.l"},
)
class ReleaseAgainIsRefused(_Forgetful):
    forgets = "release"


@controller_mutant(
    "release-forgets-the-answers",
    breaks={"CTL-2.f"},
    text="With the release it forgets what it answered before.",
    consequences={"CTL-1.z", "CTL-2.l"},
)
class ReleaseForgetsTheAnswers(BaseController):
    def release(self, lease: Lease) -> dict[str, Any]:
        lease.answers.clear()
        return super().release(lease)


class _Lenient(BaseController):
    """Compares two requests of one phase without some of their members."""

    overlooks: frozenset[str]

    def is_same(self, first: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
        return all(first[name] == again[name] for name in first.keys() - self.overlooks)


@controller_mutant(
    "reset-takes-another-nonce",
    breaks={"CTL-2.g"},
    text="It gives the recorded reset to another attempt_nonce.",
    consequences={"CTL-1.z", "CTL-10.d"},
)
class ResetTakesAnotherNonce(_Lenient):
    overlooks = frozenset({"attempt_nonce"})


@controller_mutant(
    "reset-compares-the-nonce-only",
    breaks={"CTL-2.h"},
    text="It gives the recorded reset to any request with the same attempt_nonce.",
    consequences={"CTL-1.z"},
)
class ResetComparesTheNonceOnly(BaseController):
    def is_same(self, first: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
        if "attempt_nonce" in first:
            return bool(first["attempt_nonce"] == again["attempt_nonce"])
        return super().is_same(first, again)


@controller_mutant(
    "case-is-compared-at-reset-only",
    breaks={"CTL-2.i"},
    text="Once a run is reset it takes its steps for any case.",
    consequences={"CTL-1.z", "CTL-2.p", "CTL-10.d"},
)
class CaseIsComparedAtResetOnly(BaseController):
    def is_same(self, first: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
        if "attempt_nonce" not in first:
            return super().is_same({**first, "case_id": None}, {**again, "case_id": None})
        return super().is_same(first, again)

    def check_binding(self, lease: Lease, request: ControllerMessage) -> None:
        super().check_binding(lease, request.model_copy(update={"case_id": lease.request.case_id}))


@controller_mutant(
    "verify-takes-another-response",
    breaks={"CTL-2.j"},
    text="It gives the recorded verdict to another final_response.",
    consequences={"CTL-1.z"},
)
class VerifyTakesAnotherResponse(_Lenient):
    overlooks = frozenset({"final_response"})


@controller_mutant(
    "verify-again-with-another-response",
    breaks={"CTL-2.j"},
    text="A run that was verified is verified again with another final_response.",
    consequences={"CTL-1.z"},
)
class VerifyAgainWithAnotherResponse(BaseController):
    def recorded(self, lease: Lease, phase: str, request: ControllerMessage) -> bytes | None:
        try:
            return super().recorded(lease, phase, request)
        except Refused:
            if not isinstance(request, VerifyRequest) or request.case_id != lease.request.case_id:
                raise
            return self.record(lease, phase, request, self.verify(lease, request))


@controller_mutant(
    "refusals-are-recorded",
    breaks={"CTL-2.k"},
    text="It records a refusal out of order, and gives it again when that phase is in order.",
    consequences={"CTL-1.f", "CTL-1.z"},
)
class RefusalsAreRecorded(BaseController):
    def __init__(self) -> None:
        super().__init__()
        self._refused: set[bytes] = set()

    def check_phase(self, lease: Lease, phase: str) -> None:
        asked = f"{lease.lease_id} {phase}".encode()
        try:
            super().check_phase(lease, phase)
        except Refused:
            self._refused.add(asked)
            raise
        if asked in self._refused:
            raise Refused("phase_out_of_order", "expected another step then")


@controller_mutant(
    "restart-forgets-the-answers",
    breaks={"CTL-2.l"},
    text="It keeps its recorded answers in memory only.",
    consequences={"CTL-10.c"},
)
class RestartForgetsTheAnswers(BaseController):
    async def restart(self) -> None:
        await super().restart()
        for lease in self.leases.values():
            lease.answers.clear()
