"""What is kept of a long batch: names, digests, assignments and rows, in little memory and without a loss."""

from __future__ import annotations

import pickle
import random
import re
import tracemalloc
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol import ProtocolError
from agentbeat_receipts.canonical import pae
from agentbeat_receipts.digests import Digests, raw_digest, shown_digest
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.names import NameCounts, Names
from agentbeat_receipts.objects import (
    Assignment,
    AssignmentTable,
    Body,
    Checkpoint,
    Document,
    Manifest,
    read_document,
    read_whole,
    write_document,
)
from agentbeat_receipts.repeats import repeated
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.ledgers import Ledger
from agentbeat_receipts.streams.long_lists import read_long
from agentbeat_receipts.streams.records import ReceiptRecord, TicketRecord
from agentbeat_receipts.streams.sightings import Sighted
from agentbeat_receipts.streams.spills import Spill
from support.receipt_batches import honest, manifest

raw_digests = st.binary(min_size=32, max_size=32)


@given(st.lists(raw_digests | st.sampled_from([bytes(32), b"\xff" * 32]), max_size=40), raw_digests)
def test_digests_are_the_sorted_tuple_of_them(found: list[bytes], other: bytes) -> None:
    digests = Digests.of(b"".join(found))
    expected = tuple(sorted({shown_digest(raw) for raw in found}))
    assert digests == expected
    assert expected == digests
    assert tuple(digests) == expected == digests[:]
    assert hash(digests) == hash(expected)
    assert [digests.place(digest) for digest in expected] == list(range(len(expected)))
    assert (shown_digest(other) in digests) is (other in found)
    assert [digests[place] for place in range(-len(expected), 0)] == list(expected)


def test_what_is_no_digest_is_not_among_digests() -> None:
    digests = Digests(bytes(32))
    assert digests[0] in digests
    for other in (None, 3, "", "sha256:", digests[0].upper(), digests[0] + "0", digests[0][:-1]):
        assert other not in digests
    with pytest.raises(IndexError):
        _ = digests[1]


@given(st.lists(st.text(max_size=6), max_size=80), st.text(max_size=6))
def test_names_are_numbered_as_they_come(given_names: list[str], other: str) -> None:
    names = Names()
    counts = NameCounts(names)
    for name in given_names:
        counts.add(names.number(name))
    unique = list(dict.fromkeys(given_names))
    assert list(names) == unique
    assert [names.find(name) for name in unique] == list(range(len(unique)))
    assert (other in names, names.find(other) >= 0) == ((other in unique),) * 2
    assert dict(counts) == Counter(given_names)
    assert len(counts) == len(unique)


def test_a_name_with_a_lone_surrogate_is_a_name() -> None:
    names = Names()
    assert names.number("\ud800") == 0
    assert list(names) == ["\ud800"]


def test_what_is_repeated_is_found_also_where_hashes_are_alike() -> None:
    # -1 and -2 have one hash.
    assert repeated(lambda: [-1, -2, 5]) == frozenset()
    assert repeated(lambda: [-1, -2, 5, -1]) == {-1}


def _matrix(count: int) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(assignment=f"p-{n % 7}.a.{n}", profile=f"p-{n % 7}", arm="none", replicate=n // 7 + 1)
        for n in range(count)
    )


def test_a_table_of_assignments_equals_their_tuple() -> None:
    entries = _matrix(50)
    table = AssignmentTable.of(entries)
    assert table == entries
    assert entries == table
    assert hash(table) == hash(entries)
    assert (table[3], table[-1], table[2:5]) == (entries[3], entries[-1], entries[2:5])
    assert table.by_name["p-3.a.3"] == entries[3]
    assert "p-3.a.4" not in table.by_name
    assert table != AssignmentTable.of(entries[:-1])
    assert pickle.loads(pickle.dumps(table)) == table
    with pytest.raises(ValueError, match="already"):
        AssignmentTable.of((*entries, entries[0]))


def _documents() -> tuple[bytes, bytes]:
    return tuple(write_document(d) for d in honest().documents() if isinstance(d.body, Manifest | Checkpoint))  # type: ignore[return-value]  # there are two


MANIFEST, CHECKPOINT = _documents()


@pytest.mark.parametrize("raw", [MANIFEST, CHECKPOINT, MANIFEST + b"\n", CHECKPOINT + b"\n"])
def test_a_long_list_is_read_as_the_document_says(raw: bytes) -> None:
    document, message = read_long(raw)
    reading = read_whole(raw)
    assert document == reading.document
    assert message == pae(reading.document.body.TYPE, reading.canonical)
    assert write_document(document) == raw.removesuffix(b"\n")
    body: Any = document.body
    assert isinstance(getattr(body, "assignments", None) or body.tickets, AssignmentTable | Digests)


def _changed(raw: bytes, old: bytes, new: bytes) -> bytes:
    assert old in raw
    return raw.replace(old, new)


