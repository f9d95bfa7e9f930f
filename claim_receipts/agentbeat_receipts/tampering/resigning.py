"""Signing anew what was changed, by whoever holds the keys, so that nothing but the fault is wrong.

relinked    some receipts are other ones; the chain after them and its closing record fit
recommitted a run committed to another opening; its receipt and envelope fit
resealed    a receipt's envelope holds other bytes, or is for another key, and its digest says so
spelled     the last receipt is signed over bytes that no strict reader reads
flipped     a bit of a document is another one, and nothing is signed
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from agentbeat_receipts.canonical import pae
from agentbeat_receipts.commitments import Tag
from agentbeat_receipts.envelopes import Binding, envelope_digest, seal
from agentbeat_receipts.keys import PublicKeyring, Role
from agentbeat_receipts.objects import Document, Envelope, Opening, Receipt, sign, wrapped, write_document
from agentbeat_receipts.tampering.exhibits import Exhibit, changed

__all__ = ["flipped", "recommitted", "relinked", "resealed", "spelled"]


def relinked(exhibit: Exhibit, changes: Mapping[str, Callable[[Receipt], Receipt]]) -> Exhibit:
    """The chain as the ingress authority would have signed it with these changes.

    Args:
        changes: by assignment, made after a receipt was linked to the one before it.
    """
    receipts: dict[str, Document] = {}
    head: str | None = None
    for name in exhibit.assignments:
        body = exhibit.receipt(name)
        if head is not None:
            body = body.model_copy(update={"previous": head})
        if name in changes:
            body = changes[name](body)
        receipts[name] = sign(body, exhibit.keyring)
        head = body.digest()
    closing = sign(changed(exhibit.closed(), head=head), exhibit.keyring)
    return replace(exhibit, receipts=receipts, closing=closing)


def recommitted(exhibit: Exhibit, assignment: str, opening: Opening) -> Exhibit:
    """The batch whose receipt of an assignment was signed over another opening."""
    made = {
        "ticket": opening.ticket,
        "commitment": opening.commitment(Tag.OPENING),
        "trace": opening.commitment(Tag.TRACE),
        "offers": opening.commitment(Tag.OFFERS),
        "outcome": opening.commitment(Tag.OUTCOME),
    }
    signed = relinked(exhibit, {assignment: lambda body: body.model_copy(update=made)})
    return resealed(signed, assignment, write_document(Document(body=opening)))


def resealed(
    exhibit: Exhibit, assignment: str, content: bytes, *, to: PublicKeyring | None = None
) -> Exhibit:
    """The batch whose receipt of an assignment was signed over an envelope with this content.

    Args:
        to: whose auditor can open it; without it the keyring's.
    """
    receipt = exhibit.receipt(assignment)
    binding = Binding(
        manifest=receipt.manifest,
        assignment=assignment,
        ticket=receipt.ticket,
        commitment=receipt.commitment,
    )
    sealed = seal(content, to or exhibit.keyring.public, binding)
    envelope = Envelope(
        manifest=receipt.manifest, assignment=assignment, envelope=base64.b64encode(sealed).decode()
    )
    delivered = replace(exhibit, envelopes={**exhibit.envelopes, assignment: Document(body=envelope)})
    digest = envelope_digest(sealed)
    return relinked(delivered, {assignment: lambda body: body.model_copy(update={"envelope": digest})})


def spelled(exhibit: Exhibit, spell: Callable[[bytes], bytes]) -> Exhibit:
    """The batch whose last receipt was signed over other bytes than canonical ones.

    Args:
        spell: makes those bytes of the canonical ones.
    """
    last = exhibit.assignments[-1]
    body = exhibit.receipt(last)
    raw = spell(body.canonical())
    message = pae(body.TYPE, raw)
    signature = exhibit.keyring.sign(Role.INGRESS_AUTHORITY, message)
    document = wrapped(Document(body=body, signature=signature), raw)
    head = "sha256:" + hashlib.sha256(message).hexdigest()
    closing = sign(changed(exhibit.closed(), head=head), exhibit.keyring)
    return replace(exhibit, raw={f"receipts/{last}.json": document}, closing=closing)


def flipped(document: Document, after: bytes) -> bytes:
    """A document with one bit of the first decimal digit after a mark turned round: a digit again."""
    raw = bytearray(write_document(document))
    start = raw.index(after) + len(after)
    place = next(place for place in range(start, len(raw)) if raw[place] in b"0123456789")
    raw[place] ^= 1
    return bytes(raw)
