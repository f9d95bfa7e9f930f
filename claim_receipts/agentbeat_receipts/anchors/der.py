"""As much DER as time-stamp requests and responses need: elements within elements, nothing decoded.

Strict where two readers could differ: tags of one byte, definite and shortest lengths, no byte left over.

>>> raw = sequence(integer(1), encoded(0x04, b"hi"))
>>> raw.hex()
'300702010104026869'
>>> [(part.tag, raw[part.start : part.end]) for part in children(raw, whole(raw))]
[(2, b'\\x01'), (4, b'hi')]
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DERError", "Element", "children", "encoded", "integer", "sequence", "whole"]

#: The longest length of a length, in bytes.
_LONGEST_LENGTH = 4


class DERError(ValueError):
    """The bytes are no DER of this kind."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element: where its tag is, and where its content starts and ends."""

    tag: int
    at: int
    start: int
    end: int


def whole(raw: bytes) -> Element:
    """The one element that all of `raw` is.

    Raises:
        DERError: it is none, or bytes are left over.
    """
    element = _element(raw, 0, len(raw))
    if element.end != len(raw):
        raise DERError(f"got {len(raw) - element.end} bytes too many")
    return element


def children(raw: bytes, parent: Element) -> list[Element]:
    """The elements that a constructed element holds.

    Raises:
        DERError: its content is no sequence of elements.
    """
    found, at = [], parent.start
    while at < parent.end:
        found.append(_element(raw, at, parent.end))
        at = found[-1].end
    return found


def _element(raw: bytes, at: int, limit: int) -> Element:
    if at + 2 > limit:
        raise DERError("got an element that is cut off")
    tag, length, start = raw[at], raw[at + 1], at + 2
    if tag & 0x1F == 0x1F:
        raise DERError("got a tag of several bytes")
    if length & 0x80:
        size = length & 0x7F
        start += size
        if not 1 <= size <= _LONGEST_LENGTH or start > limit:
            raise DERError("got a length that is indefinite, too long or cut off")
        length = int.from_bytes(raw[at + 2 : start])
        if length < 0x80 or length.bit_length() <= 8 * (size - 1):
            raise DERError("got a length that is not the shortest")
    if start + length > limit:
        raise DERError("got an element that is cut off")
    return Element(tag, at, start, start + length)


def encoded(tag: int, content: bytes) -> bytes:
    """An element of `content`."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(length))) + length + content


def integer(value: int) -> bytes:
    """An INTEGER that is not negative."""
    return encoded(0x02, value.to_bytes(value.bit_length() // 8 + 1))


def sequence(*parts: bytes) -> bytes:
    """A SEQUENCE of elements that are encoded already."""
    return encoded(0x30, b"".join(parts))
