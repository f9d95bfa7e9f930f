"""Does a State Controller's receipt hold? The rules RCP-1 to RCP-8, over what Core holds itself.

Pure: an answer, the digests of two snapshots as they were read and what Core asked for go in, the failures
come out. Every rule is looked at, so a reader sees all that is wrong; each failure has its own code:

    RCP-1  receipt_binding_mismatch             RCP-5  receipt_checks_mismatch
    RCP-2  receipt_digest_mismatch                     receipt_final_response_mismatch
    RCP-3  receipt_snapshot_order                      receipt_verdicts_mismatch
           receipt_snapshot_mismatch            RCP-6  receipt_unsigned
           receipt_time_order                          receipt_signature_missing
    RCP-4  receipt_snapshot_unreadable                 receipt_signature_invalid
           receipt_snapshot_content_mismatch    RCP-7  receipt_nonce_mismatch
                                                RCP-8  receipt_before_not_reset_state

`receipt_unsigned`, no key being registered, is the only one that leaves the evidence usable. With a key
registered a missing signature is `receipt_signature_missing`, and nothing is usable.

Who checks has a key library and this room has none, so the check of a signature is given (`SignatureCheck`).

    failures = receipt_failures(answer, members, expected=expected, read=read, verifies=verifies)
    report = state_report(answer, members, failures, verify_key=key)
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agentbeat_protocol import (
    CanonicalError,
    StateReceipt,
    VerifyAnswer,
    digest,
    digest_text,
    native_score,
    receipt_digest,
    signing_payload,
    verdicts_follow,
)
from agentbeat_protocol.evaluation import StateReport, VerifyKey
from agentbeat_protocol.models import Ratio
from agentbeat_protocol.scoring.receipt_records import (
    RECEIPT_CODES,
    UNSIGNED,
    Expected,
    ReceiptFailure,
    SnapshotDigests,
)

__all__ = ["SignatureCheck", "receipt_failures", "state_report"]

Members = Mapping[str, Any]
#: Whether a raw Ed25519 public key made this signature over this message: key, signature, message.
SignatureCheck = Callable[[bytes, bytes, bytes], bool]


def receipt_failures(
    answer: VerifyAnswer,
    members: Members,
    *,
    expected: Expected,
    read: SnapshotDigests,
    verifies: SignatureCheck,
) -> tuple[ReceiptFailure, ...]:
    """Every rule that the receipt breaks, in the order of the rules.

    Args:
        answer: the verify answer, its shape checked.
        members: the same answer as the JSON that was received. Digests are taken over this, so that they hold
            for what was said and not for how a model writes it.
        read: the digests of the snapshots' bytes as they were read.
        verifies: the check of a signature.
    """
    receipt = answer.receipt
    return tuple(
        failure
        for found in (
            _binding(receipt, expected),  # RCP-1
            _digest(members["receipt"], receipt),  # RCP-2
            _order(receipt, expected),  # RCP-3
            _content(read, expected),  # RCP-4
            _consequences(answer, members, expected),  # RCP-5
            _signature(receipt, expected.verify_key, verifies),  # RCP-6
            _nonce(receipt, expected),  # RCP-7
            _start(receipt, expected),  # RCP-8
        )
        for failure in found
    )


def state_report(
    answer: VerifyAnswer,
    members: Members,
    failures: tuple[ReceiptFailure, ...],
    *,
    verify_key: VerifyKey | None,
) -> StateReport:
    """The Controller's word with the verdict on its receipt, as scoring takes it."""
    codes = tuple(dict.fromkeys(failure.code for failure in failures))
    broken = any(RECEIPT_CODES[code] == "RCP-6" for code in codes)
    return StateReport(
        accepted=all(code == UNSIGNED for code in codes),
        signature="unsigned" if verify_key is None else "refused" if broken else "verified",
        reason_codes=codes,
        verdicts=answer.verdicts,
        checks=answer.checks,
        native_score=answer.native_score,
        receipt=dict(members["receipt"]),
    )


# --- The rules ------------------------------------------------------------------------------------------

_BOUND: Final = (
    "controller_id",
    "deployment_profile_id",
    "environment_id",
    "binding_mode",
    "run_id",
    "case_id",
    "profile_id",
    "profile_digest",
    "injection_digest",
)


def _binding(receipt: StateReceipt, expected: Expected) -> Iterator[ReceiptFailure]:
    """RCP-1: the receipt speaks of what Core asked for, and of nothing else."""
    differing = [name for name in _BOUND if getattr(receipt, name) != getattr(expected, name)]
    if differing:
        yield ReceiptFailure("receipt_binding_mismatch", f"another {', '.join(differing)}")


