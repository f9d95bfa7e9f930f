"""Objects that were signed by the right keys and do not fit one another: everything is Invalid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from agentbeat_receipts.objects import Document, Receipt, Ticket
from agentbeat_receipts.tampering.cases import Expected, FaultCase, Party, Timing
from agentbeat_receipts.tampering.exhibits import Exhibit, changed
from agentbeat_receipts.tampering.makings import HONEST, Making, make
from agentbeat_receipts.tampering.resigning import recommitted, relinked
from agentbeat_receipts.verification.results import Level

__all__ = ["CHAINED"]

_RUN: Final = "p-1.guarded.1"


def _fork(making: Making) -> Exhibit:
    """The last receipt was signed at the place of the one before it."""
    exhibit = make(making)
    *_, before, last = exhibit.assignments
    place = exhibit.receipt(before)
    return relinked(
        exhibit,
        {last: lambda body: changed(body, previous=place.previous, sequence=place.sequence)},
    )


def _reorder(making: Making) -> Exhibit:
    """The last two receipts were signed with each other's place."""
    exhibit = make(making)
    *_, before, last = exhibit.assignments
    places = {before: exhibit.receipt(last).sequence, last: exhibit.receipt(before).sequence}
    moved: dict[str, Callable[[Receipt], Receipt]] = {
        name: lambda body, place=place: changed(body, sequence=place)  # type: ignore[misc]  # one place each
        for name, place in places.items()
    }
    return relinked(exhibit, moved)


def _other_manifest(making: Making) -> Exhibit:
    exhibit = make(making)
    return replace(exhibit, manifest=exhibit.signed(changed(exhibit.promised(), title="Another")))


def _closing(making: Making) -> Exhibit:
    """The closing record was signed over one receipt less."""
    exhibit = make(making)
    *_, before, _ = exhibit.assignments
    record = changed(
        exhibit.closed(),
        count=exhibit.receipt(before).sequence,
        head=exhibit.receipt(before).digest(),
    )
    return replace(exhibit, closing=exhibit.signed(record))


def _late_ticket(making: Making) -> Exhibit:
    """The last receipt cites a ticket that was signed after the checkpoint."""
    exhibit = make(making)
    last = exhibit.assignments[-1]
    ticket = Ticket(manifest=exhibit.promised().digest(), assignment=last, anchor=None)
    opening = changed(exhibit.openings[last], ticket=ticket.digest())
    return recommitted(exhibit, last, opening)


def _rival(making: Making) -> Exhibit:
    """A second terminal of one assignment, at the end of the chain."""
    exhibit = make(making)
    last = exhibit.receipt(exhibit.assignments[-1])
    rival = changed(
        exhibit.receipt(_RUN), sequence=last.sequence + 1, previous=last.digest(), status="rejected"
    )
    return exhibit.also(exhibit.signed(rival))


def _done_again(making: Making) -> Exhibit:
    """A run was signed, and done again: the second receipt is delivered, and neither first nor closing."""
    exhibit = make(making)
    place = exhibit.assignments.index(_RUN)
    head = changed(exhibit.receipt(_RUN), status="failed").digest()
    receipts = dict(exhibit.receipts)
    for name in exhibit.assignments[place:]:
        body = changed(exhibit.receipt(name), previous=head, sequence=exhibit.receipt(name).sequence + 1)
        receipts[name], head = exhibit.signed(body), body.digest()
    return replace(exhibit, receipts=receipts, closing=None)


def _one_ticket(making: Making) -> Exhibit:
    """A receipt was signed on another assignment's ticket; both tickets are kept back."""
    exhibit = make(making)
    *_, before, last = exhibit.assignments
    opening = changed(exhibit.openings[last], ticket=exhibit.receipt(before).ticket)
    return recommitted(exhibit, last, opening).without("tickets", before, last)


