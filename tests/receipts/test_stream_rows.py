"""Rows of receipts and tickets say what the objects in memory say."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.objects import (
    ClosingRecord,
    Receipt,
)
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.ledgers import Ledger
from agentbeat_receipts.streams.others import Others
from agentbeat_receipts.streams.records import ReceiptRecord, TicketRecord
from agentbeat_receipts.streams.sightings import PutOff, Sighted
from agentbeat_receipts.streams.stored_lists import listed
from agentbeat_receipts.streams.tables import Tables, shown_digest
from agentbeat_receipts.verification.facts import Foreign
from agentbeat_receipts.verification.relations import (
    Link,
    assignment_counts,
    assignments,
    cited_by_both,
    followed,
    links,
    places,
    sorted_digests,
    ticket_sharers,
    without,
)
from support.receipt_batches import honest, keyring


def _digest(number: int) -> str:
    return shown_digest(bytes([number]) * 32)


TEMPLATE = ReceiptRecord.of(
    next(iter(honest().receipts.values())).body,  # type: ignore[arg-type]  # a receipt
    frozenset({None}),
)
names, few = st.sampled_from(["a-1", "a-2", "a-3"]), st.integers(0, 5).map(_digest)
some_receipts = st.dictionaries(
    few,
    st.builds(
        TEMPLATE._replace,
        assignment=names,
        ticket=st.none() | few,
        previous=few,
        sequence=st.integers(1, 4),
        envelope=st.none() | few,
    ),
)
some_tickets = st.dictionaries(
    few, st.builds(TicketRecord, st.just(TEMPLATE.manifest), names, st.none() | few, st.just(TEMPLATE.faults))
)


def _sorted_out(receipts: dict[str, ReceiptRecord], tickets: dict[str, TicketRecord], *, twice: bool) -> Any:
    tables = Tables()
    ledger = Ledger(keyring().public, Gathering(), tables)
    for _ in range(1 + twice):
        ledger.take(0, (), Sighted([*receipts.items(), *tickets.items()], [], [], [], []))
    return tables, ledger.sort_out(ledger.choose(TEMPLATE.manifest))


@given(some_receipts, some_tickets, st.sets(few), st.booleans())
def test_rows_say_what_objects_in_memory_say(
    receipts: dict[str, ReceiptRecord], tickets: dict[str, TicketRecord], some: set[str], twice: bool
) -> None:
    tables, holdings = _sorted_out(receipts, tickets, twice=twice)
    checkpoint = listed(tables, sorted(bytes.fromhex(digest[7:]) for digest in some))
    kept, told = holdings.receipts, holdings.tickets

    def facts(link: Link) -> tuple[object, ...]:
        receipt = link.receipt
        shown = (receipt.assignment, receipt.ticket, receipt.sequence, receipt.previous, receipt.attempts)
        return (*shown, receipt.is_sealed, link._replace(receipt=None))  # type: ignore[arg-type]  # shown

    expected = sorted(map(repr, map(facts, links(receipts, tickets, some))))
    assert sorted(map(repr, map(facts, links(kept, told, checkpoint)))) == expected
    assert sorted(ticket_sharers(kept)) == sorted(ticket_sharers(receipts))
    for held, rows in ((receipts, kept), (tickets, told)):
        assert dict(assignment_counts(rows)) == dict(assignment_counts(held))
        assert set(assignments(rows)) == set(assignments(held))
        assert tuple(sorted_digests(rows)) == sorted_digests(held)
        assert set(without(sorted_digests(rows), checkpoint)) == held.keys() - some
        assert set(without(checkpoint, sorted_digests(rows))) == some - held.keys()
    for number in range(6):
        assert (number in places(kept)) is (number in places(receipts))
        assert (_digest(number) in followed(kept)) is (_digest(number) in followed(receipts))
        assert (_digest(number) in kept) is (_digest(number) in receipts)


@given(some_receipts, some_receipts, st.sets(few, max_size=2), st.sets(few, max_size=2))
def test_what_others_cite_too_is_told_as_in_memory(
    receipts: dict[str, ReceiptRecord], theirs: dict[str, ReceiptRecord], heads: set[str], links_: set[str]
) -> None:
    strangers = {
        shown_digest(b"\xff" + bytes([place]) * 31): record._replace(manifest=_digest(9))
        for place, record in enumerate(theirs.values())
    }
    tables, holdings = _sorted_out({**receipts, **strangers}, {}, twice=False)
    whole = {_digest(8): Foreign(ClosingRecord, _digest(9), links=tuple(links_))}
    expected = dict(whole)
    for digest, record in strangers.items():
        expected[digest] = Foreign(Receipt, _digest(9), tickets=(record.ticket,), links=(record.previous,))
    others = Others(tables, whole)
    assert {digest: (item.kind, item.manifest, item.links) for digest, item in others.items()} == {
        digest: (item.kind, item.manifest, item.links) for digest, item in expected.items()
    }
    both, in_both = cited_by_both(expected, receipts, heads), cited_by_both(others, holdings.receipts, heads)
    assert [_digest(n) in in_both for n in range(6)] == [_digest(n) in both for n in range(6)]


def _peak(count: int) -> int:
    """How many bytes are in memory at most while so many receipts are taken in and gone over."""
    drawn = random.Random(1)
    digests = [shown_digest(drawn.randbytes(32)) for _ in range(2 * count + 1)]
    tables = Tables()
    ledger = Ledger(keyring().public, Gathering(), tables)
    tracemalloc.start()
    for place in range(count):
        name, held = f"p-{place % 25}.arm.{place}", digests[count + place]
        row = TEMPLATE._replace(assignment=name, ticket=held, previous=digests[place - 1], sequence=place + 1)
        ticket = TicketRecord(row.manifest, name, None, row.faults)
        some = [(digests[place], row), (held, ticket)]
        ledger.take(0, (), Sighted(some, [], [PutOff(place, name)], [], []))
    holdings = ledger.sort_out(ledger.choose(TEMPLATE.manifest))
    held_tickets, counts = sorted_digests(holdings.tickets), assignment_counts(holdings.receipts)
    assert sum(1 for _ in links(holdings.receipts, holdings.tickets, ())) == count
    assert sum(1 for name, _ in counts.items() if name in assignments(holdings.tickets)) == count
    assert list(ticket_sharers(holdings.receipts)) == list(without(held_tickets, held_tickets)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_ten_times_as_many_receipts_take_no_more_memory() -> None:
    _peak(10)  # what is made once is made
    assert _peak(3000) < _peak(300) + 16 * 1024
