"""The State Controller's word on a run (L3): asked for at the right moments, and checked.

Before the Agent runs a failure ends the run: nothing has happened yet. Once it has run, a Controller that
fails costs the L3 channels, with the reason; what the Target gave still stands.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, cast

from agentbeat_core.clients import ControllerClient
from agentbeat_core.clients.controller_client import Verified
from agentbeat_core.documents import keep
from agentbeat_core.failures import ControllerError
from agentbeat_core.receipt_checks import SnapshotBytes, check_receipt
from agentbeat_core.runs.lease import Lease
from agentbeat_core.runs.timeline import Timeline
from agentbeat_protocol import SnapshotAnswer, digest_bytes, read_json
from agentbeat_protocol.evaluation import DocumentKind, KeptDocument, StateReport
from agentbeat_protocol.scoring import UNSIGNED, Expected, ReceiptFailure, RunOrder, state_report
from agentbeat_protocol.state_receipts import SnapshotBinding

__all__ = ["Judged", "StateWitness"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What came of verify: a report on the receipt, or the reason why there is none."""

    report: StateReport | None = None
    reason: str | None = None
    documents: tuple[KeptDocument, ...] = ()


class StateWitness:
    """Holds what RCP-1 to RCP-8 are checked against, from the before snapshot to the receipt."""

    def __init__(self, controller: ControllerClient, lease: Lease, timeline: Timeline) -> None:
        self._controller = controller
        self._lease = lease
        self._timeline = timeline
        self._before: SnapshotAnswer | None = None
        self._after: SnapshotAnswer | None = None
        self._moments: dict[str, int] = {}
        self._refused: Judged | None = None

    async def snapshot_before(self) -> None:
        """Have the state kept, and hold the answer, before anything is asked of the Agent.

        Raises:
            ControllerError: there is no such snapshot. The run ends here.
        """
        with self._timeline.phase("snapshot_before"):
            self._before = await self._controller.snapshot(self._lease.answer.lease_id, "before")
        self._moments["before_held"] = time.monotonic_ns()

    def mark(self, moment: Literal["invoked", "invocation_ended"]) -> None:
        """Note that the Agent is being invoked now, or that its invocation has ended."""
        self._moments[moment] = time.monotonic_ns()

    async def snapshot_after(self) -> None:
        """Have the state kept, now that the invocation has ended."""
        self._moments["after_asked"] = time.monotonic_ns()
        try:
            with self._timeline.phase("snapshot_after"):
                self._after = await self._controller.snapshot(self._lease.answer.lease_id, "after")
        except ControllerError as error:
            self._refused = _refused("snapshot_after", error)

    async def judge(self, final_response: str) -> Judged:
        """Have the run judged, and check the receipt."""
        if self._before is None or self._after is None:
            return self._refused or Judged(reason="snapshots_missing")
        before, after = self._before, self._after
        try:
            with self._timeline.phase("verify"):
                snapshots = SnapshotBytes(before=await self._read(before), after=await self._read(after))
                verified = await self._controller.verify(
                    self._lease.answer.lease_id, before=before, after=after, final_response=final_response
                )
        except ControllerError as error:
            return _refused("verify", error)
        return self._checked(verified, snapshots, self._expected(before, after, final_response))

    async def _read(self, snapshot: SnapshotAnswer) -> bytes | None:
        """The snapshot's bytes; None where they are not served, which RCP-4 then says."""
        try:
            return await self._controller.read_snapshot(snapshot.snapshot_ref)
        except ControllerError:
            return None

    def _checked(self, verified: Verified, snapshots: SnapshotBytes, expected: Expected) -> Judged:
        # The client has read these bytes as a verify answer, which is an object.
        members = cast(dict[str, Any], read_json(verified.raw))
        failures = check_receipt(verified.answer, members, expected=expected, snapshots=snapshots)
        self._record(snapshots, expected)
        report = state_report(verified.answer, members, failures, verify_key=expected.verify_key)
        refusing = tuple(failure for failure in failures if failure.code != UNSIGNED)
        documents = self._kept(verified.raw, snapshots, refusing, expected)
        return Judged(report=report, documents=documents)

    def _record(self, snapshots: SnapshotBytes, expected: Expected) -> None:
        read, order, recording = snapshots.digests, expected.order, self._controller.recording
        recording.read_before, recording.read_after = read.before, read.after
        if order is not None:
            recording.order = (order.before_held, order.invoked, order.invocation_ended, order.after_asked)

    def _kept(
        self,
        raw: bytes,
        snapshots: SnapshotBytes,
        failures: tuple[ReceiptFailure, ...],
        expected: Expected,
    ) -> tuple[KeptDocument, ...]:
        redactor = self._controller.redactor
        kept = [
            keep(
                "state_verify",
                raw,
                redactor=redactor,
                rule=failures[0].rule if failures else None,
                reason="; ".join(f"{failure.code}: {failure.detail}" for failure in failures) or None,
            )
        ]
        read: tuple[tuple[DocumentKind, bytes | None, SnapshotBinding], ...] = (
            ("snapshot_before", snapshots.before, expected.before),
            ("snapshot_after", snapshots.after, expected.after),
        )
        for kind, content, bound in read:
            if content is not None:
                reason = None if digest_bytes(content) == bound.digest else "its bytes have another digest"
                kept.append(keep(kind, content, redactor=redactor, rule=reason and "RCP-4", reason=reason))
        return tuple(kept)

    def _expected(self, before: SnapshotAnswer, after: SnapshotAnswer, final_response: str) -> Expected:
        plan, reset = self._controller.plan, self._lease.answer
        return Expected(
            controller_id=plan.controller_id,
            deployment_profile_id=self._controller.deployment_profile_id,
            environment_id=reset.environment_id,
            binding_mode=plan.binding_mode,
            run_id=self._controller.run_id,
            case_id=self._controller.case_id,
            profile_id=plan.profile.profile_id,
            profile_digest=plan.profile.profile_digest,
            injection_digest=reset.injection_digest,
            attempt_nonce=self._lease.attempt_nonce,
            state_digest=reset.state_digest,
            before=_binding(before),
            after=_binding(after),
            order=RunOrder(**self._moments),
            final_response=final_response,
            verify_key=plan.verify_key,
        )


def _refused(step: str, error: ControllerError) -> Judged:
    """No report, because of this step: the reason names the broken rule, or the step where there is none."""
    documents = () if error.document is None else (error.document,)
    return Judged(reason=f"{error.failure.code}: {error.failure.rule or step}", documents=documents)


def _binding(snapshot: SnapshotAnswer) -> SnapshotBinding:
    return SnapshotBinding(ref=snapshot.snapshot_ref, digest=snapshot.digest, taken_at=snapshot.taken_at)
