"""Manifest and checkpoint read without their long lists ever being objects.

A manifest names every assignment and a checkpoint every ticket: of a hundred thousand the JSON values alone
take a hundred megabytes. Where a document is delivered as it is written, its list is cut out of the bytes,
read piece by piece into an `AssignmentTable` or `Digests`, and the rest is read as any other document. Every
byte of the list is matched with the one form that it can have, so nothing is missed; whatever does not match
is read in the usual way, with its reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from agentbeat_protocol import ProtocolError
from agentbeat_receipts.canonical import pae
from agentbeat_receipts.digests import Digests
from agentbeat_receipts.objects import (
    AssignmentTable,
    Checkpoint,
    Document,
    Manifest,
    read_shortened,
    read_whole,
)

__all__ = ["read_long"]

_ID: Final = rb'"([a-z0-9][a-z0-9._-]{0,127})"'
_ENTRY: Final = re.compile(
    rb'\{"arm":%b,"assignment":%b,"profile":%b,"replicate":([1-9][0-9]{0,8})\}' % (_ID, _ID, _ID)
)
_TICKETS: Final = re.compile(rb'"sha256:([0-9a-f]{64})"')
#: Of a digest in a list: quotes, prefix, hex digits and comma; and how many are looked at in one go.
_WIDTH: Final = 74
_AT_ONCE: Final = 4096
#: What stands before a body.
_BEFORE: Final = len(b'{"body":')


def read_long(raw: bytes) -> tuple[Document, bytes]:
    """The document that `raw` spells, and what its digest and signature are over.

    Raises:
        ProtocolError: it cannot be read, as of `read_whole`.
    """
    found = _cut(raw, Manifest.TYPE, "assignments", _entries) or _cut(
        raw, Checkpoint.TYPE, "tickets", _tickets
    )
    if found is not None:
        return found
    reading = read_whole(raw)
    body = reading.document.body
    message = pae(body.TYPE, reading.canonical)
    return reading.document, message


def _cut(
    raw: bytes, kind: str, member: str, read: Callable[[bytes, int], tuple[object, int] | None]
) -> tuple[Document, bytes] | None:
    if not raw.removesuffix(b"\n").endswith(b',"type":"%b"}' % kind.encode()):
        return None
    # No text that stands before the list can hold a quotation mark that is not escaped.
    begin = raw.find(b',"%b":[' % member.encode())
    if begin < 0:
        return None
    begin += len(member) + 4
    found = read(raw, begin)
    if found is None:
        return None
    content, end = found
    if raw[end : end + 1] != b"]":
        return None
    try:
        reading = read_shortened(raw[: begin + 1] + raw[end:], member, content)
    except ProtocolError:
        return None
    if reading is None:
        return None
    whole = raw[_BEFORE : _BEFORE + len(reading.canonical) + end - begin - 1]
    return reading.document, pae(reading.document.body.TYPE, whole)


def _entries(raw: bytes, begin: int) -> tuple[AssignmentTable, int] | None:
    """The assignments of a list that begins here, and where it ends."""
    table = AssignmentTable()
    place = begin
    while raw[place : place + 1] == (b"," if len(table) else b"["):
        match = _ENTRY.match(raw, place + 1)
        if match is None:
            return None
        arm, assignment, profile, replicate = match.groups()
        try:
            table.add(assignment.decode(), profile.decode(), arm.decode(), int(replicate))
        except ValueError:
            return None
        place = match.end()
    return table, place


def _tickets(raw: bytes, begin: int) -> tuple[Digests, int] | None:
    """The digests of a list that begins here, and where it ends."""
    end = raw.find(b"]", begin)
    found = bytearray()
    for place in range(begin + 1, end, _WIDTH * _AT_ONCE):
        part = raw[place : min(place + _WIDTH * _AT_ONCE - 1, end)]
        digests = _TICKETS.findall(part)
        if b",".join(b'"sha256:%b"' % digest for digest in digests) != part:
            return None
        found += bytes.fromhex(b"".join(digests).decode())
    listed = Digests(bytes(found))
    # A set is written in its order, and each of it once.
    return (listed, end) if listed == Digests.of(found) else None
