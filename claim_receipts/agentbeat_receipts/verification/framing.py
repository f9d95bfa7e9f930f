"""Step 2, its first half: what frames the runs. Manifest, tickets and checkpoint must fit one another."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import chain

from agentbeat_receipts.objects import Checkpoint, ClosingRecord, ReportBundle
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.relations import (
    assignment_counts,
    assignments,
    cited_by_both,
    listed_tickets,
    promised_assignments,
    sorted_digests,
    without,
)
from agentbeat_receipts.verification.results import Finding

__all__ = ["foreign_findings", "framing_findings", "sole_checkpoint"]


def sole_checkpoint(holdings: Holdings) -> tuple[str, Checkpoint] | None:
    """The checkpoint with its digest; None when there is none, or more than one."""
    checkpoints = holdings.of(Checkpoint)
    return next(iter(checkpoints.items())) if len(checkpoints) == 1 else None


def framing_findings(holdings: Holdings) -> Iterator[Finding]:
    """Everything wrong with manifest, tickets, checkpoint and report as such."""
    if holdings.manifest is None:
        yield Finding(Reason.MANIFEST_MISSING, holdings.manifest_digest or "")
    yield from _rivals(holdings)
    if not holdings.prospective:
        for digest in chain(holdings.tickets, holdings.of(Checkpoint)):
            yield Finding(Reason.TICKET_UNEXPECTED, digest, "in a retrospective batch")
        return
    yield from _tickets(holdings)
    yield from _checkpoint(holdings)


def _rivals(holdings: Holdings) -> Iterator[Finding]:
    singles = (
        (Checkpoint, Reason.CHECKPOINT_RIVAL),
        (ClosingRecord, Reason.CLOSING_RIVAL),
        (ReportBundle, Reason.REPORT_RIVAL),
    )
    for kind, reason in singles:
        held = holdings.of(kind)
        if len(held) > 1:
            yield from (Finding(reason, digest, f"got {len(held)}, expected one") for digest in held)


def _tickets(holdings: Holdings) -> Iterator[Finding]:
    for assignment, count in assignment_counts(holdings.tickets).items():
        if count > 1:
            yield Finding(Reason.TICKET_RIVAL, assignment, f"got {count}, expected one")
    if holdings.manifest is not None:
        promised, held = promised_assignments(holdings.manifest), assignments(holdings.tickets)
        for assignment in without(held, promised):
            yield Finding(Reason.TICKET_UNKNOWN_ASSIGNMENT, assignment)
        if not holdings.of(Checkpoint):
            for assignment in without(promised, held):
                yield Finding(Reason.TICKET_MISSING, assignment)


def _checkpoint(holdings: Holdings) -> Iterator[Finding]:
    tickets = holdings.tickets
    held = sorted_digests(tickets)
    if not holdings.of(Checkpoint):
        yield Finding(Reason.CHECKPOINT_MISSING, holdings.manifest_digest or "")
    for digest, checkpoint in holdings.of(Checkpoint).items():
        listed = listed_tickets(checkpoint)
        for ticket in without(held, listed):
            yield Finding(Reason.TICKET_NOT_IN_CHECKPOINT, ticket)
        for ticket, facts in tickets.items():
            if facts.anchor != checkpoint.anchor and ticket in listed:
                yield Finding(Reason.TICKET_ANCHOR_MISMATCH, ticket)
        for ticket in without(listed, held):
            yield Finding(Reason.TICKET_MISSING, ticket)
        if holdings.manifest is not None:
            yield from _counts(digest, len(listed), len(holdings.manifest.assignments))


def _counts(digest: str, listed: int, assignments: int) -> Iterator[Finding]:
    if listed != assignments:
        reason = Reason.CHECKPOINT_SURPLUS if listed > assignments else Reason.CHECKPOINT_SHORT
        yield Finding(reason, digest, f"got {listed} tickets, expected {assignments}")


def foreign_findings(holdings: Holdings) -> Iterator[Finding]:
    """Objects of another manifest that cite our tickets or our chain."""
    if not holdings.foreign:
        return
    checkpoints = holdings.of(Checkpoint)
    tickets = (holdings.tickets, *map(listed_tickets, checkpoints.values()))
    first = () if holdings.prospective else (holdings.manifest_digest,)
    heads = (closing.head for closing in holdings.of(ClosingRecord).values())
    cited = cited_by_both(holdings.foreign, holdings.receipts, heads)
    places = (checkpoints, holdings.receipts, first, cited)
    for digest, item in holdings.foreign.items():
        if _cites(item.tickets, (*tickets, cited)) or _cites(item.links, places):
            yield Finding(Reason.FOREIGN_CITES_OURS, digest, f"a {item.kind.__name__}")


def _cites(digests: Iterable[str | None], ours: Iterable[Container[object]]) -> bool:
    return any(digest is not None and digest in some for digest in digests for some in ours)
