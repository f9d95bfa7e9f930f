"""What is kept of a receipt or ticket while a batch streams by: no body, a few hundred bytes.

A record has the facts that the checks of the chain ask for. What else the receipt says is packed, so that the
receipt can be had again when its opening comes by. Records are tuples: small, and quick to send from one
process to another.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from agentbeat_receipts.canonical import spelled
from agentbeat_receipts.objects import COMPONENTS, Body, Receipt, SignatureFault, Ticket

__all__ = ["ReceiptRecord", "TicketRecord"]

#: The hex digits after `hmac-sha256:`.
_PREFIX = "hmac-sha256:"
_COMMITMENTS = ("commitment", "trace", "offers", "outcome")
_REST = ("attempts", "status", "values", "evidence")


class ReceiptRecord(NamedTuple):
    """A receipt as it was sighted.

    Args:
        manifest, assignment, ticket, sequence, previous, envelope: the receipt's members.
        components: the digests of its components, in the order of COMPONENTS.
        packed: its other members.
        faults: what is wrong with each copy's signature; None for one that is right.
        altered: whether a signature becomes good when the receipt names our manifest.
    """

    manifest: str
    assignment: str
    ticket: str | None
    sequence: int
    previous: str
    envelope: str | None
    components: tuple[str | None, ...]
    packed: bytes
    faults: frozenset[SignatureFault | None]
    altered: bool = False

    @classmethod
    def of(cls, receipt: Receipt, faults: frozenset[SignatureFault | None]) -> Self:
        """The record of a receipt."""
        commitments = [bytes.fromhex(getattr(receipt, name)[len(_PREFIX) :]) for name in _COMMITMENTS]
        members = receipt.model_dump(mode="json", include=set(_REST))
        return cls(
            manifest=receipt.manifest,
            assignment=receipt.assignment,
            ticket=receipt.ticket,
            sequence=receipt.sequence,
            previous=receipt.previous,
            envelope=receipt.envelope,
            components=tuple([receipt.components[name] for name in COMPONENTS]),
            packed=b"".join(commitments) + spelled([members[name] for name in _REST]),
            faults=faults,
        )

    def shared(self, one: Callable[[Any], Any]) -> ReceiptRecord:
        """The same with members that other records have too as one object.

        Args:
            one: gives for equal objects the same one.
        """
        return ReceiptRecord(
            one(self.manifest),
            one(self.assignment),
            one(self.ticket),
            self.sequence,
            one(self.previous),
            self.envelope,
            one(self.components),
            self.packed,
            one(self.faults),
            self.altered,
        )

    @property
    def kind(self) -> type[Body]:
        """Its type."""
        return Receipt

    @property
    def cited(self) -> str:
        """Digest of the manifest that it names."""
        return self.manifest

    @property
    def facts(self) -> Self:
        """Itself."""
        return self

    def is_altered(self, _: str) -> bool:
        """Whether it is ours with a byte changed."""
        return self.altered

    def receipt(self) -> Receipt:
        """The receipt itself."""
        size = 32 * len(_COMMITMENTS)
        commitments = [self.packed[at : at + 32].hex() for at in range(0, size, 32)]
        members: dict[str, Any] = dict(zip(_REST, json.loads(self.packed[size:]), strict=True))
        members |= {name: _PREFIX + raw for name, raw in zip(_COMMITMENTS, commitments, strict=True)}
        return Receipt.model_validate(
            {
                **members,
                "manifest": self.manifest,
                "assignment": self.assignment,
                "ticket": self.ticket,
                "sequence": self.sequence,
                "previous": self.previous,
                "envelope": self.envelope,
                "components": dict(zip(COMPONENTS, self.components, strict=True)),
            }
        )


class TicketRecord(NamedTuple):
    """A ticket as it was sighted; the members are the ticket's and those of `ReceiptRecord`."""

    manifest: str
    assignment: str
    anchor: str | None
    faults: frozenset[SignatureFault | None]
    altered: bool = False

    @classmethod
    def of(cls, ticket: Ticket, faults: frozenset[SignatureFault | None]) -> Self:
        """The record of a ticket."""
        return cls(ticket.manifest, ticket.assignment, ticket.anchor, faults)

    def shared(self, one: Callable[[Any], Any]) -> TicketRecord:
        """The same with members that other records have too as one object."""
        return TicketRecord(
            one(self.manifest), one(self.assignment), one(self.anchor), one(self.faults), self.altered
        )

    @property
    def kind(self) -> type[Body]:
        """Its type."""
        return Ticket

    @property
    def cited(self) -> str:
        """Digest of the manifest that it names."""
        return self.manifest

    @property
    def facts(self) -> Self:
        """Itself."""
        return self

    def is_altered(self, _: str) -> bool:
        """Whether it is ours with a byte changed."""
        return self.altered
