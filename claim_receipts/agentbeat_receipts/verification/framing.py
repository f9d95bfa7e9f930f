"""Step 2, its first half: what frames the runs. Manifest, tickets and checkpoint must fit one another."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import chain

from agentbeat_receipts.objects import Checkpoint, ClosingRecord, ReportBundle
from agentbeat_receipts.verification.facts import assignment_counts, listed_tickets, promised_assignments
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason
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
        for digest in (*holdings.tickets, *holdings.of(Checkpoint)):
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
    counts = assignment_counts(holdings.tickets)
    for assignment, count in counts.items():
        if count > 1:
            yield Finding(Reason.TICKET_RIVAL, assignment, f"got {count}, expected one")
    if holdings.manifest is not None:
        promised = promised_assignments(holdings.manifest)
        for assignment in counts:
            if assignment not in promised:
                yield Finding(Reason.TICKET_UNKNOWN_ASSIGNMENT, assignment)
        if not holdings.of(Checkpoint):
            for assignment in promised:
                if assignment not in counts:
                    yield Finding(Reason.TICKET_MISSING, assignment)


def _checkpoint(holdings: Holdings) -> Iterator[Finding]:
    tickets = holdings.tickets
    if not holdings.of(Checkpoint):
        yield Finding(Reason.CHECKPOINT_MISSING, holdings.manifest_digest or "")
    for digest, checkpoint in holdings.of(Checkpoint).items():
        listed = listed_tickets(checkpoint)
        for held, ticket in tickets.items():
            if held not in listed:
                yield Finding(Reason.TICKET_NOT_IN_CHECKPOINT, held)
            elif ticket.anchor != checkpoint.anchor:
                yield Finding(Reason.TICKET_ANCHOR_MISMATCH, held)
        for ticket_digest in listed:
            if ticket_digest not in tickets:
                yield Finding(Reason.TICKET_MISSING, ticket_digest)
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
    cited = _cited_by_both(holdings)
    places = (checkpoints, holdings.receipts, first, cited)
    for digest, item in holdings.foreign.items():
        if _cites(item.tickets, (*tickets, cited)) or _cites(item.links, places):
            yield Finding(Reason.FOREIGN_CITES_OURS, digest, f"a {item.kind.__name__}")


def _cited_by_both(holdings: Holdings) -> frozenset[str]:
    """What others' receipts and closing records cite and one of ours cites too: ours, held or not."""
    theirs = {
        cited
        for item in holdings.foreign.values()
        if item.kind is not Checkpoint  # It lists many.
        for cited in (*item.tickets, *item.links)
    }
    heads = (closing.head for closing in holdings.of(ClosingRecord).values())
    links = (cited for receipt in holdings.receipts.values() for cited in (receipt.ticket, receipt.previous))
    return frozenset(cited for cited in chain(heads, links) if cited is not None and cited in theirs)


def _cites(digests: Iterable[str | None], ours: Iterable[Container[object]]) -> bool:
    return any(digest is not None and digest in some for digest in digests for some in ours)
