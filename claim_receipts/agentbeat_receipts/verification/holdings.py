"""Step 1: read deliveries, drop repeats, tell ours from others', and check signatures by role.

An object is dropped as a repeat when its digest was seen: another spelling, transport time or path makes no
second object. Every signature that came with it must count all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from agentbeat_receipts.canonical import pae
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import (
    SIGNER,
    Body,
    Checkpoint,
    Contents,
    Document,
    Manifest,
    Reading,
    Receipt,
    SignatureFault,
    Ticket,
    signature_fault,
)
from agentbeat_receipts.verification.facts import Foreign, ReceiptFacts, TicketFacts
from agentbeat_receipts.verification.results import Finding

__all__ = ["Held", "Holdings", "is_altered", "object_digest_of"]

BodyT = TypeVar("BodyT", bound=Body)


@dataclass(slots=True)
class Holdings:
    """What was delivered: ours and sound by kind and digest, others' beside, and what was found."""

    manifest_digest: str | None = None
    ambiguous: bool = False
    #: The objects themselves; of receipts and tickets that are streamed, their facts.
    ours: dict[type[Body], Any] = field(default_factory=dict)
    foreign: Mapping[str, Foreign] = field(default_factory=dict)
    #: What the commitments of our openings are over, by the opening's digest, where it is at hand.
    contents: dict[str, Contents] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def of(self, kind: type[BodyT]) -> dict[str, BodyT]:
        """Our sound objects of a kind, by digest, in the order of digests."""
        return cast(dict[str, BodyT], self.ours.get(kind, {}))

    @property
    def receipts(self) -> Mapping[str, ReceiptFacts]:
        """Our sound receipts, by digest."""
        return cast(Mapping[str, ReceiptFacts], self.ours.get(Receipt, {}))

    @property
    def tickets(self) -> Mapping[str, TicketFacts]:
        """Our sound tickets, by digest."""
        return cast(Mapping[str, TicketFacts], self.ours.get(Ticket, {}))

    @property
    def manifest(self) -> Manifest | None:
        """Our manifest, when it was delivered."""
        return next(iter(self.of(Manifest).values()), None)

    @property
    def prospective(self) -> bool:
        """Whether tickets and checkpoint are promised: by the manifest, else by what cites or is one."""
        if self.manifest is not None:
            return self.manifest.mode == "prospective"
        cited = any(receipt.ticket is not None for receipt in self.receipts.values())
        return cited or bool(self.tickets) or bool(self.of(Checkpoint))


@dataclass(slots=True)
class Held:
    """One object, with every signature and hint that it came with (a `Sighting`)."""

    body: Body
    message: bytes
    keyring: PublicKeyring
    copies: dict[tuple[bytes | None, str | None], Document] = field(default_factory=dict)

    def take(self, copy: Document) -> None:
        """One more copy of it."""
        self.copies.setdefault((copy.signature, copy.key_id), copy)

    @property
    def kind(self) -> type[Body]:
        return type(self.body)

    @property
    def cited(self) -> str | None:
        return cast(str | None, getattr(self.body, "manifest", None))

    @property
    def facts(self) -> object:
        return self.body

    @property
    def faults(self) -> frozenset[SignatureFault | None]:
        copies = self.copies.values()
        return frozenset(signature_fault(copy, self.keyring, message=self.message) for copy in copies)

    def is_altered(self, ours: str) -> bool:
        return any(is_altered(copy, ours, self.keyring) for copy in self.copies.values())


def object_digest_of(reading: Reading) -> tuple[str, bytes]:
    """The digest of an object that was read, and what it is over, which is also what is signed."""
    message = pae(reading.document.body.TYPE, reading.canonical)
    return "sha256:" + hashlib.sha256(message).hexdigest(), message


def is_altered(document: Document, ours: str, keyring: PublicKeyring) -> bool:
    """Whether a document's signature becomes good when its object names our manifest."""
    if SIGNER[type(document.body)] is None:
        return False
    body = document.body.model_copy(update={"manifest": ours})
    copy = Document(body=body, signature=document.signature)
    return signature_fault(copy, keyring, message=body.signed_bytes()) is None
