"""What the small Core says to a State Controller, and what it takes from one."""

from __future__ import annotations

import json
import secrets
from typing import Any, TypeVar

from agentbeat_conformance.core_side.cores.http import UnansweredError
from agentbeat_conformance.core_side.cores.preflight import Run
from agentbeat_conformance.core_side.cores.receipts import Held, broken_rules
from agentbeat_conformance.core_side.cores.wires import FailedError, Wires
from agentbeat_protocol import (
    CONTROL_PATH,
    MAX_EVIDENCE_BYTES,
    ControllerMessage,
    InvocationResponse,
    ProtocolError,
    ReleaseAnswer,
    ReleaseRequest,
    ResetAnswer,
    ResetRequest,
    SnapshotAnswer,
    SnapshotReference,
    SnapshotRequest,
    VerifyAnswer,
    VerifyRequest,
    read_controller_answer,
)
from agentbeat_protocol.controller import Phase

__all__ = ["Lease", "State", "StateSide"]

#: The checked word of a State Controller, the reason when there is none, and whether it is signed.
State = tuple[VerifyAnswer | None, str | None, bool]
#: A reset, and its answer.
Lease = tuple[ResetRequest, ResetAnswer]
AnswerT = TypeVar("AnswerT", bound=ControllerMessage)


class StateSide(Wires):
    """Reset, snapshots, verify, release."""

    async def reset(self, run: Run) -> Lease:
        """Prepare the environment."""
        request = ResetRequest(
            **run.common,
            deployment_profile_id=run.deployment_profile_id,
            profile_digest=run.profile_digest,
            binding_mode=run.binding_mode,
            attempt_nonce=self.nonce(),
            snapshots=run.tier == "L3",
        )
        return request, await self.step(run, "reset", request, ResetAnswer)

    def nonce(self) -> str:
        """128 random bits."""
        return secrets.token_hex(16)

    async def snapshot(self, run: Run, lease: Lease, phase: Phase) -> SnapshotAnswer:
        """Have the state kept."""
        request = SnapshotRequest(**run.common, lease_id=lease[1].lease_id, phase=phase)
        return await self.step(run, "snapshot", request, SnapshotAnswer)

    async def state(
        self,
        run: Run,
        lease: Lease,
        before: SnapshotAnswer,
        after: SnapshotAnswer | None,
        response: InvocationResponse,
    ) -> State:
        """The State Controller's word, its receipt checked; whether it is signed."""
        if after is None or run.controller is None or run.registered is None:
            return None, "no snapshot after", False
        read = {each.phase: await self.content(run, each) for each in (before, after)}
        request = VerifyRequest(
            **run.common,
            lease_id=lease[1].lease_id,
            before=SnapshotReference(ref=before.snapshot_ref, digest=before.digest),
            after=SnapshotReference(ref=after.snapshot_ref, digest=after.digest),
            final_response=response.final_response,
        )
        try:
            raw = await self.control(run, "POST", "verify", request.model_dump_json().encode())
            answer = read_controller_answer(raw, VerifyAnswer, request=request)
        except (FailedError, ProtocolError) as error:
            return None, f"verify: {error}", False
        held = Held(
            registered=run.registered,
            asked=lease[0],
            reset=lease[1],
            before=before,
            after=after,
            read=read,
            final_response=response.final_response,
        )
        broken = self.faults(answer, json.loads(raw), held)
        counts = self.counting(broken)
        signed = "unsigned" not in broken
        return (None, ", ".join(sorted(counts)), False) if counts else (answer, None, signed)

    def faults(self, answer: VerifyAnswer, members: dict[str, Any], held: Held) -> frozenset[str]:
        """The rules that the receipt breaks; `unsigned` where no key is registered."""
        return broken_rules(answer, members, held)

    def counting(self, broken: frozenset[str]) -> frozenset[str]:
        """Those of them that make the receipt unusable."""
        return broken - {"unsigned"}

    async def content(self, run: Run, snapshot: SnapshotAnswer) -> bytes | None:
        """A snapshot's bytes; None where they are not served."""
        try:
            return await self.control(run, "GET", f"snapshots/{snapshot.snapshot_ref}", None)
        except FailedError:
            return None

    async def released(self, run: Run, lease: Lease) -> None:
        """Give the environment back; it expires where that fails."""
        request = ReleaseRequest(**run.common, lease_id=lease[1].lease_id)
        try:
            await self.step(run, "release", request, ReleaseAnswer)
        except FailedError:
            return

    async def step(self, run: Run, step: str, request: ControllerMessage, model: type[AnswerT]) -> AnswerT:
        """One step, its answer held to its request."""
        raw = await self.control(run, "POST", step, request.model_dump_json(exclude_none=True).encode())
        try:
            return read_controller_answer(raw, model, request=request)
        except ProtocolError:
            raise FailedError("controller_contract_failed") from None

    async def control(self, run: Run, method: str, route: str, body: bytes | None) -> bytes:
        """The body of the control plane's 200."""
        if run.controller is None:
            raise FailedError("controller_unavailable")
        try:
            got = await self.asked(
                method,
                run.controller.base + CONTROL_PATH + route,
                run.controller.authorization,
                body,
                seconds=run.seconds["controller"],
                max_bytes=MAX_EVIDENCE_BYTES,
            )
        except UnansweredError as error:
            raise FailedError(f"controller_{error.why}") from None
        if got.status != 200:
            raise FailedError("controller_refused")
        return got.body
