"""What the base State Controller keeps of a run, and the receipt that it gives for it."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from agentbeat_protocol import (
    ResetRequest,
    VerifyRequest,
    digest,
    digest_text,
    receipt_digest,
    signing_payload,
)

__all__ = ["Lease", "Recorded", "Signer", "Taken", "receipt_members"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A 200 answer and the request that it was given for."""

    request: Mapping[str, Any]
    body: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot."""

    ref: str
    digest: str
    taken_at: str


@dataclass(slots=True, kw_only=True)
class Lease:
    """One run's hold on one environment.

    Attributes:
        stage: the last step: `reset`, `before`, `after`, `verify`.
        expires_at: nanoseconds since 1970.
        answers: the recorded answer of each phase.
        taken: the snapshots by phase.
    """

    request: ResetRequest
    environment_id: str
    injection_digest: str | None
    state_digest: str
    expires_at: int
    lease_id: str = field(default_factory=lambda: f"lease-{secrets.token_hex(8)}")
    stage: str = "reset"
    released: bool = False
    answers: dict[str, Recorded] = field(default_factory=dict)
    taken: dict[str, Taken] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """CTL-12: whether business calls are let in, if the lease has not expired."""
        return not self.released and (self.stage == "before" if self.request.snapshots else True)


class Signer:
    """An Ed25519 key."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()
        self.key_id = f"key-{secrets.token_hex(4)}"

    @property
    def verify_key(self) -> str:
        """The public key as a registry holds it."""
        return _base64url(self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, payload: bytes) -> dict[str, str]:
        """The receipt's member `signature` over these bytes."""
        return {"algorithm": "ed25519", "key_id": self.key_id, "value": _base64url(self._key.sign(payload))}

    def seal(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """The receipt of these members: its digest and signature added."""
        found = receipt_digest(members)
        return {**members, "receipt_digest": found, "signature": self.sign(signing_payload(found))}


def receipt_members(
    lease: Lease,
    request: VerifyRequest,
    *,
    controller_id: str,
    checks: Sequence[Mapping[str, Any]],
    verdicts: Mapping[str, Any],
    score: Mapping[str, Any] | None,
    issued_at: str,
) -> dict[str, Any]:
    """Every member of a receipt but its digest and its signature."""
    asked = lease.request
    return {
        "schema_version": "state-receipt-v1",
        "receipt_id": f"receipt-{secrets.token_hex(8)}",
        "controller_id": controller_id,
        "deployment_profile_id": asked.deployment_profile_id,
        "run_id": asked.run_id,
        "case_id": asked.case_id,
        "attempt_nonce": asked.attempt_nonce,
        "profile_id": asked.profile_id,
        "profile_digest": asked.profile_digest,
        "binding_mode": asked.binding_mode,
        "environment_id": lease.environment_id,
        "injection_digest": lease.injection_digest,
        "before": _binding(lease.taken["before"]),
        "after": _binding(lease.taken["after"]),
        "final_response_digest": digest_text(request.final_response),
        "verdicts": dict(verdicts),
        "checks_digest": digest(list(checks)),
        "native_score": score,
        "issued_at": issued_at,
    }


def _binding(taken: Taken) -> dict[str, str]:
    return {"ref": taken.ref, "digest": taken.digest, "taken_at": taken.taken_at}


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
