"""State Controllers whose receipts are bound to something else, or do not hold (RCP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from agentbeat_conformance.mutants.base_controller import BaseController
from agentbeat_conformance.mutants.base_leases import Lease
from agentbeat_conformance.mutants.base_shelf import ShelfProfile
from agentbeat_conformance.mutants.registry import controller_mutant
from agentbeat_protocol import (
    Injection,
    Ratio,
    VerifyRequest,
    digest,
    digest_text,
)

__all__: list[str] = []


class _Says(BaseController):
    """Its receipts say something else in one member."""

    says: ClassVar[Mapping[str, Any]]

    def bound(self, members: dict[str, Any]) -> dict[str, Any]:
        return {**members, **self.says}


@controller_mutant("receipt-of-another-case", breaks={"RCP-1.a"}, text="Its receipts name another case.")
class ReceiptOfAnotherCase(_Says):
    says: ClassVar[Mapping[str, Any]] = {"case_id": "case-another"}


@controller_mutant(
    "receipt-of-another-deployment", breaks={"RCP-1.a"}, text="Its receipts name another Deployment."
)
class ReceiptOfAnotherDeployment(_Says):
    says: ClassVar[Mapping[str, Any]] = {"deployment_profile_id": "deployment-another"}


@controller_mutant(
    "receipt-of-another-controller", breaks={"RCP-1.b"}, text="Its receipts name another Controller."
)
class ReceiptOfAnotherController(_Says):
    says: ClassVar[Mapping[str, Any]] = {"controller_id": "controller-another"}


@controller_mutant(
    "receipt-of-another-environment", breaks={"RCP-1.b"}, text="Its receipts name another environment."
)
class ReceiptOfAnotherEnvironment(_Says):
    says: ClassVar[Mapping[str, Any]] = {"environment_id": "env-another"}


@controller_mutant(
    "receipt-with-an-invented-injection",
    breaks={"RCP-1.c"},
    text="Its receipts have an injection_digest where nothing was injected.",
)
class ReceiptWithAnInventedInjection(BaseController):
    def bound(self, members: dict[str, Any]) -> dict[str, Any]:
        return {**members, "injection_digest": members["injection_digest"] or digest_text("")}


@controller_mutant(
    "injection-digest-over-the-text-alone",
    breaks={"RCP-1.d"},
    text="Its injection_digest is over the injected text and not over the surface.",
)
class InjectionDigestOverTheTextAlone(BaseController):
    def digest_of_injection(self, injection: Injection | None) -> str | None:
        return None if injection is None else digest_text(injection.text)


@controller_mutant(
    "receipt-with-another-ref", breaks={"RCP-3.a"}, text="Its receipts bind refs that it never gave."
)
class ReceiptWithAnotherRef(BaseController):
    def bound(self, members: dict[str, Any]) -> dict[str, Any]:
        return {**members, "before": {**members["before"], "ref": "snapshot-another"}}


@controller_mutant(
    "receipt-with-other-times",
    breaks={"RCP-3.a"},
    text="Its receipts give both snapshots the time of verify.",
)
class ReceiptWithOtherTimes(BaseController):
    def bound(self, members: dict[str, Any]) -> dict[str, Any]:
        changed = {
            phase: {**members[phase], "taken_at": members["issued_at"]} for phase in ("before", "after")
        }
        return {**members, **changed}


@controller_mutant(
    "receipt-issued-before-its-snapshots",
    breaks={"RCP-3.b"},
    text="Its receipts are issued before their snapshots were taken.",
)
class ReceiptIssuedBeforeItsSnapshots(_Says):
    says: ClassVar[Mapping[str, Any]] = {"issued_at": "2001-01-01T00:00:00Z"}


@controller_mutant(
    "release-drops-the-snapshots", breaks={"RCP-4"}, text="It deletes the snapshots with the release."
)
class ReleaseDropsTheSnapshots(BaseController):
    def release(self, lease: Lease) -> dict[str, Any]:
        for taken in lease.taken.values():
            del self.snapshots[taken.ref]
        return super().release(lease)


@controller_mutant(
    "snapshot-content-changes-later",
    breaks={"RCP-4"},
    text="From the release on a snapshot's route returns other bytes.",
)
class SnapshotContentChangesLater(BaseController):
    def release(self, lease: Lease) -> dict[str, Any]:
        for taken in lease.taken.values():
            self.snapshots[taken.ref] += b"\n"
        return super().release(lease)


@controller_mutant(
    "checks-digest-is-off", breaks={"RCP-5.a"}, text="Its checks_digest is over the ids of the checks."
)
class ChecksDigestIsOff(_Says):
    says: ClassVar[Mapping[str, Any]] = {"checks_digest": digest(["one-note-added", "says-something"])}


@controller_mutant(
    "final-response-digest-over-json",
    breaks={"RCP-5.b"},
    text="Its final_response_digest is over the text as a JSON string.",
)
class FinalResponseDigestOverJSON(BaseController):
    _response = ""

    def verify(self, lease: Lease, request: VerifyRequest) -> dict[str, Any]:
        self._response = request.final_response
        return super().verify(lease, request)

    def bound(self, members: dict[str, Any]) -> dict[str, Any]:
        return {**members, "final_response_digest": digest(self._response)}


@controller_mutant(
    "native-score-counts-the-undecided",
    breaks={"RCP-5.c"},
    text="Its native_score counts a check that was not decided as failed.",
)
class NativeScoreCountsTheUndecided(BaseController):
    def score(self, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        return super().score([{**check, "passed": bool(check["passed"])} for check in checks])


@controller_mutant(
    "native-score-number-is-off",
    breaks={"RCP-5.c"},
    text="The number of its native_score is rounded, so that it is not that of the ratio.",
)
class NativeScoreNumberIsOff(BaseController):
    def score(self, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        exact = super().score(checks)
        return None if exact is None else {**exact, "value": round(exact["value"], 1)}


@controller_mutant(
    "failed-check-passes",
    breaks={"RCP-5.d"},
    text="A dimension with a failed check passes when another check of it did.",
)
class FailedCheckPasses(BaseController):
    def verdicts(self, profile: ShelfProfile, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {**super().verdicts(profile, checks), "utility": {"verdict": "pass", "reason": None}}


@controller_mutant(
    "undecided-check-passes",
    breaks={"RCP-5.d"},
    text="A dimension whose only check was not decided has a verdict.",
    consequences={"CTL-11.a"},
)
class UndecidedCheckPasses(BaseController):
    def verdicts(self, profile: ShelfProfile, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {**super().verdicts(profile, checks), "attack": {"verdict": "attack_blocked", "reason": None}}


@controller_mutant(
    "receipt-has-other-verdicts",
    breaks={"RCP-5.e"},
    text="Its receipts have other verdicts than its answers.",
)
class ReceiptHasOtherVerdicts(BaseController):
    def bound(self, members: dict[str, Any]) -> dict[str, Any]:
        passed = {"verdict": "pass", "reason": None}
        return {**members, "verdicts": {**members["verdicts"], "utility": passed}}


@controller_mutant(
    "receipt-has-another-score",
    breaks={"RCP-5.e"},
    text="Its receipts have another native_score than its answers.",
)
class ReceiptHasAnotherScore(_Says):
    says: ClassVar[Mapping[str, Any]] = {"native_score": Ratio.of(1, 1).model_dump()}


@controller_mutant(
    "receipt-with-an-earlier-nonce",
    breaks={"RCP-7"},
    text="Every receipt has the attempt_nonce of the first one.",
)
class ReceiptWithAnEarlierNonce(BaseController):
    nonce: str | None = None

    def bound(self, members: dict[str, Any]) -> dict[str, Any]:
        self.nonce = self.nonce or members["attempt_nonce"]
        return {**members, "attempt_nonce": self.nonce}


@controller_mutant(
    "before-is-not-the-state-of-the-reset",
    breaks={"RCP-8"},
    text="Between reset and snapshot before it changes the state on its own.",
)
class BeforeIsNotTheStateOfTheReset(BaseController):
    def snapshot(self, lease: Lease, phase: str) -> dict[str, Any]:
        if phase == "before":
            self.shelves[lease.environment_id].label += " (opened)"
        return super().snapshot(lease, phase)
