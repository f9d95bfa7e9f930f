"""Manifest and checkpoint read without their long lists ever being in memory.

A manifest names every assignment and a checkpoint every ticket: of a hundred thousand the JSON values alone
take a hundred megabytes. Where a document is delivered as it is written, its list is cut out of the bytes,
put down in the temporary database entry by entry, and the rest is read as any other document. Every byte of
the list is matched with the one form that it can have, so nothing is missed; whatever does not match is read
in the usual way, with its reasons, and its list put down then.

The bytes are in memory once, because a signature is over all of them: what is signed is made in their place.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from agentbeat_protocol import ProtocolError
from agentbeat_receipts.canonical import pae, pae_head
from agentbeat_receipts.deliveries import Delivered, content_behind
from agentbeat_receipts.objects import (
    Body,
    Checkpoint,
    Document,
    KeptList,
    Manifest,
    read_shortened,
    read_whole,
)
from agentbeat_receipts.streams.stored_lists import listed, promised
from agentbeat_receipts.streams.stores import Store
from agentbeat_receipts.streams.tables import raw_digest

__all__ = ["read_long"]

_ID: Final = rb'"([a-z0-9][a-z0-9._-]{0,127})"'
_ENTRY: Final = re.compile(
    rb'\{"arm":%b,"assignment":%b,"profile":%b,"replicate":([1-9][0-9]{0,8})\}' % (_ID, _ID, _ID)
)
_TICKET: Final = re.compile(rb'"sha256:([0-9a-f]{64})"')
#: What stands before a body, and how much more what is signed can have there.
_BEFORE: Final = len(b'{"body":')
_FREE: Final = 128


def read_long(delivery: Delivered, store: Store) -> tuple[Document, bytes | memoryview]:
    """The document that a delivery holds, and what its digest and signature are over.

    Args:
        store: takes its long list, if it has one.

    Raises:
        ProtocolError: it cannot be read, as of `read_whole`.
    """
    buffer = content_behind(delivery, _FREE)
    for kind, member, form, kept in _LONG:
        tail = b',"type":"%b"}' % kind.TYPE.encode()
        if buffer[-len(tail) - 1 :].removesuffix(b"\n").endswith(tail):
            found = _cut(buffer, kind, member, form, partial(kept, store))
            if found is not None:
                return found
    reading = read_whole(bytes(memoryview(buffer)[_FREE:]))
    body = reading.document.body
    document = Document(
        body=_kept(body, store), signature=reading.document.signature, key_id=reading.document.key_id
    )
    return document, pae(body.TYPE, reading.canonical)


class _Matches:
    """The entries of a list in canonical JSON, as far as they have their one form.

    Args:
        raw: the bytes that hold it.
        begin: where its bracket stands.
        form: of an entry.
    """

    def __init__(self, raw: mmap.mmap, begin: int, form: re.Pattern[bytes]) -> None:
        self._raw = raw
        self._form = form
        #: Where the last entry so far ends.
        self.end = begin

    def __iter__(self) -> Iterator[re.Match[bytes]]:
        before = ord("[")
        while self._raw[self.end] == before and (match := self._form.match(self._raw, self.end + 1)):
            self.end = match.end()
            yield match
            before = ord(",")


def _cut(
    buffer: mmap.mmap,
    kind: type[Body],
    member: str,
    form: re.Pattern[bytes],
    kept: Callable[[_Matches], KeptList[Any]],
) -> tuple[Document, memoryview] | None:
    # No text that stands before the list can hold a quotation mark that is not escaped.
    begin = buffer.find(b',"%b":[' % member.encode())
    if begin < 0:
        return None
    begin += len(member) + 4
    matches = _Matches(buffer, begin, form)
    try:
        content = kept(matches)
        end = matches.end
        if not content or buffer[end] != ord("]"):
            return None
        shortened = bytes(memoryview(buffer)[_FREE : begin + 1]) + bytes(memoryview(buffer)[end:])
        reading = read_shortened(shortened, member, content)
    except (ProtocolError, ValueError):
        return None
    if reading is None:
        return None
    return reading.document, _signed(buffer, kind, len(reading.canonical) + end - begin - 1)


def _signed(buffer: mmap.mmap, kind: type[Body], size: int) -> memoryview:
    """What is signed for the body of so many bytes that stands there, made in its place."""
    head, begin = pae_head(kind.TYPE, size), _FREE + _BEFORE
    buffer[begin - len(head) : begin] = head
    return memoryview(buffer)[begin - len(head) : begin + size]


def _promised(store: Store, matches: _Matches) -> KeptList[Any]:
    found = (match.groups() for match in matches)
    return promised(
        store,
        (
            (assignment.decode(), profile.decode(), arm.decode(), int(replicate))
            for arm, assignment, profile, replicate in found
        ),
    )


def _listed(store: Store, matches: _Matches) -> KeptList[Any]:
    return listed(store, _ascending(bytes.fromhex(match[1].decode()) for match in matches))


def _ascending(digests: Iterator[bytes]) -> Iterator[bytes]:
    """The digests, which must be in their order, as a set is written.

    Raises:
        ValueError: they are not.
    """
    before = b""
    for digest in digests:
        if digest <= before:
            raise ValueError("another order, expected that of the digests, each once")
        yield digest
        before = digest


_LONG: Final = (
    (Manifest, "assignments", _ENTRY, _promised),
    (Checkpoint, "tickets", _TICKET, _listed),
)


def _kept(body: Body, store: Store) -> Body:
    """A body that was read as any other, with its long list put down."""
    if isinstance(body, Manifest):
        entries = ((e.assignment, e.profile, e.arm, e.replicate) for e in body.assignments)
        return body.model_copy(update={"assignments": promised(store, entries)})
    if isinstance(body, Checkpoint):
        digests = (raw for digest in body.tickets if (raw := raw_digest(digest)) is not None)
        return body.model_copy(update={"tickets": listed(store, digests)})
    return body
