"""The writer's side: tickets and checkpoint before the runs, a chained receipt after each, a closing record.

A `Batch` signs in the order that the verifier asks for and can sign in no other: no receipt before the
checkpoint, none twice for one assignment, nothing after closing. It keeps the chain's head and no outcomes;
storing what it returns is the caller's.

    batch = Batch(manifest, keyring, anchor=token_digest)
    framing = batch.framing()                  # manifest, tickets, checkpoint: publish before the first run
    written = batch.receipt(opening, facts)    # receipt and envelope of one run
    closing = batch.close()                    # publish outside
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentbeat_receipts.commitments import Tag
from agentbeat_receipts.envelopes import Binding, envelope_digest, seal
from agentbeat_receipts.keys import Signer
from agentbeat_receipts.objects import (
    Checkpoint,
    ClosingRecord,
    ComponentName,
    Contents,
    Document,
    Envelope,
    Manifest,
    Null,
    Opening,
    Pair,
    Receipt,
    Ticket,
    sign,
    signed,
    wrapped,
)

__all__ = ["Batch", "Facts", "OrderError", "Written"]


class OrderError(ValueError):
    """Something is to be signed that the batch's order does not allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a receipt discloses beside its commitments.

    Args:
        components: the digest of each component that ran; None where it was not recorded.
        values: the disclosed values, exact.
    """

    components: Mapping[ComponentName, str | None]
    values: Mapping[str, int | str | Pair | Null] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """The documents of one run; no envelope where none was asked for."""

    receipt: Document
    envelope: Document | None


class Batch:
    """One manifest's receipts in the making.

    Args:
        manifest: what is promised.
        keyring: signs for both authorities; the auditor's public key seals the openings.
        anchor: digest of the time anchor's token over the manifest; None without one.
    """

    def __init__(self, manifest: Manifest, keyring: Signer, *, anchor: str | None = None) -> None:
        self._keyring = keyring
        self._manifest, self._digest = signed(manifest, keyring)
        self._assignments = {entry.assignment for entry in manifest.assignments}
        self._tickets: dict[str, Document] = {}
        self._ticket_digests: dict[str, str] = {}
        self._checkpoint: Document | None = None
        self._head = self._digest
        if anchor is not None and manifest.mode != "prospective":
            raise OrderError("an anchor for a retrospective batch, which has no tickets to name it")
        if manifest.mode == "prospective":
            self._frame(manifest, anchor)
        self._done: set[str] = set()
        self._closed = False

    def framing(self) -> tuple[Document, ...]:
        """The manifest, and in a prospective batch the tickets in manifest order and the checkpoint."""
        checkpoint = () if self._checkpoint is None else (self._checkpoint,)
        return (self._manifest, *self._tickets.values(), *checkpoint)

    def ticket_digest(self, assignment: str) -> str | None:
        """The digest of an assignment's ticket, which its opening names; None in a retrospective batch."""
        return self._ticket_digests.get(assignment)

    def receipt(self, opening: Opening, facts: Facts, *, encrypted: bool = True) -> Written:
        """The next receipt of the chain.

        Args:
            opening: everything private of the run; its last attempt is the terminal one.
            encrypted: whether an envelope to the auditor is made; else the caller delivers the opening.

        Raises:
            OrderError: the opening belongs elsewhere, its assignment has a receipt, or the batch is closed.
        """
        self._check_next(opening)
        nonce, contents = opening.nonce_bytes(), opening.contents()
        commitment = contents.commitment(nonce, Tag.OPENING)
        sealed = self._sealed(opening, contents, commitment) if encrypted else None
        body = Receipt(
            manifest=self._digest,
            assignment=opening.assignment,
            ticket=opening.ticket,
            sequence=len(self._done) + 1,
            previous=self._head,
            attempts=len(opening.attempts),
            status=opening.attempts[-1].status,
            components=dict(facts.components),
            commitment=commitment,
            trace=contents.commitment(nonce, Tag.TRACE),
            offers=contents.commitment(nonce, Tag.OFFERS),
            outcome=contents.commitment(nonce, Tag.OUTCOME),
            values=dict(facts.values),
            evidence=opening.evidence(),
            envelope=None if sealed is None else envelope_digest(sealed),
        )
        receipt, self._head = signed(body, self._keyring)
        self._done.add(opening.assignment)
        return Written(receipt, None if sealed is None else Document(body=_envelope(opening, sealed)))

    def resume(self, written: Iterable[Receipt]) -> None:
        """Go on after the receipts that this batch wrote before it was cut off.

        Args:
            written: all of them, in the order of the chain; that they are signed is the caller's to see.

        Raises:
            OrderError: they are not this chain from its beginning, or the batch has begun.
        """
        if self._done or self._closed:
            raise OrderError("the batch has begun")
        for place, receipt in enumerate(written, 1):
            self._check_assignment(receipt)
            if (receipt.sequence, receipt.previous) != (place, self._head):
                raise OrderError(f"receipt {place} is not the next one of this chain")
            self._head = receipt.digest()
            self._done.add(receipt.assignment)

    def close(self) -> Document:
        """The closing record; the batch signs nothing more."""
        if self._closed:
            raise OrderError("the batch is closed")
        self._closed = True
        record = ClosingRecord(manifest=self._digest, count=len(self._done), head=self._head)
        return sign(record, self._keyring)

    def _frame(self, manifest: Manifest, anchor: str | None) -> None:
        for entry in manifest.assignments:
            ticket = Ticket(manifest=self._digest, assignment=entry.assignment, anchor=anchor)
            document, digest = signed(ticket, self._keyring)
            self._tickets[entry.assignment] = document
            self._ticket_digests[entry.assignment] = digest
        digests = tuple(self._ticket_digests.values())
        checkpoint = Checkpoint(manifest=self._digest, anchor=anchor, tickets=digests)
        self._checkpoint, self._head = signed(checkpoint, self._keyring)

    def _check_next(self, opening: Opening) -> None:
        if self._closed:
            raise OrderError("the batch is closed")
        self._check_assignment(opening)

    def _check_assignment(self, body: Opening | Receipt) -> None:
        kind = "an opening" if isinstance(body, Opening) else "a receipt"
        if body.manifest != self._digest:
            raise OrderError(f"{kind} of another manifest")
        if body.assignment not in self._assignments:
            raise OrderError(f"{kind} of an assignment that the manifest does not list")
        if body.ticket != self.ticket_digest(body.assignment):
            raise OrderError(f"{kind} with another ticket than its assignment's")
        if body.assignment in self._done:
            raise OrderError("a second receipt for one assignment")

    def _sealed(self, opening: Opening, contents: Contents, commitment: str) -> bytes:
        binding = Binding(
            manifest=opening.manifest,
            assignment=opening.assignment,
            ticket=opening.ticket,
            commitment=commitment,
        )
        return seal(wrapped(Document(body=opening), contents.body), self._keyring.public, binding)


def _envelope(opening: Opening, sealed: bytes) -> Envelope:
    return Envelope(
        manifest=opening.manifest,
        assignment=opening.assignment,
        envelope=base64.b64encode(sealed).decode(),
    )
