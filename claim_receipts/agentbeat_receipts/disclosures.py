"""Opening one receipt: the private evidence of an assignment, out of its envelope or in the clear.

    match disclose(documents, receipt, auditor):
        case Disclosed(opening=opening, faults=()): ...

This is for an auditor who wants to read. It says whether what was opened is what the receipt commits to, and
nothing of signatures: that is for `verify`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agentbeat_protocol import ProtocolError
from agentbeat_receipts.commitments import Tag
from agentbeat_receipts.envelopes import Binding, EnvelopeError, envelope_digest, unseal
from agentbeat_receipts.objects import Document, Envelope, Opening, Receipt, read_document
from agentbeat_receipts.verification import Reason

__all__ = ["Disclosed", "disclose"]


@dataclass(frozen=True, slots=True)
class Disclosed:
    """What was opened of one receipt.

    Args:
        opening: the private evidence; None where it did not open.
        faults: why it did not open, or how it contradicts its receipt.
    """

    opening: Opening | None
    faults: tuple[Reason, ...]


def disclose(documents: Iterable[Document], receipt: Receipt, auditor: X25519PrivateKey | None) -> Disclosed:
    """Open what lies behind a receipt.

    Args:
        documents: those of a bundle; envelope and opening are looked for among them.
        auditor: the auditor's private key; None where the opening lies in the clear.
    """
    place = (receipt.manifest, receipt.assignment)
    beside = [
        document.body
        for document in documents
        if isinstance(document.body, Opening | Envelope)
        and (document.body.manifest, document.body.assignment) == place
    ]
    unopened: list[Reason] = []
    openings = [body for body in beside if isinstance(body, Opening)]
    for body in beside:
        if isinstance(body, Envelope):
            found = _unsealed(body, receipt, auditor)
            if isinstance(found, Opening):
                openings.append(found)
            else:
                unopened.append(found)
    judged = [(opening, tuple(_contradictions(opening, receipt))) for opening in openings]
    for opening, faults in sorted(judged, key=lambda pair: len(pair[1])):
        return Disclosed(opening, faults)
    return Disclosed(None, tuple(unopened) or (Reason.OPENING_MISSING,))


def _unsealed(envelope: Envelope, receipt: Receipt, auditor: X25519PrivateKey | None) -> Opening | Reason:
    raw = envelope.envelope_bytes()
    if envelope_digest(raw) != receipt.envelope:
        return Reason.ENVELOPE_DIGEST_MISMATCH
    if auditor is None:
        return Reason.OPENING_SEALED
    binding = Binding(
        manifest=receipt.manifest,
        assignment=receipt.assignment,
        ticket=receipt.ticket,
        commitment=receipt.commitment,
    )
    try:
        body = read_document(unseal(raw, auditor, binding)).body
    except EnvelopeError:
        return Reason.OPENING_UNDECRYPTABLE
    except ProtocolError:
        return Reason.OPENING_UNREADABLE
    return body if isinstance(body, Opening) else Reason.OPENING_UNREADABLE


def _contradictions(opening: Opening, receipt: Receipt) -> Iterator[Reason]:
    try:
        made = {tag: opening.commitment(tag) for tag in (Tag.OPENING, Tag.TRACE, Tag.OFFERS, Tag.OUTCOME)}
    except ValueError:
        yield Reason.NONCE_LENGTH
        return
    committed = {
        Tag.OPENING: receipt.commitment,
        Tag.TRACE: receipt.trace,
        Tag.OFFERS: receipt.offers,
        Tag.OUTCOME: receipt.outcome,
    }
    if made != committed:
        yield Reason.OPENING_CONTRADICTS_COMMITMENT
    said = (opening.ticket, len(opening.attempts), opening.attempts[-1].status)
    if said != (receipt.ticket, receipt.attempts, receipt.status):
        yield Reason.OPENING_CONTRADICTS_RECEIPT
