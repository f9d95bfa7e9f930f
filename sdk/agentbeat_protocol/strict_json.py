"""Strict JSON in: bytes that two readers could understand differently are refused (INV-8, EVD-1).

`read_json` takes the JSON of RFC 8259 in UTF-8 and refuses what that text leaves open, each with its rule:

    J-SIZE       longer than `max_bytes`
    J-BOM        begins with a UTF-8 byte-order mark
    J-UTF8       not UTF-8: another encoding, an overlong form, an encoded surrogate
    J-DEPTH      arrays and objects nested deeper than `max_depth`
    J-SYNTAX     not JSON
    J-DUPKEY     an object names a member twice; names are compared after unescaping
    J-NONFINITE  NaN, Infinity, or a number that no double can hold
    J-SURROGATE  an escaped UTF-16 surrogate without its other half, in a value or a name

They are looked for in this order; of J-SYNTAX, J-DUPKEY and J-NONFINITE the parser reports what it meets
first. Integers stay exact integers up to the range of a double; a number with a fraction or an exponent
becomes a double, and one too small for a double becomes 0.0.

The work is done by the standard library's C scanner. What it does not check is checked in whole passes over
the bytes and in one call per object, which together cost about as much again as a plain `json.loads`.

>>> read_json(b'{"a": [1, 2.50, "\\\\u00e9"]}')
{'a': [1, 2.5, 'é']}
>>> read_json(b'{"a": 1, "\\\\u0061": 2}')
Traceback (most recent call last):
agentbeat_protocol.errors.JSONError: J-DUPKEY at the document: got 2 members named "a", expected one
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import accumulate
from math import isinf
from typing import Any, Final, cast

from pydantic import JsonValue as JSONValue

from agentbeat_protocol.errors import JSONError, cut

__all__ = ["MAX_BYTES", "MAX_DEPTH", "JSONValue", "check_depth", "read_json"]

#: The longest document, in bytes, unless the caller says otherwise (EVD-15).
MAX_BYTES: Final = 16 * 1024 * 1024

#: The deepest nesting of arrays and objects: `[[1]]` has depth 2. The protocol's own messages need less than
#: a dozen levels. Whoever walks the value by recursion stays far below Python's limit of 1,000 frames, even
#: deep inside a server's call stack, and below the 255 levels of pydantic.
MAX_DEPTH: Final = 100

_BOM = b"\xef\xbb\xbf"

# A JSON integer has no leading zeros: one of 310 digits is at least 1e309, beyond every double. Python limits
# how many digits `int` takes (640 at the least), so the length decides before the conversion.
_LONGEST_INTEGER = 309
_SURELY_FINITE = 308

# For `bytes.translate`: +1 for an opening bracket and -1 (as a signed byte) for a closing one.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_EVERY_BYTE = frozenset(range(256))
_NO_MARK = bytes(_EVERY_BYTE - set(b'[]{}"'))
# A backslash is kept together with whatever may follow it.
_NO_MARK_OR_ESCAPE = bytes(_EVERY_BYTE - set(b'[]{}"\\/bfnrtu'))

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# Every high surrogate is followed by a low one and every low one follows a high one: then all are paired.
_LONE_SURROGATE = re.compile(
    rb"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\u[dD])[c-fC-F])", re.DOTALL
)


def read_json(
    raw: bytes | bytearray | memoryview, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> JSONValue:
    """The value that `raw` spells, or `JSONError` with the rule that it breaks.

    Args:
        raw: the whole document, UTF-8. Text has no encoding left to check, so `str` is a `TypeError`.
        max_bytes: the longest document that is read.
        max_depth: the deepest nesting; 0 leaves only a scalar.
    """
    if not isinstance(raw, bytes | bytearray | memoryview):
        raise TypeError(f"read_json takes bytes, not {type(raw).__name__}")
    size = raw.nbytes if isinstance(raw, memoryview) else len(raw)
    if size > max_bytes:
        raise JSONError("J-SIZE", got=f"{size} bytes", expected=f"at most {max_bytes} bytes")
    data = bytes(raw)
    text = _decoded(data)
    check_depth(data, max_depth)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        fault = error.msg.removesuffix(" at").rstrip(": ").lower()
        where = f"line {error.lineno} column {error.colno}"
        raise JSONError("J-SYNTAX", got=f"a fault at {where} ({fault})", expected="one JSON value") from None
    except RecursionError:
        # The document keeps the limit, but the caller has used up the stack.
        raise _too_deep("more levels than the call stack has room for", max_depth) from None
    _check_surrogates(data)
    return cast(JSONValue, value)


def _decoded(data: bytes) -> str:
    if data.startswith(_BOM):
        raise JSONError("J-BOM", got="a UTF-8 byte-order mark", expected="JSON from the first byte")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        got = f"0x{data[error.start]:02x} at byte {error.start} ({error.reason})"
        raise JSONError("J-UTF8", got=got, expected="UTF-8") from None


def check_depth(data: bytes, max_depth: int) -> None:
    """Refuse nesting beyond `max_depth` (J-DEPTH) before a recursive parser sees it.

    Only as far as `data` is JSON is its depth defined, and no parser gets further than that: up to there,
    escapes and quotes mean what they mean here.
    """
    marks = data.translate(None, _NO_MARK_OR_ESCAPE)
    if len(marks) <= max_depth:
        return
    if b"\\" in marks:
        # In a run of backslashes each pair is one escaped backslash; what is left may escape a quote.
        # Replacing by the same length is the fast path of `bytes.replace`.
        marks = marks.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
    marks = marks.translate(_STEPS, _NO_MARK)
    # Most strings hold no bracket and are two quotes side by side by now; the rest is every second piece.
    steps = b"".join(marks.replace(b'""', b"").split(b'"')[::2])
    depth = max(accumulate(memoryview(steps).cast("b")), default=0)
    if depth > max_depth:
        raise _too_deep(f"{depth} levels", max_depth)


def _too_deep(got: str, max_depth: int) -> JSONError:
    return JSONError("J-DEPTH", got=got, expected=f"at most {max_depth} levels of arrays and objects")


def _check_surrogates(data: bytes) -> None:
    # Raw surrogates are no UTF-8, so they come from escapes only.
    if not _SURROGATE.search(data):
        return
    # Same length, so that offsets stay right; a space, so that no two escapes become neighbours.
    lone = _LONE_SURROGATE.search(data.replace(b"\\\\", b"  "))
    if lone:
        raise JSONError(
            "J-SURROGATE", got=f"a lone surrogate at byte {lone.start()}", expected="surrogates in pairs"
        )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise JSONError("J-DUPKEY", got=f'{counts[twice]} members named "{cut(twice)}"', expected="one")
    return members


def _integer(digits: str) -> int:
    if len(digits) <= _SURELY_FINITE:
        return int(digits)
    if len(digits.lstrip("-")) <= _LONGEST_INTEGER:
        value = int(digits)
        try:
            float(value)
        except OverflowError:
            pass
        else:
            return value
    raise _not_finite(f"an integer of {len(digits.lstrip('-'))} digits")


def _fraction(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise _not_finite("a number beyond a double")
    return value


def _constant(name: str) -> float:
    raise _not_finite(name)


def _not_finite(got: str) -> JSONError:
    return JSONError("J-NONFINITE", got=got, expected="a number within the range of a double")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_fraction, parse_constant=_constant
)
