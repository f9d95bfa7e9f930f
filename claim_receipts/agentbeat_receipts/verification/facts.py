"""What the checks of chain and coverage ask of an object, and no more.

A verification in memory hands over the objects themselves. One that streams keeps only these facts of a
receipt or ticket; the checks are the same. What they ask of all objects together is in `relations`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from agentbeat_receipts.objects import Body, Checkpoint, ClosingRecord, Receipt, SignatureFault

__all__ = ["Foreign", "ReceiptFacts", "Sighting", "TicketFacts"]


class ReceiptFacts(Protocol):
    """A receipt's place in the chain; the members are the receipt's."""

    @property
    def assignment(self) -> str: ...
    @property
    def ticket(self) -> str | None: ...
    @property
    def sequence(self) -> int: ...
    @property
    def previous(self) -> str: ...
    @property
    def attempts(self) -> int: ...
    @property
    def is_sealed(self) -> bool: ...


class TicketFacts(Protocol):
    """A ticket; the members are the ticket's."""

    @property
    def assignment(self) -> str: ...
    @property
    def anchor(self) -> str | None: ...


class Sighting(Protocol):
    """One object as it was delivered, in one copy or several."""

    @property
    def kind(self) -> type[Body]:
        """Its type."""
        ...

    @property
    def cited(self) -> str | None:
        """Digest of the manifest that it names; of a manifest None."""
        ...

    @property
    def facts(self) -> object:
        """The object, or the facts that are kept of it."""
        ...

    @property
    def faults(self) -> frozenset[SignatureFault | None]:
        """What is wrong with each copy's signature; None for one that is right."""
        ...

    def is_altered(self, ours: str) -> bool:
        """Whether some copy's signature becomes good when the object names our manifest."""
        ...


@dataclass(frozen=True, slots=True)
class Foreign:
    """What an object of another manifest cites.

    Args:
        kind: its type.
        manifest: digest of the manifest that it names; of a manifest None.
        tickets: digests that it cites as tickets.
        links: digests that it cites as places of the chain.
    """

    kind: type[Body]
    manifest: str | None
    tickets: Sequence[str | None] = ()
    links: tuple[str, ...] = ()

    @classmethod
    def of(cls, sighting: Sighting) -> Self:
        """What this one cites."""
        kind, facts = sighting.kind, sighting.facts
        tickets: Sequence[str | None] = ()
        links: tuple[str, ...] = ()
        if kind is Receipt:
            receipt: ReceiptFacts = facts  # type: ignore[assignment]  # what `kind` says
            tickets, links = (receipt.ticket,), (receipt.previous,)
        elif isinstance(facts, Checkpoint):
            tickets = facts.tickets
        elif isinstance(facts, ClosingRecord):
            links = (facts.head,)
        return cls(kind, sighting.cited, tickets, links)