def _digest(members: Members, receipt: StateReceipt) -> Iterator[ReceiptFailure]:
    """RCP-2: the digest is that of the members."""
    try:
        recomputed = receipt_digest(members)
    except CanonicalError as error:
        yield ReceiptFailure("receipt_digest_mismatch", f"no digest can be taken ({error.rule})")
        return
    if recomputed != receipt.receipt_digest:
        yield ReceiptFailure("receipt_digest_mismatch", "receipt_digest is not the digest of the members")


def _order(receipt: StateReceipt, expected: Expected) -> Iterator[ReceiptFailure]:
    """RCP-3: the Agent ran between the snapshots, and they are the ones that Core was given.

    Times are compared with one another only where the Controller's own clock gave them all.
    """
    if expected.order is None or not expected.order.holds:
        what = "nobody witnessed" if expected.order is None else "the invocation was not inside"
        yield ReceiptFailure("receipt_snapshot_order", f"{what} the time between the snapshots")
    for phase in ("before", "after"):
        bound, given = getattr(receipt, phase), getattr(expected, phase)
        if (bound.ref, bound.digest, bound.taken_at) != (given.ref, given.digest, given.taken_at):
            yield ReceiptFailure(
                "receipt_snapshot_mismatch", f"{phase} is not the snapshot that Core was given"
            )
    if not receipt.before.taken_at <= receipt.after.taken_at <= receipt.issued_at:
        yield ReceiptFailure("receipt_time_order", "before, after and issued_at do not follow one another")


def _content(read: SnapshotDigests, expected: Expected) -> Iterator[ReceiptFailure]:
    """RCP-4: the bytes of both snapshots hash to their digests."""
    for phase in ("before", "after"):
        found: str | None = getattr(read, phase)
        if found is None:
            yield ReceiptFailure("receipt_snapshot_unreadable", f"the {phase} snapshot was not served")
        elif found != getattr(expected, phase).digest:
            yield ReceiptFailure("receipt_snapshot_content_mismatch", f"the {phase} snapshot has other bytes")


def _consequences(answer: VerifyAnswer, members: Members, expected: Expected) -> Iterator[ReceiptFailure]:
    """RCP-5: digests of checks and response hold; verdicts and score follow from the checks."""
    receipt = answer.receipt
    try:
        checks_digest: str | None = digest(members["checks"])
    except CanonicalError:
        checks_digest = None
    if checks_digest != receipt.checks_digest:
        yield ReceiptFailure("receipt_checks_mismatch", "checks_digest is not the digest of the checks")
    if digest_text(expected.final_response) != receipt.final_response_digest:
        yield ReceiptFailure("receipt_final_response_mismatch", "it judged another final_response")
    if answer.verdicts != receipt.verdicts or not verdicts_follow(receipt.verdicts, answer.checks):
        yield ReceiptFailure("receipt_verdicts_mismatch", "the verdicts do not follow from the checks")
    followed = native_score(answer.checks)
    if not all(_same_share(said, followed) for said in (answer.native_score, receipt.native_score)):
        yield ReceiptFailure("receipt_verdicts_mismatch", "native_score does not follow from the checks")


def _signature(
    receipt: StateReceipt, key: VerifyKey | None, verifies: SignatureCheck
) -> Iterator[ReceiptFailure]:
    """RCP-6: the registered key signed this receipt's digest."""
    if key is None:
        yield ReceiptFailure(UNSIGNED, "no key is registered for this Controller")
        return
    signature = receipt.signature
    if signature is None:
        yield ReceiptFailure(
            "receipt_signature_missing", "a key is registered, and the receipt has no signature"
        )
        return
    if signature.key_id != key.key_id:
        yield ReceiptFailure("receipt_signature_invalid", "another key_id than the registered one")
        return
    message = signing_payload(receipt.receipt_digest)
    if not verifies(_unpadded(key.public_key), _unpadded(signature.value), message):
        yield ReceiptFailure("receipt_signature_invalid", "the registered key did not sign this digest")


def _nonce(receipt: StateReceipt, expected: Expected) -> Iterator[ReceiptFailure]:
    """RCP-7: the receipt is of this attempt."""
    if receipt.attempt_nonce != expected.attempt_nonce:
        yield ReceiptFailure("receipt_nonce_mismatch", "the attempt_nonce of another attempt")


def _start(receipt: StateReceipt, expected: Expected) -> Iterator[ReceiptFailure]:
    """RCP-8: nothing was written between reset and the before snapshot."""
    if receipt.before.digest != expected.state_digest:
        yield ReceiptFailure("receipt_before_not_reset_state", "before is not the state that reset left")


def _same_share(said: Ratio | None, followed: Ratio | None) -> bool:
    """Whether a ratio is that share, reduced or not, with the number that goes with it."""
    if said is None or followed is None:
        return said is followed
    crosswise = said.numerator * followed.denominator == followed.numerator * said.denominator
    return said.denominator > 0 and crosswise and said.value == followed.value


def _unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
