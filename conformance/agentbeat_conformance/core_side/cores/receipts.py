"""RCP-1 to RCP-8 for the small Core: which of them a verify answer breaks."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from agentbeat_protocol import (
    ResetAnswer,
    ResetRequest,
    SnapshotAnswer,
    VerifyAnswer,
    digest,
    digest_bytes,
    digest_text,
    native_score,
    receipt_digest,
    signing_payload,
    verdicts_follow,
)
from agentbeat_protocol.controller import Phase
from agentbeat_protocol.evaluation import RegisteredController

__all__ = ["Held", "broken_rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a Core holds of a run, beside the verify answer."""

    registered: RegisteredController
    asked: ResetRequest
    reset: ResetAnswer
    before: SnapshotAnswer
    after: SnapshotAnswer
    read: Mapping[Phase, bytes | None]
    final_response: str


def broken_rules(answer: VerifyAnswer, members: dict[str, Any], held: Held) -> frozenset[str]:
    """The rules that the receipt breaks; `unsigned` where no key is registered."""
    return frozenset(_broken(answer, members, held))


def _broken(answer: VerifyAnswer, members: dict[str, Any], held: Held) -> Iterator[str]:
    receipt, asked = answer.receipt, held.asked
    bound = (
        (receipt.controller_id, held.registered.controller_id),
        (receipt.deployment_profile_id, asked.deployment_profile_id),
        (receipt.environment_id, held.reset.environment_id),
        (receipt.binding_mode, asked.binding_mode),
        (receipt.run_id, asked.run_id),
        (receipt.case_id, asked.case_id),
        (receipt.profile_id, asked.profile_id),
        (receipt.profile_digest, asked.profile_digest),
        (receipt.injection_digest, held.reset.injection_digest),
    )
    if any(one != other for one, other in bound):
        yield "RCP-1"
    if receipt_digest(members["receipt"]) != receipt.receipt_digest:
        yield "RCP-2"
    for binding, given in ((receipt.before, held.before), (receipt.after, held.after)):
        if (binding.ref, binding.digest, binding.taken_at) != (
            given.snapshot_ref,
            given.digest,
            given.taken_at,
        ):
            yield "RCP-3"
    if not receipt.before.taken_at <= receipt.after.taken_at <= receipt.issued_at:
        yield "RCP-3"
    for given in (held.before, held.after):
        raw = held.read[given.phase]
        if raw is None or digest_bytes(raw) != given.digest:
            yield "RCP-4"
    if _consequences_fail(answer, members, held):
        yield "RCP-5"
    yield from _signature(answer, held)
    if receipt.attempt_nonce != asked.attempt_nonce:
        yield "RCP-7"
    if receipt.before.digest != held.reset.state_digest:
        yield "RCP-8"


def _consequences_fail(answer: VerifyAnswer, members: dict[str, Any], held: Held) -> bool:
    receipt = answer.receipt
    return (
        digest(members["checks"]) != receipt.checks_digest
        or digest_text(held.final_response) != receipt.final_response_digest
        or answer.verdicts != receipt.verdicts
        or not verdicts_follow(receipt.verdicts, answer.checks)
        or answer.native_score != receipt.native_score
        or native_score(answer.checks) != receipt.native_score
    )


def _signature(answer: VerifyAnswer, held: Held) -> Iterator[str]:
    key, signature = held.registered.verify_key, answer.receipt.signature
    if key is None:
        yield "unsigned"
        return
    if signature is None or signature.key_id != key.key_id:
        yield "RCP-6"
        return
    public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key.public_key + "="))
    raw = base64.urlsafe_b64decode(signature.value + "==")
    try:
        public.verify(raw, signing_payload(answer.receipt.receipt_digest))
    except InvalidSignature:
        yield "RCP-6"