_FIRST = b'{"arm":"none","assignment":"p-1.none","profile":"p-1","replicate":1}'
_TICKET = b'"' + CHECKPOINT.split(b'"tickets":["')[1][:71] + b'"'
OTHERWISE = {
    "white space": _changed(MANIFEST, _FIRST, _FIRST + b" "),
    "another spelling": _changed(MANIFEST, _FIRST, _FIRST[:-1] + b".0}"),
    "an escape": _changed(MANIFEST, b'"p-1.none"', b'"p-1.non\\u0065"'),
    "an opening bracket for a comma": _changed(MANIFEST, _FIRST + b",", _FIRST + b"["),
    "a comma too many": _changed(MANIFEST, _FIRST + b",", _FIRST + b",,"),
    "a comma before the first": _changed(MANIFEST, b'"assignments":[', b'"assignments":[,'),
    "no assignment": MANIFEST[: MANIFEST.index(_FIRST)] + MANIFEST[MANIFEST.index(b'],"comparison') :],
    "an assignment twice": _changed(MANIFEST, _FIRST, _FIRST + b"," + _FIRST),
    "an undeclared arm": _changed(MANIFEST, b'{"arm":"none","assignment"', b'{"arm":"no","assignment"'),
    "a replicate too many": _changed(MANIFEST, _FIRST, _FIRST[:-2] + b"2}"),
    "a long replicate": _changed(MANIFEST, _FIRST, _FIRST[:-2] + b"1234567890123}"),
    "an unknown member": _changed(MANIFEST, b',"assignments":[', b',"as":1,"assignments":['),
    "the list twice": _changed(MANIFEST, b',"assignments":[', b',"assignments":[],"assignments":['),
    "a ticket twice": _changed(CHECKPOINT, _TICKET, _TICKET + b"," + _TICKET),
    "a ticket in capitals": _changed(CHECKPOINT, _TICKET, b'"sha256:' + _TICKET[8:].upper()),
    "a short ticket": _changed(CHECKPOINT, _TICKET, _TICKET[:-2] + b'"'),
    "no comma between tickets": _changed(CHECKPOINT, _TICKET + b",", _TICKET),
    "tickets in another order": _changed(CHECKPOINT, b"[" + _TICKET + b",", b"[").replace(
        b"]}", b"," + _TICKET + b"]}", 1
    ),
    "nothing after the list": MANIFEST[: MANIFEST.index(b'],"comparison')],
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_list_in_any_other_form_is_read_or_refused_as_usual(name: str) -> None:
    raw = OTHERWISE[name]
    try:
        expected: object = read_whole(raw)
    except ProtocolError as error:
        with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
            read_long(raw)
        return
    document, message = read_long(raw)
    reading = read_whole(raw)
    assert expected == reading
    assert (document, message) == (reading.document, pae(document.body.TYPE, reading.canonical))


def test_a_long_matrix_must_agree_with_itself_as_a_short_one() -> None:
    entries = _matrix(21)
    whole = manifest(
        assignments=entries, profiles=tuple(f"p-{n}" for n in range(7)), replicates=3, comparison_groups=()
    )
    for raw in (write_document(_signed(whole)),):
        assert read_long(raw)[0].body == whole
        gone = raw.replace(b'{"arm":"none","assignment":"p-3.a.10","profile":"p-3","replicate":2},', b"")
        assert gone != raw
        with pytest.raises(ProtocolError, match="replicates"):
            read_long(gone)


def _signed(body: Body) -> Document:
    document = read_document(MANIFEST)
    return Document(body=body, signature=document.signature, key_id=document.key_id)


def test_a_spill_gives_back_what_was_put_down() -> None:
    pieces = [random.Random(place).randbytes(place * 997 % 5000) for place in range(3000)]
    with Spill() as spill:
        places = [spill.put(piece) for piece in pieces]
        assert places[-1] > 4 * 1024 * 1024  # some of it lies in the file
        for place in (2999, 0, 17, 1500):
            assert spill.get(places[place]) == pieces[place]


def test_of_each_receipt_with_its_ticket_a_few_hundred_bytes_are_kept() -> None:
    receipt = next(iter(honest().receipts.values())).body
    record = ReceiptRecord.of(receipt, frozenset({None}))  # type: ignore[arg-type]
    ticket = TicketRecord(record.manifest, record.assignment, None, record.faults)
    count = 20_000
    drawn = random.Random(1)

    def digest() -> str:
        return shown_digest(drawn.randbytes(32))

    with Spill() as spill:
        ledger = Ledger(Keyring.generate().public, Gathering(), spill)
        for _ in range(200):
            spill.put(bytes(32 * 1024))  # so that what is put down from here on lies in the file
        tracemalloc.start()
        for place in range(count):
            name, held = f"p-{place % 25}.arm.{place}", digest()
            row = record._replace(assignment=name, ticket=held, previous=digest(), sequence=place + 1)
            records = [(digest(), row), (held, ticket._replace(assignment=name))]
            ledger.take(Sighted(records, [], [], [], []), ())
        holdings = ledger.sort_out(ledger.choose(None))
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(holdings.receipts) == len(holdings.tickets) == count
        assert holdings.manifest_digest == record.manifest
        assert kept / count < 330
        assert peak / count < 450
        assert raw_digest(held) in (raw_digest(key) for key in holdings.tickets)
