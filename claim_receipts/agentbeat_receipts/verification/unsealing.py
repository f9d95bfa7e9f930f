"""Step 4: openings, in the clear or out of their envelopes, against the receipts that commit to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agentbeat_protocol import ProtocolError
from agentbeat_receipts.commitments import NONCE_BYTES, Tag, opens
from agentbeat_receipts.envelopes import Binding, EnvelopeError, envelope_digest, unseal
from agentbeat_receipts.objects import Contents, Envelope, Opening, Receipt, read_whole
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["Openings", "open_all", "opening_faults", "unsealed"]


BodyT = TypeVar("BodyT", Envelope, Opening)


@dataclass(slots=True)
class Openings:
    """The sound openings by assignment, and what was found."""

    opened: dict[str, Opening] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def open_all(
    holdings: Holdings, terminals: Mapping[str, Receipt], auditor: X25519PrivateKey | None
) -> Openings:
    """Open what can be opened.

    Args:
        terminals: the receipts to be opened, by assignment.
        auditor: the auditor's private key; without it envelopes are compared by digest only.
    """
    result = Openings()
    envelopes = _by_assignment(holdings.of(Envelope))
    plain = _by_assignment(holdings.of(Opening))
    nonces: dict[bytes, str] = {}
    for assignment, receipt in terminals.items():
        candidates = [
            (opening, holdings.contents.get(digest) or opening.contents())
            for digest, opening in plain.get(assignment, ())
        ]
        unopened = Reason.OPENING_MISSING
        for _, envelope in envelopes.get(assignment, ()):
            found = unsealed(envelope, receipt, auditor)
            if not isinstance(found, Reason):
                candidates.append(found)
            elif found in (Reason.OPENING_SEALED, Reason.OPENING_UNDECRYPTABLE):
                unopened = found
            else:
                result.findings.append(Finding(found, assignment))
        if not candidates:
            result.findings.append(Finding(unopened, assignment))
        for opening, contents in candidates:
            faults = [*opening_faults(opening, contents, receipt), *_reuse(opening, nonces)]
            result.findings.extend(faults)
            if not faults:
                result.opened[assignment] = opening
    return result


def _by_assignment(bodies: Mapping[str, BodyT]) -> dict[str, list[tuple[str, BodyT]]]:
    found: dict[str, list[tuple[str, BodyT]]] = {}
    for digest, body in bodies.items():
        found.setdefault(body.assignment, []).append((digest, body))
    return found


def unsealed(
    envelope: Envelope, receipt: Receipt, auditor: X25519PrivateKey | None
) -> tuple[Opening, Contents] | Reason:
    """What an envelope holds, with what its commitments are over; or why it is not to be had."""
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
        reading = read_whole(unseal(raw, auditor, binding))
    except EnvelopeError:
        return Reason.OPENING_UNDECRYPTABLE
    except ProtocolError:
        return Reason.OPENING_UNREADABLE
    body = reading.document.body
    if not isinstance(body, Opening):
        return Reason.OPENING_UNREADABLE
    return body, reading.contents or body.contents()


def opening_faults(opening: Opening, contents: Contents, receipt: Receipt) -> Iterator[Finding]:
    """Everything in which an opening is not the one that the receipt commits to."""
    subject = receipt.assignment
    nonce = opening.nonce_bytes()
    if len(nonce) != NONCE_BYTES:
        yield Finding(Reason.NONCE_LENGTH, subject, f"got {len(nonce)} bytes, expected {NONCE_BYTES}")
        return
    commitments = {
        Tag.OPENING: receipt.commitment,
        Tag.TRACE: receipt.trace,
        Tag.OFFERS: receipt.offers,
        Tag.OUTCOME: receipt.outcome,
    }
    for tag, commitment in commitments.items():
        if not opens(commitment, nonce, tag, contents.under(tag)):
            yield Finding(Reason.OPENING_CONTRADICTS_COMMITMENT, subject, tag.name.lower())
    pairs = {
        "manifest": (opening.manifest, receipt.manifest),
        "assignment": (opening.assignment, receipt.assignment),
        "ticket": (opening.ticket, receipt.ticket),
        "attempts": (len(opening.attempts), receipt.attempts),
        "status": (opening.attempts[-1].status, receipt.status),
        "evidence": (opening.evidence(), receipt.evidence),
    }
    for name, (got, expected) in pairs.items():
        if got != expected:
            yield Finding(Reason.OPENING_CONTRADICTS_RECEIPT, subject, name)


def _reuse(opening: Opening, nonces: dict[bytes, str]) -> Iterator[Finding]:
    other = nonces.setdefault(opening.nonce_bytes(), opening.assignment)
    if other != opening.assignment:
        yield Finding(Reason.NONCE_REUSED, opening.assignment, f"also of {other}")
