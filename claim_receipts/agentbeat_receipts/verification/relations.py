"""What the checks ask of all receipts and tickets together: who is missing, who has what in common with whom.

A verification in memory looks it up in its objects. One that streams keeps them elsewhere (`KeptReceipts` and
its like) and answers without having them all in memory. The answers are the same, in any order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from agentbeat_receipts.objects import (
    Assignment,
    AssignmentTable,
    Checkpoint,
    KeptList,
    Manifest,
)
from agentbeat_receipts.verification.facts import Foreign, ReceiptFacts, TicketFacts

__all__ = [
    "KeptForeign",
    "KeptNames",
    "KeptObjects",
    "KeptReceipts",
    "Link",
    "assignment_counts",
    "assignments",
    "cited_by_both",
    "followed",
    "links",
    "listed_tickets",
    "places",
    "promised_assignments",
    "sorted_digests",
    "ticket_sharers",
    "without",
]

FactsT = TypeVar("FactsT", covariant=True)


class _OfAssignment(Protocol):
    @property
    def assignment(self) -> str: ...


class Link(NamedTuple):
    """A receipt at its place in the chain.

    Args:
        digest: its own.
        receipt: its facts.
        is_listed: whether the ticket that it cites is among those of the checkpoint.
        ticketed: of which assignment the ticket is that it cites, where that is held.
        has_ticket: whether a ticket of its own assignment is held.
        before: the place of the receipt that it follows, where that is held.
        is_fork: whether another receipt has its place or its predecessor.
    """

    digest: str
    receipt: ReceiptFacts
    is_listed: bool
    ticketed: str | None
    has_ticket: bool
    before: int | None
    is_fork: bool


class KeptNames(Collection[str]):
    """Names or digests that are kept outside of memory."""

    @abstractmethod
    def without(self, others: Collection[str]) -> Iterator[str]:
        """What `without` is to say of them."""


class KeptObjects(Mapping[str, FactsT]):
    """Receipts or tickets by digest, kept outside of memory, where what would take memory is counted too."""

    @property
    @abstractmethod
    def digests(self) -> Sequence[str]:
        """What `sorted_digests` is to say of them."""

    @property
    @abstractmethod
    def assignments(self) -> Collection[str]:
        """What `assignments` is to say of them."""

    @property
    @abstractmethod
    def assignment_counts(self) -> Mapping[str, int]:
        """What `assignment_counts` is to say of them."""


class KeptReceipts(KeptObjects[ReceiptFacts]):
    """Receipts that are kept outside of memory, beside the tickets."""

    @abstractmethod
    def links(self, listed: Collection[str]) -> Iterator[Link]:
        """What `links` is to say of them and the tickets."""

    @abstractmethod
    def ticket_sharers(self) -> Iterator[tuple[str, str]]:
        """What `ticket_sharers` is to say of them."""

    @abstractmethod
    def places(self) -> Container[int]:
        """What `places` is to say of them."""

    @abstractmethod
    def followed(self) -> Container[str]:
        """What `followed` is to say of them."""


class KeptForeign(Mapping[str, Foreign]):
    """What objects of other manifests cite, kept outside of memory beside our receipts."""

    @abstractmethod
    def cited_by_both(self, heads: Iterable[str]) -> Container[str]:
        """What `cited_by_both` is to say of them and the receipts."""


def without(names: Collection[str], others: Collection[str]) -> Iterator[str]:
    """Those of the names that are not among the others."""
    if isinstance(names, KeptNames):
        return names.without(others)
    return (name for name in names if name not in others)


def assignment_counts(held: Mapping[str, _OfAssignment]) -> Mapping[str, int]:
    """How many receipts or tickets there are of each assignment."""
    if isinstance(held, KeptObjects):
        return held.assignment_counts
    return Counter(facts.assignment for facts in held.values())


def assignments(held: Mapping[str, _OfAssignment]) -> Collection[str]:
    """The assignments of which there are receipts or tickets."""
    return held.assignments if isinstance(held, KeptObjects) else assignment_counts(held).keys()


def sorted_digests(held: Mapping[str, object]) -> Sequence[str]:
    """The digests of objects that are held, sorted."""
    return held.digests if isinstance(held, KeptObjects) else tuple(sorted(held))


def links(
    receipts: Mapping[str, ReceiptFacts], tickets: Mapping[str, TicketFacts], listed: Collection[str]
) -> Iterator[Link]:
    """Each receipt with what it cites.

    Args:
        receipts, tickets: those that are held.
        listed: the digests of the checkpoint's tickets.
    """
    if isinstance(receipts, KeptReceipts):
        yield from receipts.links(listed)
        return
    at = Counter(receipt.sequence for receipt in receipts.values())
    after = Counter(receipt.previous for receipt in receipts.values())
    ticketed = assignments(tickets)
    for digest, receipt in receipts.items():
        ticket = None if receipt.ticket is None else tickets.get(receipt.ticket)
        before = receipts.get(receipt.previous)
        yield Link(
            digest,
            receipt,
            is_listed=receipt.ticket in listed,
            ticketed=None if ticket is None else ticket.assignment,
            has_ticket=receipt.assignment in ticketed,
            before=None if before is None else before.sequence,
            is_fork=at[receipt.sequence] > 1 or after[receipt.previous] > 1,
        )


def ticket_sharers(receipts: Mapping[str, ReceiptFacts]) -> Iterator[tuple[str, str]]:
    """Assignments whose receipts cite one ticket: each with the first other one that cites it."""
    if isinstance(receipts, KeptReceipts):
        yield from receipts.ticket_sharers()
        return
    citing: dict[str, set[str]] = {}
    for receipt in receipts.values():
        if receipt.ticket is not None:
            citing.setdefault(receipt.ticket, set()).add(receipt.assignment)
    for names in citing.values():
        # Two receipts of one assignment are rivals, and cite its one ticket.
        if len(names) > 1:
            one, two, *_ = sorted(names)
            yield from ((name, two if name == one else one) for name in names)


def places(receipts: Mapping[str, ReceiptFacts]) -> Container[int]:
    """The places of the chain at which there are receipts."""
    if isinstance(receipts, KeptReceipts):
        return receipts.places()
    return {receipt.sequence for receipt in receipts.values()}


def followed(receipts: Mapping[str, ReceiptFacts]) -> Container[str]:
    """What receipts cite as the one before them."""
    if isinstance(receipts, KeptReceipts):
        return receipts.followed()
    return {receipt.previous for receipt in receipts.values()}


def cited_by_both(
    foreign: Mapping[str, Foreign], receipts: Mapping[str, ReceiptFacts], heads: Iterable[str]
) -> Container[str]:
    """What others' receipts and closing records cite and one of ours cites too: ours, held or not.

    Args:
        foreign: what objects of other manifests cite.
        receipts: ours.
        heads: what our closing records cite.
    """
    if isinstance(foreign, KeptForeign):
        return foreign.cited_by_both(heads)
    theirs = {
        cited
        for item in foreign.values()
        if item.kind is not Checkpoint  # It lists many.
        for cited in (*item.tickets, *item.links)
    }
    ours = (cited for receipt in receipts.values() for cited in (receipt.ticket, receipt.previous))
    return {cited for cited in (*ours, *heads) if cited is not None and cited in theirs}


def promised_assignments(manifest: Manifest) -> Collection[str]:
    """The names of a manifest's assignments; whether one is among them is quickly told."""
    entries: Sequence[Assignment] = manifest.assignments
    if isinstance(entries, AssignmentTable):
        return entries.names
    return dict.fromkeys(entry.assignment for entry in entries)


def listed_tickets(checkpoint: Checkpoint) -> Collection[str]:
    """The digests of a checkpoint's tickets; whether one is among them is quickly told."""
    tickets: Sequence[str] = checkpoint.tickets
    return tickets if isinstance(tickets, KeptList) else frozenset(tickets)
