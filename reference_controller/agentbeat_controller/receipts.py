"""`state-receipt-v1`: put together from what the lease bound and the checks found, digested and signed.

    signer = ReceiptSigner.generate()
    receipt = build_receipt(lease, ..., signer=signer)
    assert signature_holds(receipt, signer.verify_key)

Ed25519 signs the same bytes with the same key always alike, so a receipt has one form.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from agentbeat_controller.leases import Lease
from agentbeat_controller.store import Snapshot
from agentbeat_protocol import (
    Check,
    Instant,
    StateReceipt,
    Verdicts,
    digest,
    digest_text,
    native_score,
    receipt_digest,
    signing_payload,
)
from agentbeat_protocol.state_receipts import Signature

__all__ = ["Findings", "ReceiptSigner", "build_receipt", "signature_holds"]


class ReceiptSigner:
    """An Ed25519 key that signs receipts. Its `repr` shows the key id and nothing else."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def __repr__(self) -> str:
        return f"ReceiptSigner({self.key_id})"

    @classmethod
    def generate(cls) -> ReceiptSigner:
        """A signer with a new random key."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: bytes) -> ReceiptSigner:
        """The signer whose key `to_pem` wrote.

        Raises:
            ValueError: no Ed25519 private key in PEM. The message does not repeat the bytes.
        """
        try:
            key = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError):
            raise ValueError("expected a private key in PEM, without a pass phrase") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError("expected an Ed25519 key")
        return cls(key)

    def to_pem(self) -> bytes:
        """The private key: PKCS#8 in PEM, not encrypted. To be kept by its owner only."""
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    @property
    def verify_key(self) -> str:
        """The public key: its 32 bytes in base64url without padding, as a registry holds it."""
        return _base64url(self._public)

    @property
    def key_id(self) -> str:
        """A short name for the key: `ed25519-` and 16 hex digits of SHA-256 over the public key."""
        return "ed25519-" + hashlib.sha256(self._public).hexdigest()[:16]

    def sign(self, receipt_digest: str) -> Signature:
        """The signature of a receipt with this digest (RCP-6)."""
        value = self._key.sign(signing_payload(receipt_digest))
        return Signature(algorithm="ed25519", key_id=self.key_id, value=_base64url(value))


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What verify found: the checks, their digest, and the verdicts that follow from them."""

    checks: tuple[Check, ...]
    checks_digest: str
    verdicts: Verdicts


def build_receipt(
    lease: Lease,
    *,
    controller_id: str,
    receipt_id: str,
    before: Snapshot,
    after: Snapshot,
    final_response: str,
    findings: Findings,
    issued_at: Instant,
    signer: ReceiptSigner | None,
) -> StateReceipt:
    """The Controller's word on one run, bound to everything that it was asked for.

    Args:
        signer: None leaves the receipt unsigned (RCP-6: usable, never official).
    """
    score = native_score(findings.checks)
    members: dict[str, Any] = {
        "schema_version": "state-receipt-v1",
        "receipt_id": receipt_id,
        "controller_id": controller_id,
        "deployment_profile_id": lease.deployment_profile_id,
        "run_id": lease.run_id,
        "case_id": lease.case_id,
        "attempt_nonce": lease.attempt_nonce,
        "profile_id": lease.profile_id,
        "profile_digest": lease.profile_digest,
        "binding_mode": lease.binding_mode,
        "environment_id": lease.environment_id,
        "injection_digest": lease.injection_digest,
        "before": _binding(before),
        "after": _binding(after),
        "final_response_digest": digest_text(final_response),
        "verdicts": findings.verdicts.model_dump(mode="json"),
        "checks_digest": findings.checks_digest,
        "native_score": None if score is None else score.model_dump(mode="json"),
        "issued_at": issued_at.text,
    }
    members["receipt_digest"] = receipt_digest(members)
    signature = None if signer is None else signer.sign(members["receipt_digest"])
    return StateReceipt.model_validate({**members, "signature": signature})


def checks_digest(checks: Sequence[Check]) -> str:
    """The digest over the canonical JSON of the checks, as verify answers them (RCP-5)."""
    return digest([check.model_dump(mode="json") for check in checks])


def signature_holds(receipt: StateReceipt, verify_key: str) -> bool:
    """Whether `receipt` is what the owner of `verify_key` signed: digest recomputed, signature verified.

    Args:
        verify_key: `ReceiptSigner.verify_key`.
    """
    members = receipt.model_dump(mode="json")
    if receipt.signature is None or receipt_digest(members) != receipt.receipt_digest:
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(_from_base64url(verify_key))
        key.verify(_from_base64url(receipt.signature.value), signing_payload(receipt.receipt_digest))
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def _binding(snapshot: Snapshot) -> dict[str, str]:
    taken_at = Instant.from_nanoseconds(snapshot.taken_at).text
    return {"ref": snapshot.snapshot_ref, "digest": snapshot.digest, "taken_at": taken_at}


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _from_base64url(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
