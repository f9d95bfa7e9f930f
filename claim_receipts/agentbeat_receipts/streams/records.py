"""A receipt or ticket on its way from the process that read it to the one that keeps it.

A record has what the checks of the chain ask for as members, and what else a receipt says packed, so that the
receipt can be had again when its opening comes by. Records are tuples: quick to send.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from agentbeat_receipts.canonical import spelled
from agentbeat_receipts.objects import COMPONENTS, Receipt, SignatureFault, Ticket

__all__ = ["ReceiptRecord", "TicketRecord"]

#: The hex digits after `hmac-sha256:`.
_PREFIX = "hmac-sha256:"
_COMMITMENTS = ("commitment", "trace", "offers", "outcome")
_REST = ("status", "values", "evidence")


class ReceiptRecord(NamedTuple):
    """A receipt as it was sighted.

    Args:
        manifest, assignment, ticket, sequence, previous, attempts, envelope: the receipt's members.
        components: the digests of its components, in the order of COMPONENTS.
        packed: its other members.
        faults: what is wrong with each copy's signature; None for one that is right.
    """

    manifest: str
    assignment: str
    ticket: str | None
    sequence: int
    previous: str
    attempts: int
    envelope: str | None
    components: tuple[str | None, ...]
    packed: bytes
    faults: frozenset[SignatureFault | None]

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
            attempts=receipt.attempts,
            envelope=receipt.envelope,
            components=tuple([receipt.components[name] for name in COMPONENTS]),
            packed=b"".join(commitments) + spelled([members[name] for name in _REST]),
            faults=faults,
        )

    def shared(self, one: Callable[[Any], Any]) -> ReceiptRecord:
        """The same with members that other records have too as one object, which is sent once.

        Args:
            one: gives for equal objects the same one.
        """
        return self._replace(
            manifest=one(self.manifest), components=one(self.components), faults=one(self.faults)
        )

    @property
    def is_sealed(self) -> bool:
        """Whether an envelope was made."""
        return self.envelope is not None

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
                "attempts": self.attempts,
                "envelope": self.envelope,
                "components": dict(zip(COMPONENTS, self.components, strict=True)),
            }
        )


class TicketRecord(NamedTuple):
    """A ticket as it was sighted; the members are the ticket's, and `faults` as of `ReceiptRecord`."""

    manifest: str
    assignment: str
    anchor: str | None
    faults: frozenset[SignatureFault | None]

    @classmethod
    def of(cls, ticket: Ticket, faults: frozenset[SignatureFault | None]) -> Self:
        """The record of a ticket."""
        return cls(ticket.manifest, ticket.assignment, ticket.anchor, faults)

    def shared(self, one: Callable[[Any], Any]) -> TicketRecord:
        """The same with members that other records have too as one object."""
        return self._replace(manifest=one(self.manifest), anchor=one(self.anchor), faults=one(self.faults))
