"""Exact JSON in, canonical bytes out, and what is signed and hashed (spec 4, "Objects").

The protocol's strict reader comes first: no duplicate names, no NaN, no byte-order mark, no lone surrogate.
A claim must come out the same for every reader, so this room reads numbers more strictly still:

    N-TOKEN     a number token longer than 32 characters, or an exponent beyond ±16
    N-FRACTION  a number that is no integer; an integer may be spelled `1.0` or `1e3`
    N-RANGE     an integer beyond ±(2^53-1); larger ones are decimal strings
    N-NFC       two member names of one object that are the same text in normal form C
    N-SET       an element that stands twice in a declared set
    N-TYPE      a value to be written that exact JSON does not have, a float above all

Signatures and digests are over the DSSE pre-authentication encoding (PAE) of an object's type and canonical
body, so that re-spelling the JSON changes neither.

>>> read_exact(b'{"b": 1.0, "a": 1e3}')
{'b': 1, 'a': 1000}
>>> canonical_bytes({"b": 1, "a": [True, "\\u20ac"]}).decode()
'{"a":[true,"€"],"b":1}'
>>> pae("t", b"{}")
b'DSSEv1 1 t 2 {}'
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, NoReturn, TypeVar, cast

from agentbeat_protocol import CanonicalError, JSONError, JSONValue, canonical_json, read_json
from agentbeat_protocol.strict_json import MAX_BYTES, MAX_DEPTH

__all__ = [
    "MAX_INTEGER",
    "Unplain",
    "canonical_bytes",
    "canonical_set",
    "check_exact",
    "is_normal",
    "nfc",
    "object_digest",
    "pae",
    "pae_head",
    "read_exact",
    "read_plain",
    "spelled",
]

ItemT = TypeVar("ItemT")

#: The largest integer of exact JSON; a larger one is a decimal string.
MAX_INTEGER: Final = 2**53 - 1

#: The longest number token, in characters, and the largest exponent either way.
_LONGEST_TOKEN: Final = 32
_LARGEST_EXPONENT: Final = 16

#: For `bytes.translate`: any digit becomes 0, so that a run of digits is found as a run of zeros.
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_SIXTEEN: Final = b"0" * 16

#: What a character beyond 16 bits begins with in UTF-8.
_BEYOND_16_BITS: Final = b"\xf0\xf1\xf2\xf3\xf4"

_NUMBER: Final = re.compile(r"(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")


class Unplain(Exception):  # noqa: N818 - no fault: the other way is taken
    """Bytes that the fast way of reading leaves to the exact one."""


def read_exact(raw: bytes | bytearray | memoryview, *, max_bytes: int | None = None) -> JSONValue:
    """The exact value that `raw` spells: its only numbers are integers within ±(2^53-1).

    Args:
        raw: one JSON document in UTF-8.
        max_bytes: the longest document that is read; without it the protocol's own limit.

    Raises:
        JSONError: with the protocol's rule (J-*) or one of this module's (N-TOKEN, N-FRACTION, N-RANGE).
    """
    if max_bytes is None:
        read_json(raw)
    else:
        read_json(raw, max_bytes=max_bytes)
    # Read again, now for the numbers' own characters: a double has forgotten them.
    return cast(JSONValue, _DECODER.decode(bytes(raw).decode()))


def read_plain(raw: bytes) -> Any:
    """The value of bytes that look canonical, read once and fast; `Unplain` when `read_exact` must look.

    It sees no repeated names, no white space, no escapes and no depth. So the value counts only when writing
    it gives the same bytes again, which proves that there were none, and when something bounds its depth:
    then it is what `read_exact` gives.
    """
    if len(raw) > MAX_BYTES:
        raise Unplain
    # Fifteen digits are in range whatever they are. A longer run is part of a text, or a number to look at.
    decoder = _CAREFUL_DECODER if _SIXTEEN in raw.translate(_DIGITS) else _PLAIN_DECODER
    try:
        text = raw.decode()
        value, end = decoder.raw_decode(text)
    except (ValueError, JSONError, RecursionError):
        raise Unplain from None
    if text[end:] not in ("", "\n"):
        raise Unplain
    return value


def canonical_bytes(value: object) -> bytes:
    """The RFC 8785 bytes of an exact value.

    Raises:
        CanonicalError: N-TYPE or N-RANGE, or the protocol's C-*.
    """
    check_exact(value)
    return spelled(value)


def spelled(value: object) -> bytes:
    """The RFC 8785 bytes of a value that is exact: one that was read, or that `check_exact` has seen.

    Raises:
        CanonicalError: C-SURROGATE.
    """
    text = _ENCODER.encode(value)
    if text.isascii():
        return text.encode()
    # The standard library sorts names by code points and RFC 8785 by UTF-16 units. They differ only where a
    # character beyond 16 bits is compared with one of the last that have 16; without the former never.
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return canonical_json(value)
    return raw if len(raw.translate(None, _BEYOND_16_BITS)) == len(raw) else canonical_json(value)


def canonical_set(
    items: Iterable[ItemT], *, key: Callable[[ItemT], object] = lambda item: item
) -> list[ItemT]:
    """The elements of a declared set in the order of their canonical bytes; a repeated one is N-SET.

    Args:
        key: the JSON value of an element.
    """
    keyed = sorted(((canonical_bytes(key(item)), item) for item in items), key=itemgetter(0))
    for (left, _), (right, _) in pairwise(keyed):
        if left == right:
            raise CanonicalError("N-SET", got="an element twice", expected="each element of a set once")
    return [item for _, item in keyed]


def nfc(value: Any) -> Any:
    """A copy of a JSON value whose texts and member names are in Unicode normal form C.

    Raises:
        CanonicalError: N-NFC when two names of one object become the same.
    """
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        members = {nfc(name): nfc(member) for name, member in value.items()}
        if len(members) != len(value):
            got = "two member names with one normal form"
            raise CanonicalError("N-NFC", got=got, expected="names that differ in normal form C")
        return members
    if isinstance(value, list | tuple):
        return [nfc(item) for item in value]
    return value


def is_normal(raw: bytes) -> bool:
    """Whether all texts of canonical JSON are in normal form C, because the whole is.

    A part of a text in normal form is in normal form. What an escape stands for, a quote, a backslash or a
    control character, combines with no neighbour that its last character does not combine with as well.
    """
    return raw.isascii() or unicodedata.is_normalized("NFC", raw.decode())


def pae(type_name: str, body: bytes) -> bytes:
    """DSSE's pre-authentication encoding: what is signed for a `body` of this type."""
    return pae_head(type_name, len(body)) + body