def _elsewhere(making: Making, member: str) -> Exhibit:
    """A receipt of another epoch, signed for it, cites what one of ours cites."""
    exhibit = make(making)
    other = make(_EPOCH)
    last = exhibit.assignments[-1]
    cited = getattr(exhibit.receipt(last), member)
    stranger: Document = exhibit.signed(changed(other.receipt(last), **{member: cited}))
    return exhibit.also(stranger)


#: Another epoch of the same parties.
_EPOCH: Final = replace(HONEST, manifest={"title": "Another epoch"})


CHAINED: Final = (
    FaultCase(
        name="chain fork",
        layer="L1",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="two receipts were signed with one place and one predecessor",
        rule="a chain has one receipt at each place",
        expected=Expected.unsound("chain_fork", "closing_contradicts"),
        make=_fork,
    ),
    FaultCase(
        name="chain reorder",
        layer="L1",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="the last two receipts were signed with each other's place",
        rule="a receipt's place is one more than that of the receipt that it cites",
        expected=Expected.unsound("chain_reorder", "closing_contradicts"),
        make=_reorder,
    ),
    FaultCase(
        name="manifest other than the ticketed one",
        layer="L1",
        timing=Timing.POST,
        by=Party.MANIFEST,
        done="another signed manifest is delivered than the one that tickets and receipts cite",
        rule="tickets bind their manifest by digest; a manifest that nothing cites is none",
        expected=Expected.unsound(
            "manifest_not_cited",
            *("anchor_missing", "ticket_missing", "checkpoint_missing", "closing_missing"),
            *("terminal_missing", "terminals_missing", "arm_empty", "evidence_absent"),
            *("report_absent", "transaction_undetermined"),
            level=Level.CR_2,
        ),
        make=_other_manifest,
    ),
    FaultCase(
        name="closing record contradicts",
        layer="L3",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="the closing record was signed over one receipt less than there are",
        rule="the closing record's count and head are those of the last receipt",
        expected=Expected.unsound("closing_contradicts"),
        make=_closing,
    ),
    FaultCase(
        name="ticket not in the checkpoint",
        layer="L3",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="a receipt was signed on a ticket that the checkpoint does not list",
        rule="after the checkpoint there are no more tickets",
        expected=Expected.unsound("receipt_ticket_not_in_checkpoint", "receipt_ticket_mismatch"),
        make=_late_ticket,
    ),
    FaultCase(
        name="two terminals for one assignment",
        layer="L3",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="a second, different receipt of one assignment was signed",
        rule="an assignment has one terminal; nobody chooses among two",
        expected=Expected.unsound(
            "rival_terminals", "chain_surplus", "closing_contradicts", "terminals_missing"
        ),
        make=_rival,
    ),
    FaultCase(
        name="a run done again",
        layer="L3",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="a run was signed twice; its first receipt is kept back, and so is the closing record",
        rule="a place above the number of assignments says that more was signed than was promised",
        expected=Expected.unsound("chain_surplus", "chain_gap", "closing_missing"),
        make=_done_again,
    ),
    FaultCase(
        name="one ticket for two receipts",
        layer="L3",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="a receipt was signed on another run's ticket; the tickets of both are kept back",
        rule="a ticket is for one assignment; two receipts that cite it show it without the ticket",
        expected=Expected.unsound("ticket_reused", "ticket_missing", level=Level.CR_2),
        make=_one_ticket,
    ),
    FaultCase(
        name="another epoch cites our ticket",
        layer="L1",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="a receipt of another manifest was signed on one of our tickets",
        rule="others' objects are set aside, unless they cite our tickets or chain",
        expected=Expected.unsound("foreign_cites_ours"),
        make=lambda making: _elsewhere(making, "ticket"),
    ),
    FaultCase(
        name="another epoch cites our chain",
        layer="L1",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="a receipt of another manifest was signed after one of our receipts",
        rule="others' objects are set aside, unless they cite our tickets or chain",
        expected=Expected.unsound("foreign_cites_ours"),
        make=lambda making: _elsewhere(making, "previous"),
    ),
)
