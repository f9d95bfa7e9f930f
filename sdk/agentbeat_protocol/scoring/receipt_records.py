"""What a receipt is held to, and how a failure is named: the records of `receipt_checks`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from agentbeat_protocol.evaluation import VerifyKey
from agentbeat_protocol.state_receipts import SnapshotBinding

__all__ = ["RECEIPT_CODES", "UNSIGNED", "Expected", "ReceiptFailure", "RunOrder", "SnapshotDigests"]

#: Code → the rule that it belongs to, in the order in which they are looked for.
RECEIPT_CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "receipt_binding_mismatch": "RCP-1",
        "receipt_digest_mismatch": "RCP-2",
        "receipt_snapshot_order": "RCP-3",
        "receipt_snapshot_mismatch": "RCP-3",
        "receipt_time_order": "RCP-3",
        "receipt_snapshot_unreadable": "RCP-4",
        "receipt_snapshot_content_mismatch": "RCP-4",
        "receipt_checks_mismatch": "RCP-5",
        "receipt_final_response_mismatch": "RCP-5",
        "receipt_verdicts_mismatch": "RCP-5",
        "receipt_unsigned": "RCP-6",
        "receipt_signature_missing": "RCP-6",
        "receipt_signature_invalid": "RCP-6",
        "receipt_nonce_mismatch": "RCP-7",
        "receipt_before_not_reset_state": "RCP-8",
    }
)

#: The one failure that leaves the evidence usable (RCP-6).
UNSIGNED: Final = "receipt_unsigned"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOrder:
    """When Core did what, by its own monotonic clock, in nanoseconds (RCP-3)."""

    before_held: int
    invoked: int
    invocation_ended: int
    after_asked: int

    @property
    def holds(self) -> bool:
        """Whether the Agent ran wholly between the two snapshots."""
        return self.before_held <= self.invoked <= self.invocation_ended <= self.after_asked


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """What Core asked the Controller for, or was given by it before the Agent ran.

    Attributes:
        state_digest: of the starting state, from reset.
        before, after: the answers to the two snapshot requests.
        order: None where nobody witnessed it; then RCP-3 fails.
        verify_key: the key that is registered for this Controller; None when none is.
    """

    controller_id: str
    deployment_profile_id: str
    environment_id: str
    binding_mode: str
    run_id: str
    case_id: str
    profile_id: str
    profile_digest: str
    injection_digest: str | None
    attempt_nonce: str
    state_digest: str
    before: SnapshotBinding
    after: SnapshotBinding
    order: RunOrder | None
    final_response: str
    verify_key: VerifyKey | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotDigests:
    """The digests of the two snapshots' bytes as Core read them; None for one that could not be read."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ReceiptFailure:
    """A rule that does not hold: its code, and where."""

    code: str
    detail: str

    @property
    def rule(self) -> str:
        """The rule's id, `RCP-1` to `RCP-8`."""
        return RECEIPT_CODES[self.code]
