"""Batches of claim receipts with one thing wrong, signed by whoever could have done it."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from agentbeat_receipts.envelopes import Binding, envelope_digest, seal
from agentbeat_receipts.keys import Role
from agentbeat_receipts.objects import (
    Assignment,
    Body,
    Checkpoint,
    ClosingRecord,
    Document,
    Envelope,
    Receipt,
    Ticket,
    sign,
)
from support.receipt_batches import ANCHOR, Parts, attempt, changed, honest, keyring, manifest

__all__ = [
    "LAST",
    "attempts",
    "beside",
    "closing",
    "elsewhere",
    "failed",
    "first_after",
    "fork",
    "late_ticket",
    "nonce",
    "one_place_more",
    "one_ticket",
    "other_manifest",
    "plain",
    "receipt",
    "reframed",
    "reorder",
    "resealed",
    "retrospective",
    "rival_terminal",
    "surplus_ticket",
    "swapped_tickets",
    "unsigned_change",
    "with_envelope",
    "with_last",
    "wrong_role",
]

#: The last assignment of the chain.
LAST = "p-2.both"


def signed(body: Body) -> Document:
    return sign(body, keyring())


def receipt(parts: Parts, assignment: str) -> Receipt:
    body = parts.receipts[assignment].body
    assert isinstance(body, Receipt)
    return body


def with_last(parts: Parts, **members: Any) -> Parts:
    """The last receipt with other members, and a closing record that fits it; signed by who should."""
    made = changed(receipt(parts, LAST), **members)
    assert parts.closing is not None
    closing = signed(changed(parts.closing.body, head=made.digest()))
    return replace(parts, receipts={**parts.receipts, LAST: signed(made)}, closing=closing)


def unsigned_change(kind: str, **members: Any) -> Parts:
    """A body that was changed after it was signed."""
    parts = honest()
    held = getattr(parts, kind)
    if isinstance(held, Document):
        return replace(parts, **{kind: replace(held, body=changed(held.body, **members))})
    altered = replace(held[LAST], body=changed(held[LAST].body, **members))
    return replace(parts, **{kind: {**held, LAST: altered}})


def wrong_role(kind: str) -> Parts:
    """An object signed by the other signing role."""
    parts = honest()
    held = getattr(parts, kind)
    document = held if isinstance(held, Document) else held[LAST]
    role = Role.INGRESS_AUTHORITY if kind == "manifest" else Role.MANIFEST_AUTHORITY
    forged = replace(document, signature=keyring().sign(role, document.body.signed_bytes()), key_id=None)
    return replace(parts, **{kind: forged if isinstance(held, Document) else {**held, LAST: forged}})


def resealed(content: bytes) -> Parts:
    """The last receipt's envelope holds other bytes, and its digest says so."""
    parts = honest()
    body = receipt(parts, LAST)
    binding = Binding(manifest=body.manifest, assignment=LAST, ticket=body.ticket, commitment=body.commitment)
    return with_envelope(parts, seal(content, keyring().public, binding))


def with_envelope(parts: Parts, raw: bytes) -> Parts:
    made = Envelope(
        manifest=parts.manifest.body.digest(), assignment=LAST, envelope=base64.b64encode(raw).decode()
    )
    delivered = replace(parts, envelopes={**parts.envelopes, LAST: Document(body=made)})
    return with_last(delivered, envelope=envelope_digest(raw))


def plain(**members: Any) -> Parts:
    """An opening in the clear that is not the one committed to."""
    parts = honest(encrypted=False)
    other = changed(parts.openings[LAST].body, **members)
    return replace(parts, openings={**parts.openings, LAST: Document(body=other)})


def attempts(*made: Any) -> Parts:
    """A whole batch, signed as it is, whose last run took these attempts."""
    return honest(openings={LAST: {"attempts": made}})


def fork() -> Parts:
    parts = honest()
    third = receipt(parts, "p-2.none")
    rival = changed(receipt(parts, LAST), previous=third.previous, sequence=3)
    return replace(parts, receipts={**parts.receipts, LAST: signed(rival)})


