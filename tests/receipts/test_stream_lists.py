"""The long lists of manifests and checkpoints: read without a loss, and equal to what they hold."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol import ProtocolError
from agentbeat_receipts.canonical import pae
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.objects import (
    Assignment,
    Body,
    Checkpoint,
    Document,
    KeptList,
    Manifest,
    read_document,
    read_whole,
    write_document,
)
from agentbeat_receipts.objects.assignments import promised_cells
from agentbeat_receipts.streams.long_lists import read_long
from agentbeat_receipts.streams.stored_lists import StoredNames, listed, promised
from agentbeat_receipts.streams.tables import Tables, raw_digest, shown_digest
from agentbeat_receipts.verification.relations import (
    without,
)
from support.receipt_batches import honest, manifest

raw_digests = st.binary(min_size=32, max_size=32)


@given(st.sets(raw_digests, max_size=40), st.sets(raw_digests, max_size=4))
def test_a_list_of_digests_is_the_sorted_tuple_of_them(found: set[bytes], others: set[bytes]) -> None:
    tables = Tables()
    listed(tables, sorted(others))
    digests = listed(tables, sorted(found))
    expected = tuple(shown_digest(raw) for raw in sorted(found))
    assert digests == expected
    assert expected == digests
    assert tuple(digests) == expected == digests[:]
    assert hash(digests) == hash(expected)
    assert [digests[place] for place in range(-len(expected), 0)] == list(expected)
    assert all((shown_digest(raw) in digests) is (raw in found) for raw in found | others)
    assert pickle.loads(pickle.dumps(digests)) == expected


def test_what_is_no_digest_is_not_among_digests() -> None:
    digests = listed(Tables(), [bytes(32)])
    assert digests[0] in digests
    for other in (None, 3, "", "sha256:", digests[0].upper(), digests[0] + "0", digests[0][:-1]):
        assert other not in digests
        assert raw_digest(other if isinstance(other, str) else None) is None
    with pytest.raises(IndexError):
        _ = digests[1]


def _matrix(count: int) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(assignment=f"p-{n % 7}.a.{n}", profile=f"p-{n % 7}", arm="none", replicate=n // 7 + 1)
        for n in range(count)
    )


def _rows(entries: tuple[Assignment, ...]) -> Iterator[tuple[str, str, str, int]]:
    return ((e.assignment, e.profile, e.arm, e.replicate) for e in entries)


def test_a_list_of_assignments_equals_their_tuple() -> None:
    tables, entries = Tables(), _matrix(50)
    promised(tables, _rows(entries[:3]))
    table = promised(tables, _rows(entries))
    promised(tables, _rows(entries[:3]))
    assert table == entries
    assert entries == table
    assert hash(table) == hash(entries)
    assert (table[3], table[-1], table[2:5]) == (entries[3], entries[-1], entries[2:5])
    assert table != promised(tables, _rows(entries[:-1]))
    assert pickle.loads(pickle.dumps(table)) == entries
    assert list(table.names) == [entry.assignment for entry in entries]
    assert "p-3.a.3" in table.names
    assert "p-3.a.4" not in table.names
    assert table.cells() == promised_cells(entries)
    with pytest.raises(ValueError, match="twice"):
        promised(tables, _rows((*entries, entries[0])))
    assert table == entries


def test_names_that_are_not_among_others_are_told_wherever_those_are() -> None:
    tables = Tables()
    names = promised(tables, _rows(_matrix(9))).names
    others = promised(tables, _rows(_matrix(7))).names
    expected = ["p-0.a.7", "p-1.a.8"]
    assert isinstance(names, StoredNames)
    assert sorted(without(names, others)) == sorted(without(names, set(others))) == expected
    assert sorted(without(list(names), others)) == expected
    assert list(without(others, names)) == []


def _documents() -> tuple[bytes, bytes]:
    return tuple(write_document(d) for d in honest().documents() if isinstance(d.body, Manifest | Checkpoint))  # type: ignore[return-value]  # there are two


MANIFEST, CHECKPOINT = _documents()


def _long(raw: bytes) -> tuple[Document, bytes]:
    document, message = read_long(Delivery("x.json", raw), Tables())
    return document, bytes(message)


@pytest.mark.parametrize("raw", [MANIFEST, CHECKPOINT, MANIFEST + b"\n", CHECKPOINT + b"\n"])
def test_a_long_list_is_read_as_the_document_says(raw: bytes) -> None:
    document, message = _long(raw)
    reading = read_whole(raw)
    assert document == reading.document
    assert message == pae(reading.document.body.TYPE, reading.canonical)
    assert write_document(document) == raw.removesuffix(b"\n")
    body: Any = document.body
    assert isinstance(getattr(body, "assignments", None) or body.tickets, KeptList)


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
        reading = read_whole(raw)
    except ProtocolError as error:
        with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
            _long(raw)
        return
    assert _long(raw) == (reading.document, pae(reading.document.body.TYPE, reading.canonical))


def test_a_long_matrix_must_agree_with_itself_as_a_short_one() -> None:
    entries = _matrix(21)
    whole = manifest(
        assignments=entries, profiles=tuple(f"p-{n}" for n in range(7)), replicates=3, comparison_groups=()
    )
    raw = write_document(_signed(whole))
    assert _long(raw)[0].body == whole
    gone = raw.replace(b'{"arm":"none","assignment":"p-3.a.10","profile":"p-3","replicate":2},', b"")
    assert gone != raw
    with pytest.raises(ProtocolError, match="replicates"):
        _long(gone)


def _signed(body: Body) -> Document:
    document = read_document(MANIFEST)
    return Document(body=body, signature=document.signature, key_id=document.key_id)
