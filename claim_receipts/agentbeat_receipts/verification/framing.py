"""Step 2, its first half: what frames the runs. Manifest, tickets and checkpoint must fit one another."""

from __future__ import annotations

from collections.abc import Iterator

from agentbeat_receipts.objects import Checkpoint, ClosingRecord, ReportBundle
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
    by_assignment: dict[str, list[str]] = {}
    for digest, ticket in holdings.tickets.items():
        by_assignment.setdefault(ticket.assignment, []).append(digest)
    for assignment, digests in by_assignment.items():
        if len(digests) > 1:
            yield Finding(Reason.TICKET_RIVAL, assignment, f"got {len(digests)}, expected one")
    if holdings.manifest is not None:
        known = {entry.assignment for entry in holdings.manifest.assignments}
        for assignment in by_assignment.keys() - known:
            yield Finding(Reason.TICKET_UNKNOWN_ASSIGNMENT, assignment)
        if not holdings.of(Checkpoint):
            for assignment in known - by_assignment.keys():
                yield Finding(Reason.TICKET_MISSING, assignment)


def _checkpoint(holdings: Holdings) -> Iterator[Finding]:
    tickets = holdings.tickets
    if not holdings.of(Checkpoint):
        yield Finding(Reason.CHECKPOINT_MISSING, holdings.manifest_digest or "")
    for digest, checkpoint in holdings.of(Checkpoint).items():
        listed = set(checkpoint.tickets)
        for ticket in tickets.keys() - listed:
            yield Finding(Reason.TICKET_NOT_IN_CHECKPOINT, ticket)
        for ticket in listed - tickets.keys():
            yield Finding(Reason.TICKET_MISSING, ticket)
        for ticket in listed & tickets.keys():
            if tickets[ticket].anchor != checkpoint.anchor:
                yield Finding(Reason.TICKET_ANCHOR_MISMATCH, ticket)
        if holdings.manifest is not None:
            yield from _counts(digest, len(listed), len(holdings.manifest.assignments))


def _counts(digest: str, listed: int, assignments: int) -> Iterator[Finding]:
    if listed != assignments:
        reason = Reason.CHECKPOINT_SURPLUS if listed > assignments else Reason.CHECKPOINT_SHORT
        yield Finding(reason, digest, f"got {listed} tickets, expected {assignments}")


def foreign_findings(holdings: Holdings) -> Iterator[Finding]:
    """Objects of another manifest that cite our tickets or our chain."""
    tickets = set(holdings.tickets)
    for checkpoint in holdings.of(Checkpoint).values():
        tickets |= set(checkpoint.tickets)
    chain = {*holdings.of(Checkpoint), *holdings.receipts}
    if not holdings.prospective and holdings.manifest_digest is not None:
        chain.add(holdings.manifest_digest)
    for digest, item in holdings.foreign.items():
        if not tickets.isdisjoint(item.tickets) or not chain.isdisjoint(item.links):
            yield Finding(Reason.FOREIGN_CITES_OURS, digest, f"a {item.kind.__name__}")
