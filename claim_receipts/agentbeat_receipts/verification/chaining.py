"""Step 3: receipts against tickets, against each other, and against the closing record.

What the receipts at hand prove needs no other object, so that keeping one back does not hide it:

    two assignments cite one ticket            one of them is not its own
    another ticket than the own one is cited   whether that one is held or not
    a place above the number of assignments    more receipts were signed than there are assignments

With one sound receipt for each assignment and no place above their number, the chain has no gap.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from agentbeat_receipts.objects import ClosingRecord
from agentbeat_receipts.verification.framing import sole_checkpoint
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.relations import (
    Link,
    assignment_counts,
    assignments,
    followed,
    links,
    listed_tickets,
    places,
    promised_assignments,
    ticket_sharers,
    without,
)
from agentbeat_receipts.verification.results import Finding

__all__ = ["chain_findings", "terminals"]


def terminals(holdings: Holdings) -> dict[str, str]:
    """The digest of the receipt of each assignment that has one only, in the order of assignments."""
    counts = assignment_counts(holdings.receipts)
    found = {
        facts.assignment: digest
        for digest, facts in holdings.receipts.items()
        if counts[facts.assignment] == 1
    }
    return dict(sorted(found.items()))


def chain_findings(holdings: Holdings) -> Iterator[Finding]:
    """Everything wrong with receipts and closing record, and what is missing of them."""
    receipts, first, prospective = holdings.receipts, _before_first(holdings), holdings.prospective
    yield from _assignments(holdings)
    for name, other in ticket_sharers(receipts):
        yield Finding(Reason.TICKET_REUSED, name, f"also of {other}")
    promised = None if holdings.manifest is None else len(holdings.manifest.assignments)
    checkpoint = sole_checkpoint(holdings)
    listed = None if checkpoint is None else listed_tickets(checkpoint[1])
    held = places(receipts)
    for link in links(receipts, holdings.tickets, listed or ()):
        yield from _citation(link, prospective=prospective, framed=listed is not None)
        yield from _place(link, held, first, promised)
    yield from _closing(holdings, first)


def _before_first(holdings: Holdings) -> str | None:
    """What the first receipt's `previous` must be; None when that is not known."""
    if not holdings.prospective:
        return holdings.manifest_digest
    found = sole_checkpoint(holdings)
    return None if found is None else found[0]


def _assignments(holdings: Holdings) -> Iterator[Finding]:
    for assignment, count in assignment_counts(holdings.receipts).items():
        if count > 1:
            yield Finding(Reason.RIVAL_TERMINALS, assignment, f"got {count}, expected one")
    if holdings.manifest is not None:
        promised, held = promised_assignments(holdings.manifest), assignments(holdings.receipts)
        for name in without(held, promised):
            yield Finding(Reason.RECEIPT_UNKNOWN_ASSIGNMENT, name)
        for name in without(promised, held):
            yield Finding(Reason.TERMINAL_MISSING, name)


def _citation(link: Link, *, prospective: bool, framed: bool) -> Iterator[Finding]:
    """Whether a receipt cites the ticket of its own assignment.

    Args:
        framed: whether there is one checkpoint.
    """
    assignment = link.receipt.assignment
    if link.receipt.ticket is None:
        if prospective:
            yield Finding(Reason.RECEIPT_UNTICKETED, assignment)
        return
    if not prospective:
        yield Finding(Reason.TICKET_UNEXPECTED, assignment, "cited in a retrospective batch")
    elif framed and not link.is_listed:
        yield Finding(Reason.RECEIPT_TICKET_NOT_IN_CHECKPOINT, assignment)
    if link.ticketed is None:
        if link.has_ticket:
            yield Finding(Reason.RECEIPT_TICKET_MISMATCH, assignment, "its own is held")
    elif link.ticketed != assignment:
        yield Finding(Reason.RECEIPT_TICKET_MISMATCH, assignment, f"of {link.ticketed}")


def _place(link: Link, held: Container[int], first: str | None, promised: int | None) -> Iterator[Finding]:
    """Whether a receipt follows the one that it cites.

    Args:
        held: the places of the chain at which there are receipts.
        first: what the first one must cite, where that is known.
        promised: how many assignments there are, where that is known.
    """
    digest, place, previous = link.digest, link.receipt.sequence, link.receipt.previous
    if link.is_fork:
        yield Finding(Reason.CHAIN_FORK, digest)
    if promised is not None and place > promised:
        yield Finding(Reason.CHAIN_SURPLUS, digest, f"place {place} of {promised} assignments")
    if link.before is not None:
        if link.before != place - 1:
            yield Finding(Reason.CHAIN_REORDER, digest, f"place {place} after place {link.before}")
    elif place == 1:
        if first is not None and previous != first:
            yield Finding(Reason.CHAIN_HEAD, digest)
    elif previous == first or place - 1 in held:
        yield Finding(Reason.CHAIN_REORDER, digest, f"place {place} does not follow place {place - 1}")
    else:
        yield Finding(Reason.CHAIN_GAP, digest, f"no receipt at place {place - 1}")


def _closing(holdings: Holdings, first: str | None) -> Iterator[Finding]:
    closings = holdings.of(ClosingRecord)
    if not closings and holdings.prospective:
        yield Finding(Reason.CLOSING_MISSING, holdings.manifest_digest or "")
    for digest, closing in closings.items():
        for fault in _contradictions(closing, holdings, first):
            yield Finding(Reason.CLOSING_CONTRADICTS, digest, fault)


def _contradictions(closing: ClosingRecord, holdings: Holdings, first: str | None) -> Iterator[str]:
    receipts = holdings.receipts
    last = max((receipt.sequence for receipt in receipts.values()), default=0)
    if last > closing.count:
        yield f"counts {closing.count}, but place {last} is held"
    if closing.head in receipts:
        if receipts[closing.head].sequence != closing.count:
            yield f"counts {closing.count}, but its head is at place {receipts[closing.head].sequence}"
    elif closing.count in places(receipts):
        yield "another receipt is held at its head's place"
    elif closing.count and closing.head in followed(receipts):
        yield "a receipt follows its head"
    if first is not None and (closing.head == first) != (closing.count == 0):
        yield "its head and its count do not fit"
    if holdings.manifest is not None and closing.count > len(holdings.manifest.assignments):
        yield f"counts {closing.count} of {len(holdings.manifest.assignments)} assignments"
