"""Core's check of a State Controller's receipt: the rules (`agentbeat_protocol.scoring`) with bytes and keys.

failures = check_receipt(answer, members, expected=expected, snapshots=snapshots)
report = state_report(answer, members, failures, verify_key=key)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from agentbeat_protocol import VerifyAnswer, digest_bytes
from agentbeat_protocol.scoring import Expected, ReceiptFailure, SnapshotDigests, receipt_failures

__all__ = ["SnapshotBytes", "check_receipt"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotBytes:
    """The two snapshots as Core read them; None for one that could not be read."""

    before: bytes | None
    after: bytes | None

    @property
    def digests(self) -> SnapshotDigests:
        """What a receipt is held to."""
        return SnapshotDigests(before=_digest(self.before), after=_digest(self.after))


def check_receipt(
    answer: VerifyAnswer, members: Mapping[str, Any], *, expected: Expected, snapshots: SnapshotBytes
) -> tuple[ReceiptFailure, ...]:
    """Every rule that the receipt breaks, in the order of the rules.

    Args:
        answer: the verify answer, its shape checked.
        members: the same answer as the JSON that was received.
    """
    return receipt_failures(answer, members, expected=expected, read=snapshots.digests, verifies=_verifies)


def _digest(raw: bytes | None) -> str | None:
    return None if raw is None else digest_bytes(raw)


def _verifies(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True
