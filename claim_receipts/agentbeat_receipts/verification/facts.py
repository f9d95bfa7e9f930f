"""What the checks of chain and coverage ask of an object, and no more.

A verification in memory hands over the objects themselves. One that streams keeps only these facts of a
receipt or ticket, so that neither bodies nor openings of a long batch are held; the checks are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from agentbeat_receipts.digests import Digests
from agentbeat_receipts.objects import (
    Assignment,
    AssignmentTable,
    Body,
    Checkpoint,
    ClosingRecord,
    Manifest,
    Receipt,
    SignatureFault,
)

__all__ = [
    "Columns",
    "Foreign",
    "ReceiptFacts",
    "Sighting",
    "TicketFacts",
    "assignment_counts",
    "assignments_by_name",
    "listed_tickets",
    "promised_assignments",
    "sorted_digests",
]


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


class _OfAssignment(Protocol):
    @property
    def assignment(self) -> str: ...


@runtime_checkable
class Columns(Protocol):
    """Facts by digest, kept column by column, that know of themselves what would take long to count."""

    @property
    def digests(self) -> Digests:
        """Their digests."""
        ...

    @property
    def assignment_counts(self) -> Mapping[str, int]:
        """How many there are of each assignment."""
        ...


def assignment_counts(held: Mapping[str, _OfAssignment]) -> Mapping[str, int]:
    """How many receipts or tickets there are of each assignment."""
    if isinstance(held, Columns):
        return held.assignment_counts
    return Counter(facts.assignment for facts in held.values())


def sorted_digests(held: Mapping[str, object]) -> Sequence[str]:
    """The digests of objects that are held, sorted."""
    return held.digests if isinstance(held, Columns) else tuple(sorted(held))


def promised_assignments(manifest: Manifest) -> Collection[str]:
    """The names of a manifest's assignments; whether one is among them is quickly told."""
    entries: Sequence[Assignment] = manifest.assignments
    if isinstance(entries, AssignmentTable):
        return entries.names
    return dict.fromkeys(entry.assignment for entry in entries)


def assignments_by_name(manifest: Manifest) -> Mapping[str, Assignment]:
    """A manifest's assignments by their names."""
    entries: Sequence[Assignment] = manifest.assignments
    if isinstance(entries, AssignmentTable):
        return entries.by_name
    return {entry.assignment: entry for entry in entries}


def listed_tickets(checkpoint: Checkpoint) -> Collection[str]:
    """The digests of a checkpoint's tickets; whether one is among them is quickly told."""
    tickets: Sequence[str] = checkpoint.tickets
    return tickets if isinstance(tickets, Digests) else frozenset(tickets)


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