def reorder() -> Parts:
    parts = honest()
    third, fourth = receipt(parts, "p-2.none"), receipt(parts, LAST)
    swapped = {"p-2.none": signed(changed(third, sequence=4)), LAST: signed(changed(fourth, sequence=3))}
    return replace(parts, receipts={**parts.receipts, **swapped}, closing=None)


def rival_terminal() -> Parts:
    parts = honest()
    rival = changed(receipt(parts, LAST), status="rejected")
    return parts.beside_also(signed(rival))


def other_manifest() -> Parts:
    parts = honest()
    return replace(parts, manifest=signed(changed(parts.manifest.body, title="another")))


def late_ticket() -> Parts:
    """A receipt whose ticket was made after the checkpoint."""
    parts = honest()
    ticket = Ticket(manifest=parts.manifest.body.digest(), assignment=LAST, anchor=None)
    return with_last(parts, ticket=ticket.digest())


def elsewhere(member: str) -> Parts:
    """A receipt of another epoch, signed for it, that cites what one of ours cites."""
    parts = honest()
    other = honest(manifest(title="another epoch"))
    cited = {member: getattr(receipt(parts, LAST), member)}
    return parts.beside_also(signed(changed(receipt(other, LAST), **cited)))


def surplus_ticket() -> Parts:
    parts = honest()
    digest = parts.manifest.body.digest()
    extra = Ticket(manifest=digest, assignment="p-9.none", anchor=ANCHOR)
    return parts.beside_also(signed(extra))


def swapped_tickets() -> Parts:
    """Each of the two last receipts cites the other's ticket."""
    parts = honest()
    third, fourth = receipt(parts, "p-2.none"), receipt(parts, LAST)
    new_third = changed(third, ticket=fourth.ticket)
    new = replace(parts, receipts={**parts.receipts, "p-2.none": signed(new_third)})
    return with_last(new, ticket=third.ticket, previous=new_third.digest())


def one_ticket() -> Parts:
    """The last receipt cites the ticket of the one before it."""
    parts = honest()
    return with_last(parts, ticket=receipt(parts, "p-2.none").ticket)


def reframed(*, tickets: int = 4, anchors: tuple[str | None, ...] = (), extra: bool = False) -> Parts:
    """A checkpoint over other tickets, before any receipt."""
    parts = honest()
    made = [body for body in (d.body for d in parts.tickets.values()) if isinstance(body, Ticket)][:tickets]
    made[: len(anchors)] = [t.model_copy(update={"anchor": a}) for t, a in zip(made, anchors, strict=False)]
    if extra:
        made.append(made[0].model_copy(update={"anchor": None}))
    digest = parts.manifest.body.digest()
    checkpoint = Checkpoint(manifest=digest, anchor=ANCHOR, tickets=tuple(t.digest() for t in made))
    return replace(
        parts,
        tickets={str(place): signed(ticket) for place, ticket in enumerate(made)},
        checkpoint=signed(checkpoint),
        receipts={},
        envelopes={},
        openings={},
        closing=signed(ClosingRecord(manifest=digest, count=0, head=checkpoint.digest())),
    )


def closing(**members: Any) -> Parts:
    parts = honest()
    assert parts.closing is not None
    return replace(parts, closing=signed(changed(parts.closing.body, **members)))


def beside(kind: str, **members: Any) -> Parts:
    """A second, different object of a kind that there is one of."""
    parts = honest()
    return parts.beside_also(signed(changed(getattr(parts, kind).body, **members)))


def one_place_more() -> Parts:
    """An assignment that the manifest does not list, at the end of the chain."""
    parts = honest()
    return with_last(parts, assignment="p-9.none")


def retrospective(**members: Any) -> Parts:
    return with_last(honest(manifest(mode="retrospective")), **members)


def first_after(previous: str) -> Parts:
    """One run, whose receipt does not begin at the checkpoint."""
    of = manifest(
        assignments=(Assignment(assignment=LAST, profile="p-2", arm="both", replicate=1),),
    )
    return with_last(honest(of), previous=previous)


def nonce(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def failed(number: int, failure: str = "timeout", **members: Any) -> Any:
    return attempt(number, **{"status": "failed", "failure": failure, **members})
