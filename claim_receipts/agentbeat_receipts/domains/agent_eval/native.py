"""The State Controller's native verdict, from its signed receipt (F): the rules RCP-1 to RCP-8 once more.

What the receipt must be bound to comes from the committed side: run id from the ticket, case and profile from
the committed case, Controller and public key from the arm's Agent. Core's own part, when it asked for what,
and what the snapshots' bytes hashed to, is recorded; everything else is signed by the Controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from agentbeat_protocol import ResetAnswer, SnapshotAnswer, VerifyAnswer, read_json
from agentbeat_protocol.evaluation import PinnedProfile, StateReport
from agentbeat_protocol.models import validated
from agentbeat_protocol.scoring import Expected, RunOrder, SnapshotDigests, receipt_failures, state_report
from agentbeat_protocol.state_receipts import SnapshotBinding
from agentbeat_receipts.claims import Contradiction, Fault
from agentbeat_receipts.domains.agent_eval.materials import Controller, Model, StateMaterial
from agentbeat_receipts.domains.agent_eval.readings import decoded, reading

__all__ = ["NativeContext", "native_report", "read_verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeContext:
    """What the word of a State Controller is held to.

    Args:
        model: the Agent under test, with its Controller.
        pinned: the Controller's profile of the case.
        reset: the answer to reset, and the attempt's nonce.
        final_response: the Agent's answer.
    """

    run_id: str
    case_id: str
    model: Model
    controller: Controller
    pinned: PinnedProfile
    reset: ResetAnswer
    nonce: str
    final_response: str


def native_report(state: StateMaterial, context: NativeContext) -> StateReport:
    """The Controller's word with the verdict on its receipt, as scoring takes it.

    Args:
        state: one without a reason.

    Raises:
        Contradiction: evidence_malformed.
    """
    if state.verify is None or state.before is None or state.after is None or state.order is None:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "state: neither all answers nor a reason")
    answer, members = read_verify(state.verify)
    before, after = _snapshot(state.before, "before"), _snapshot(state.after, "after")
    expected = Expected(
        controller_id=context.controller.controller_id,
        deployment_profile_id=context.model.deployment_profile_id,
        environment_id=context.reset.environment_id,
        binding_mode=context.model.environment_binding_mode,
        run_id=context.run_id,
        case_id=context.case_id,
        profile_id=context.pinned.profile_id,
        profile_digest=context.pinned.profile_digest,
        injection_digest=context.reset.injection_digest,
        attempt_nonce=context.nonce,
        state_digest=context.reset.state_digest,
        before=before,
        after=after,
        order=RunOrder(
            before_held=state.order[0],
            invoked=state.order[1],
            invocation_ended=state.order[2],
            after_asked=state.order[3],
        ),
        final_response=context.final_response,
        verify_key=context.controller.verify_key,
    )
    read = SnapshotDigests(before=state.read_before, after=state.read_after)
    failures = receipt_failures(answer, members, expected=expected, read=read, verifies=_verifies)
    return state_report(answer, members, failures, verify_key=context.controller.verify_key)


def read_verify(text: str) -> tuple[VerifyAnswer, Mapping[str, Any]]:
    """A verify answer, and the members that were received.

    Raises:
        Contradiction: evidence_malformed.
    """
    with reading("verify answer"):
        value = read_json(decoded(text))
        answer = validated(VerifyAnswer, value)
    return answer, cast(dict[str, Any], value)


def _snapshot(text: str, phase: str) -> SnapshotBinding:
    with reading(f"snapshot {phase}"):
        answer = validated(SnapshotAnswer, read_json(decoded(text)))
    if answer.phase != phase:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, f"snapshot {phase}: of another phase")
    return SnapshotBinding(ref=answer.snapshot_ref, digest=answer.digest, taken_at=answer.taken_at)


def _verifies(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True
