"""Step 3: receipts against tickets, against each other, and against the closing record.

What the receipts at hand prove needs no other object, so that keeping one back does not hide it:

    two assignments cite one ticket            one of them is not its own
    another ticket than the own one is cited   whether that one is held or not
    a place above the number of assignments    more receipts were signed than there are assignments

With one sound receipt for each assignment and no place above their number, the chain has no gap.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import cached_property

from agentbeat_receipts.objects import ClosingRecord
from agentbeat_receipts.repeats import repeated
from agentbeat_receipts.verification.facts import (
    ReceiptFacts,
    assignment_counts,
    listed_tickets,
    promised_assignments,
)
from agentbeat_receipts.verification.framing import sole_checkpoint
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason
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
    yield from _assignments(holdings)
    yield from _citations(holdings)
    yield from _shared_tickets(holdings.receipts)
    first = _before_first(holdings)
    yield from _links(holdings, first)
    yield from _closing(holdings, first)


def _before_first(holdings: Holdings) -> str | None:
    """What the first receipt's `previous` must be; None when that is not known."""
    if not holdings.prospective:
        return holdings.manifest_digest
    found = sole_checkpoint(holdings)
    return None if found is None else found[0]


def _assignments(holdings: Holdings) -> Iterator[Finding]:
    counts = assignment_counts(holdings.receipts)
    for assignment, count in counts.items():
        if count > 1:
            yield Finding(Reason.RIVAL_TERMINALS, assignment, f"got {count}, expected one")
    if holdings.manifest is not None:
        promised = promised_assignments(holdings.manifest)
        for name in counts:
            if name not in promised:
                yield Finding(Reason.RECEIPT_UNKNOWN_ASSIGNMENT, name)
        for name in promised:
            if name not in counts:
                yield Finding(Reason.TERMINAL_MISSING, name)


def _citations(holdings: Holdings) -> Iterator[Finding]:
    checkpoint = sole_checkpoint(holdings)
    listed = None if checkpoint is None else listed_tickets(checkpoint[1])
    tickets = holdings.tickets
    ticketed = assignment_counts(tickets)
    for receipt in holdings.receipts.values():
        if receipt.ticket is None:
            if holdings.prospective:
                yield Finding(Reason.RECEIPT_UNTICKETED, receipt.assignment)
            continue
        if not holdings.prospective:
            yield Finding(Reason.TICKET_UNEXPECTED, receipt.assignment, "cited in a retrospective batch")
        elif listed is not None and receipt.ticket not in listed:
            yield Finding(Reason.RECEIPT_TICKET_NOT_IN_CHECKPOINT, receipt.assignment)
        ticket = tickets.get(receipt.ticket)
        if ticket is None:
            if receipt.assignment in ticketed:
                yield Finding(Reason.RECEIPT_TICKET_MISMATCH, receipt.assignment, "its own is held")
        elif ticket.assignment != receipt.assignment:
            yield Finding(Reason.RECEIPT_TICKET_MISMATCH, receipt.assignment, f"of {ticket.assignment}")


def _shared_tickets(receipts: Mapping[str, ReceiptFacts]) -> Iterator[Finding]:
    cited = repeated(lambda: (r.ticket for r in receipts.values() if r.ticket is not None))
    citing: dict[str, set[str]] = {ticket: set() for ticket in cited}
    for receipt in receipts.values() if cited else ():
        if receipt.ticket in citing:
            citing[receipt.ticket].add(receipt.assignment)
    for names in citing.values():
        # Two receipts of one assignment are rivals, and cite its one ticket.
        if len(names) > 1:
            one, two, *_ = sorted(names)
            for name in names:
                yield Finding(Reason.TICKET_REUSED, name, f"also of {two if name == one else one}")


def _links(holdings: Holdings, first: str | None) -> Iterator[Finding]:
    receipts = holdings.receipts
    promised = None if holdings.manifest is None else len(holdings.manifest.assignments)
    forked = repeated(lambda: (receipt.sequence for receipt in receipts.values()))
    followed = repeated(lambda: (receipt.previous for receipt in receipts.values()))
    places = _Places(receipts)
    for digest, receipt in receipts.items():
        if receipt.sequence in forked or receipt.previous in followed:
            yield Finding(Reason.CHAIN_FORK, digest)
        if promised is not None and receipt.sequence > promised:
            detail = f"place {receipt.sequence} of {promised} assignments"
            yield Finding(Reason.CHAIN_SURPLUS, digest, detail)
        yield from _link(digest, receipt, receipts, places, first)


class _Places:
    """The places of the chain that are held; looked at when one is asked for, which is seldom."""

    def __init__(self, receipts: Mapping[str, ReceiptFacts]) -> None:
        self._receipts = receipts

    def __contains__(self, place: object) -> bool:
        return place in self._held

    @cached_property
    def _held(self) -> frozenset[int]:
        return frozenset(receipt.sequence for receipt in self._receipts.values())


def _link(
    digest: str,
    receipt: ReceiptFacts,
    receipts: Mapping[str, ReceiptFacts],
    places: Container[int],
    first: str | None,
) -> Iterator[Finding]:
    before = receipts.get(receipt.previous)
    place = receipt.sequence
    if before is not None:
        if before.sequence != place - 1:
            detail = f"place {place} after place {before.sequence}"
            yield Finding(Reason.CHAIN_REORDER, digest, detail)
    elif place == 1:
        if first is not None and receipt.previous != first:
            yield Finding(Reason.CHAIN_HEAD, digest)
    elif receipt.previous == first or place - 1 in places:
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
    elif any(receipt.sequence == closing.count for receipt in receipts.values()):
        yield "another receipt is held at its head's place"
    elif closing.count and any(receipt.previous == closing.head for receipt in receipts.values()):
        yield "a receipt follows its head"
    if first is not None and (closing.head == first) != (closing.count == 0):
        yield "its head and its count do not fit"
    if holdings.manifest is not None and closing.count > len(holdings.manifest.assignments):
        yield f"counts {closing.count} of {len(holdings.manifest.assignments)} assignments"
