"""Whether a receipt still says what was signed, about what the database holds now.

Core judges a receipt by its own records (RCP-1 to RCP-8). Here somebody looks at the Controller's own
database, so each finding holds two things of it against each other: the digest against the members, the
signature against the key, the bound digests against the snapshots and the checks.

Pure: no key is looked for and nothing is read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass

from agentbeat_controller.receipts import checks_digest, signature_holds
from agentbeat_controller.showing.reading import RunRecord
from agentbeat_controller.store import Snapshot
from agentbeat_protocol import StateReceipt, digest_bytes, receipt_digest
from agentbeat_protocol.state_receipts import SnapshotBinding

__all__ = ["Finding", "key_id_of", "receipt_findings"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at: `holds` None could not be."""

    name: str
    holds: bool | None
    words: str


def key_id_of(verify_key: str) -> str:
    """The name that the Controller gives to the key of this `verify_key`.

    Raises:
        ValueError: not 32 bytes in base64url.
    """
    try:
        raw = base64.b64decode(verify_key + "=" * (-len(verify_key) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != 32:
        raise ValueError("a verify key is 32 bytes in base64url")
    return "ed25519-" + hashlib.sha256(raw).hexdigest()[:16]


def receipt_findings(run: RunRecord, *, verify_key: str | None) -> tuple[Finding, ...]:
    """What holds of a run's receipt; nothing where it has none.

    Args:
        verify_key: the Controller's public key; None leaves the signature unlooked at.
    """
    receipt, verified = run.receipt, run.verified
    if receipt is None or verified is None:
        return ()
    whole = receipt_digest(receipt.model_dump(mode="json")) == receipt.receipt_digest
    answered = (receipt, receipt.verdicts, receipt.native_score)
    return (
        _finding("digest", whole, "the digest is that of the receipt", "the digest is another receipt's"),
        _signature(receipt, verify_key),
        _snapshot("before", run.before, receipt.before),
        _snapshot("after", run.after, receipt.after),
        _finding(
            "checks",
            checks_digest(verified.checks) == receipt.checks_digest,
            "the checks are those that the receipt binds",
            "the checks are not those that the receipt binds",
        ),
        _finding(
            "answer",
            (verified.receipt, verified.verdicts, verified.native_score) == answered,
            "verify answered with this receipt and its verdicts",
            "verify answered with another receipt or other verdicts",
        ),
        _finding(
            "run",
            _of_lease(run, receipt),
            "it speaks of this run, profile and injection",
            "it speaks of another run, profile or injection",
        ),
    )


def _finding(name: str, holds: bool, good: str, bad: str) -> Finding:
    return Finding(name=name, holds=holds, words=good if holds else bad)


def _signature(receipt: StateReceipt, verify_key: str | None) -> Finding:
    signature = receipt.signature
    if signature is None:
        return Finding(name="signature", holds=None, words="the receipt is not signed")
    if verify_key is None:
        words = f"signed with {signature.key_id}; no key to look at the signature with"
        return Finding(name="signature", holds=None, words=words)
    if signature_holds(receipt, verify_key):
        return Finding(name="signature", holds=True, words=f"the signature of {signature.key_id} holds")
    own = key_id_of(verify_key)
    why = "" if own == signature.key_id else f": the key is {own}"
    return Finding(
        name="signature", holds=False, words=f"the signature of {signature.key_id} does not hold{why}"
    )


def _snapshot(phase: str, kept: Snapshot | None, bound: SnapshotBinding) -> Finding:
    holds = kept is not None and (
        (kept.snapshot_ref, digest_bytes(kept.content)) == (bound.ref, bound.digest)
    )
    return _finding(
        phase,
        holds,
        f"the snapshot {phase} hashes to the digest that the receipt binds",
        f"the snapshot {phase} is not the one that the receipt binds",
    )


def _of_lease(run: RunRecord, receipt: StateReceipt) -> bool:
    names = (
        "run_id",
        "case_id",
        "profile_id",
        "profile_digest",
        "deployment_profile_id",
        "binding_mode",
        "environment_id",
        "attempt_nonce",
        "injection_digest",
    )
    return all(getattr(run.lease, name) == getattr(receipt, name) for name in names)
