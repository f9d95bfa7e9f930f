"""What Core says to a State Controller: reset, snapshots, verify, renew, release (spec 2).

Every step may be repeated with the same bytes (CTL-2), so a broken connection or a 503 is tried again, a few
times and within the step's deadline. `environment_busy` is waited for as long as that deadline allows.

An answer is held to its request: run, case and profile, the lease, the phase, and the digest of the planted
text. One that does not fit is `controller_contract_failed`, before anything is built on it.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeVar

from agentbeat_core.clients.exchange import FaultKind, Peer, Reply, TransportError
from agentbeat_core.credentials import Redactor
from agentbeat_core.documents import keep
from agentbeat_core.failures import ControllerError
from agentbeat_core.plans import ControllerPlan
from agentbeat_core.recordings import StateRecording
from agentbeat_protocol import (
    CONTROL_PATH,
    MAX_EVIDENCE_BYTES,
    ControllerMessage,
    Instant,
    MeaningError,
    ProtocolError,
    ReleaseAnswer,
    ReleaseRequest,
    RenewAnswer,
    RenewRequest,
    ResetAnswer,
    ResetRequest,
    SnapshotAnswer,
    SnapshotReference,
    SnapshotRequest,
    VerifyAnswer,
    VerifyRequest,
    digest,
    read_controller_answer,
    read_json,
)
from agentbeat_protocol.controller import Phase
from agentbeat_protocol.evaluation import DocumentKind

__all__ = ["ControllerClient", "Verified"]

AnswerT = TypeVar("AnswerT", bound=ControllerMessage)

#: The pauses between tries of a step that got no answer, in seconds.
_PAUSES: Final = (0.1, 0.4)
#: Between tries of a reset while another run holds the environment, in seconds.
_BUSY_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 5.0

_FAILURE_OF: Final[dict[FaultKind, str]] = {
    "no_connection": "controller_unavailable",
    "connection_lost": "controller_unavailable",
    "timeout": "controller_timeout",
}


#: The steps whose answers are kept when they are refused, and as what.
_KEPT_AS: Final[dict[str, DocumentKind]] = {
    "reset": "state_reset",
    "renew": "state_renew",
    "snapshot": "state_snapshot",
    "verify": "state_verify",
}
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """A verify answer, and the bytes that it came in."""

    answer: VerifyAnswer
    raw: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class ControllerClient:
    """A State Controller, as one run speaks to it.

    Attributes:
        seconds: the deadline of each step, its repetitions included.
    """

    peer: Peer
    plan: ControllerPlan
    deployment_profile_id: str
    run_id: str
    case_id: str
    seconds: float
    redactor: Redactor
    recording: StateRecording = field(default_factory=StateRecording)

    async def reset(
        self, *, attempt_nonce: str, snapshots: bool, seconds: float | None = None
    ) -> ResetAnswer:
        """Prepare the starting state and lease it to this run.

        Args:
            attempt_nonce: 128 random bits as hex, of this attempt alone.
            snapshots: whether snapshots will be asked for.

        Raises:
            ControllerError: there is no lease, or none that is known.
        """
        request = ResetRequest(
            **self._common(),
            deployment_profile_id=self.deployment_profile_id,
            profile_digest=self.plan.profile.profile_digest,
            binding_mode=self.plan.binding_mode,
            attempt_nonce=attempt_nonce,
            snapshots=snapshots,
            injection=self.plan.injection,
        )
        answer, raw = await self._post("reset", request, ResetAnswer, seconds=seconds)
        injection = self.plan.injection
        expected = None if injection is None else digest(injection.model_dump(mode="json"))
        self._hold("reset", raw, "/injection_digest", answer.injection_digest, expected, rule="RCP-1")
        self.recording.reset, self.recording.nonce = raw, attempt_nonce
        return answer

    async def renew(self, lease_id: str, expires_at: Instant) -> RenewAnswer:
        """Move the lease's end to `expires_at`, an instant of the Controller's own clock."""
        request = RenewRequest(**self._common(), lease_id=lease_id, expires_at=expires_at)
        answer, raw = await self._post("renew", request, RenewAnswer)
        self._hold("renew", raw, "/lease_id", answer.lease_id, lease_id, rule="CTL-2")
        return answer

    async def snapshot(self, lease_id: str, phase: Phase) -> SnapshotAnswer:
        """Have the environment's whole state kept."""
        request = SnapshotRequest(**self._common(), lease_id=lease_id, phase=phase)
        answer, raw = await self._post("snapshot", request, SnapshotAnswer)
        self._hold("snapshot", raw, "/phase", answer.phase, phase, rule="CTL-1")
        if phase == "before":
            self.recording.before = raw
        else:
            self.recording.after = raw
        return answer

    async def read_snapshot(self, ref: str) -> bytes:
        """The bytes that a snapshot's digest is over."""
        reply = await self._exchange("GET", f"snapshots/{ref}", None, self.seconds)
        if reply.status != 200:
            _refused("read a snapshot", reply)
        return reply.body

    async def verify(
        self, lease_id: str, *, before: SnapshotAnswer, after: SnapshotAnswer, final_response: str
    ) -> Verified:
        """Have the run judged by its two snapshots."""
        request = VerifyRequest(
            **self._common(),
            lease_id=lease_id,
            before=SnapshotReference(ref=before.snapshot_ref, digest=before.digest),
            after=SnapshotReference(ref=after.snapshot_ref, digest=after.digest),
            final_response=final_response,
        )
        answer, raw = await self._post("verify", request, VerifyAnswer)
        self.recording.verify = raw
        return Verified(answer=answer, raw=raw)

    async def release(self, lease_id: str, *, seconds: float | None = None) -> None:
        """End the lease."""
        request = ReleaseRequest(**self._common(), lease_id=lease_id)
        await self._post("release", request, ReleaseAnswer, seconds=seconds)

    # --- one step ---------------------------------------------------------------------------------------

    def _common(self) -> dict[str, Any]:
        return {
            "schema_version": "state-controller-v1",
            "run_id": self.run_id,
            "case_id": self.case_id,
            "profile_id": self.plan.profile.profile_id,
        }

    async def _post(
        self, step: str, request: ControllerMessage, model: type[AnswerT], *, seconds: float | None = None
    ) -> tuple[AnswerT, bytes]:
        body = request.model_dump_json(exclude_none=True).encode()
        reply = await self._exchange("POST", step, body, seconds or self.seconds)
        if reply.status != 200:
            _refused(step, reply)
        try:
            return read_controller_answer(reply.body, model, request=request), reply.body
        except ProtocolError as error:
            raise self._contract_failed(step, reply.body, error) from None

    async def _exchange(self, method: str, route: str, body: bytes | None, seconds: float) -> Reply:
        """Send a step until it is answered, the tries are used up, or its deadline has passed."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        pauses = iter(_PAUSES)
        uncertain = False
        while True:
            remaining = max(deadline - clock(), 0.001)
            try:
                reply = await self.peer.send(
                    method,
                    CONTROL_PATH + route,
                    seconds=remaining,
                    max_bytes=MAX_EVIDENCE_BYTES,
                    content=body,
                )
            except TransportError as error:
                uncertain = uncertain or error.started
                pause = next(pauses, None) if error.kind in ("no_connection", "connection_lost") else None
                if pause is None or clock() + pause >= deadline:
                    raise _fault(route, error, uncertain=uncertain) from None
            else:
                pause = _pause_after(reply, next(pauses, None) if reply.status == 503 else None)
                if pause is None or clock() + pause >= deadline:
                    return reply
            await asyncio.sleep(pause)

    def _hold(self, step: str, raw: bytes, path: str, got: object, expected: object, *, rule: str) -> None:
        if got != expected:
            error = MeaningError(rule, path=path, got="another value", expected="what the request asked for")
            raise self._contract_failed(step, raw, error)

    def _contract_failed(self, step: str, raw: bytes, error: ProtocolError) -> ControllerError:
        kind = _KEPT_AS.get(step)
        failed = ControllerError(
            "controller_contract_failed",
            f"{step}: {error}",
            rule=error.rule,
            path=error.path,
            document=kind and keep(kind, raw, redactor=self.redactor, refused=error),
        )
        failed.uncertain = True
        failed.lease_id = _lease_in(raw) if step == "reset" else None
        return failed


def _lease_in(raw: bytes) -> str | None:
    """The lease that a refused answer names; None when it names none that could be asked to end."""
    try:
        answer = read_json(raw)
    except ProtocolError:
        return None
    lease_id = answer.get("lease_id") if isinstance(answer, dict) else None
    return lease_id if isinstance(lease_id, str) and _TOKEN.fullmatch(lease_id) else None


def _pause_after(reply: Reply, unavailable: float | None) -> float | None:
    """How long to wait before the same step is worth another try; None when its answer stands."""
    if reply.status == 409 and reply.error_code == "environment_busy":
        asked = reply.retry_after()
        return _BUSY_PAUSE if asked is None else min(max(asked, _BUSY_PAUSE), _LONGEST_PAUSE)
    return unavailable


def _refused(step: str, reply: Reply) -> NoReturn:
    said = reply.error_code
    unavailable = reply.status >= 500
    code = "controller_unavailable" if unavailable else "controller_refused"
    message = f"{step}: the State Controller answered status {reply.status}" + (f", {said}" if said else "")
    failed = ControllerError("environment_busy" if said == "environment_busy" else code, message)
    # A refusal changes nothing (CTL-1); a fault of the server may have come after the change.
    failed.uncertain = unavailable
    raise failed


def _fault(route: str, error: TransportError, *, uncertain: bool) -> ControllerError:
    step = route.partition("/")[0]
    code = _FAILURE_OF.get(error.kind, "controller_contract_failed")
    failed = ControllerError(code, f"{step}: {error.detail}")
    failed.uncertain = uncertain
    return failed
