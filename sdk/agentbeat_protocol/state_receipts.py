"""`state-receipt-v1`: the State Controller's digest-bound word on one run.

The digest covers the canonical JSON of every member but `receipt_digest` and `signature`; the signature
covers the ASCII bytes `state-receipt-v1`, a newline, and that digest. Signing and verifying need a key
library and live with those who hold keys; what is signed is fixed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import StringConstraints

from agentbeat_protocol.canonical import digest
from agentbeat_protocol.identifiers import CaseId, EntityId, RunId
from agentbeat_protocol.models import At, Digest, Name, Ratio, Strict
from agentbeat_protocol.verdicts import Verdicts

__all__ = [
    "AttemptNonce",
    "BindingMode",
    "Signature",
    "SnapshotBinding",
    "StateReceipt",
    "Token",
    "receipt_digest",
    "signing_payload",
]

BindingMode = Literal["deployment_static", "catalog"]
#: A lease, environment, snapshot or receipt id that the Controller made.
Token = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
#: 128 random bits of one attempt, as 32 lower-case hex digits.
AttemptNonce = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]

#: The members that the digest does not cover.
_OUTSIDE: Final = frozenset({"receipt_digest", "signature"})


class SnapshotBinding(Strict):
    """A snapshot as the receipt binds it."""

    ref: Token
    digest: Digest
    taken_at: At


class Signature(Strict):
    """An Ed25519 signature over `signing_payload`."""

    algorithm: Literal["ed25519"]
    key_id: Name
    #: base64url without padding, 64 bytes.
    value: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{86}$")]


class StateReceipt(Strict):
    """What the Controller says of one run, bound to everything it was asked for."""

    schema_version: Literal["state-receipt-v1"]
    receipt_id: Token
    controller_id: EntityId
    deployment_profile_id: Name
    run_id: RunId
    case_id: CaseId
    attempt_nonce: AttemptNonce
    profile_id: EntityId
    profile_digest: Digest
    binding_mode: BindingMode
    environment_id: Token
    injection_digest: Digest | None
    before: SnapshotBinding
    after: SnapshotBinding
    final_response_digest: Digest
    verdicts: Verdicts
    checks_digest: Digest
    native_score: Ratio | None
    issued_at: At
    receipt_digest: Digest
    signature: Signature | None = None


def receipt_digest(members: Mapping[str, Any]) -> str:
    """The digest that a receipt of these JSON members must carry (RCP-2)."""
    return digest({name: value for name, value in members.items() if name not in _OUTSIDE})


def signing_payload(receipt_digest: str) -> bytes:
    """The bytes that are signed for a receipt of this digest (RCP-6)."""
    return b"state-receipt-v1\n" + receipt_digest.encode("ascii")