def pae_head(type_name: str, size: int) -> bytes:
    """What DSSE's encoding puts before a body of so many bytes."""
    name = type_name.encode()
    return b"DSSEv1 %d %b %d " % (len(name), name, size)


def object_digest(type_name: str, body: bytes) -> str:
    """`sha256:` and the hex of SHA-256 over the PAE of an object's type and canonical body."""
    return "sha256:" + hashlib.sha256(pae(type_name, body)).hexdigest()


def _exact_integer(token: str) -> int:
    if len(token) > _LONGEST_TOKEN:
        raise _number("N-TOKEN", f"a number of {len(token)} characters", f"at most {_LONGEST_TOKEN}")
    match = _NUMBER.fullmatch(token)
    if match is None:  # pragma: no cover - the scanner hands over nothing else
        raise _number("N-TOKEN", "another spelling", "a number")
    whole, fraction, exponent = match[1], match[2] or "", int(match[3] or "0")
    if abs(exponent) > _LARGEST_EXPONENT:
        raise _number("N-TOKEN", f"the exponent {exponent}", f"at most {_LARGEST_EXPONENT} either way")
    digits, shift = int(whole + fraction), exponent - len(fraction)
    # Shifted so that both powers are whole numbers.
    value: int
    value, rest = divmod(digits * 10 ** max(shift, 0), 10 ** max(-shift, 0))
    if rest:
        raise _number("N-FRACTION", "a number with a fraction", "an integer, or a decimal string")
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise _number("N-RANGE", "a larger integer", "one within ±(2^53-1), or a decimal string")
    return value


def _number(rule: str, got: str, expected: str) -> JSONError:
    return JSONError(rule, got=got, expected=expected)


def check_exact(value: Any, room: int = MAX_DEPTH) -> None:
    """Refuse what exact JSON does not have, and nesting beyond what is read back.

    Raises:
        CanonicalError: N-TYPE, N-RANGE or C-DEPTH.
    """
    items: Any = (value,)
    kind = type(value)
    # By type before `isinstance`: this sees every value that is written.
    if kind is dict or kind is list or isinstance(value, _CONTAINERS):
        if room < 1:
            raise CanonicalError("C-DEPTH", got="one level more", expected=f"at most {MAX_DEPTH} levels")
        room -= 1
        items = value
        if kind is dict or isinstance(value, dict):
            items = value.values()
            for name in value:
                if type(name) is not str and not isinstance(name, str):
                    got = "a member name of another type"
                    raise CanonicalError("N-TYPE", got=got, expected="strings")
    for item in items:
        kind = type(item)
        if kind is str or item is None or kind is bool:
            continue
        if kind is dict or kind is list or isinstance(item, _CONTAINERS):
            check_exact(item, room)
        elif kind is int or isinstance(item, int):
            if not -MAX_INTEGER <= item <= MAX_INTEGER:
                expected = "one within ±(2^53-1), or a decimal string"
                raise CanonicalError("N-RANGE", got="a larger integer", expected=expected)
        elif not isinstance(item, str):
            got = f"a {kind.__name__}"
            raise CanonicalError("N-TYPE", got=got, expected="a value of exact JSON")


_CONTAINERS: Final = (dict, list, tuple)


def _unplain(_: str) -> NoReturn:
    raise Unplain


_DECODER: Final = json.JSONDecoder(parse_int=_exact_integer, parse_float=_exact_integer)
_PLAIN_DECODER: Final = json.JSONDecoder(parse_float=_unplain, parse_constant=_unplain)
_CAREFUL_DECODER: Final = json.JSONDecoder(
    parse_int=_exact_integer, parse_float=_unplain, parse_constant=_unplain
)
# Nesting is bounded before anything is written, so no value contains itself.
_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
)
