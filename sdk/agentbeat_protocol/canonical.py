"""Canonical JSON out (RFC 8785), and the digests that bind messages to each other.

Two values with the same canonical bytes are the same JSON value: the order of members, the spelling of
numbers and the escapes in strings do not count; the order of arrays, the normal form of text and types do.

A number with a fraction or an exponent is spelt by `rfc8785`, a string by the standard library's C encoder,
whose escapes are those of RFC 8785. What RFC 8785 takes for granted is checked, each with its rule:

    C-TYPE       a value that JSON does not have, or a member name that is no string
    C-NONFINITE  NaN, an infinity, or an integer beyond the range of a double
    C-INTEXACT   an integer that its double would silently change
    C-SURROGATE  a lone surrogate, in a value or a name
    C-DEPTH      nested deeper than `max_depth`, which a value that contains itself always is

An integer beyond ±(2^53-1) has a canonical form when it equals its double, or when RFC 8785 spells that
double with its very digits: canonical bytes that were read are written as the same bytes again.

>>> canonical_json({"b": 2.0, "a": [1e21, "\\u20ac"]}).decode()
'{"a":[1e+21,"€"],"b":2}'
>>> digest({"a": 1}) == digest({"a": 1.0}) == digest_bytes(b'{"a":1}')
True
>>> canonical_json([2**53 + 1])  # doctest: +ELLIPSIS
Traceback (most recent call last):
agentbeat_protocol.errors.CanonicalError: C-INTEXACT at /0: got an integer of 16 digits, expected ...
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, Final

import rfc8785

from agentbeat_protocol.errors import CanonicalError, cut, json_pointer
from agentbeat_protocol.models import MAX_SAFE_INTEGER
from agentbeat_protocol.strict_json import MAX_DEPTH

__all__ = ["canonical_json", "digest", "digest_bytes", "digest_text", "is_digest"]

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


def canonical_json(value: object, *, max_depth: int = MAX_DEPTH) -> bytes:
    """The RFC 8785 bytes of a JSON value: UTF-8, members sorted, no white space.

    Args:
        value: None, booleans, integers, floats, strings, lists, tuples (as arrays) and dictionaries of these.
        max_depth: the deepest nesting of arrays and objects. The default is what `read_json` reads back.

    Raises:
        CanonicalError: with the rule and a pointer to the first place that has no canonical form.
    """
    try:
        return _text(value, [], max_depth).encode()
    except RecursionError:
        raise _too_deep("more levels than the call stack has room for", max_depth) from None


def digest(value: object, *, max_depth: int = MAX_DEPTH) -> str:
    """`sha256:` and the hex of SHA-256 over the canonical bytes of a JSON value, or its `CanonicalError`."""
    return digest_bytes(canonical_json(value, max_depth=max_depth))


def digest_bytes(raw: bytes | bytearray | memoryview) -> str:
    """`sha256:` and the hex of SHA-256 over these very bytes."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def digest_text(text: str) -> str:
    """`sha256:` and the hex of SHA-256 over the UTF-8 of a text; a lone surrogate has none (C-SURROGATE)."""
    _check_text(text, [])
    return digest_bytes(text.encode())


def is_digest(text: object) -> bool:
    """Whether `text` is a digest as this module writes it: `sha256:` and 64 lower-case hex digits."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def _text(value: Any, trail: list[str | int], room: int) -> str:
    """The canonical text of `value`; `trail` leads to it, `room` levels may follow."""
    if isinstance(value, str):
        _check_text(value, trail)
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer(value, trail)
    if isinstance(value, float):
        if not isfinite(value):
            raise _error("C-NONFINITE", trail, str(float(value)), "a finite number")
        return _double(value)
    if isinstance(value, dict):
        return _object(value, trail, room)
    if isinstance(value, list | tuple):
        return _array(value, trail, room)
    raise _error("C-TYPE", trail, f"a {cut(type(value).__name__)}", "a JSON value")


def _object(members: dict[Any, Any], trail: list[str | int], room: int) -> str:
    if room < 1:
        raise _too_deep("one level more", len(trail))
    written: dict[str, str] = {}
    for name, value in members.items():
        if not isinstance(name, str):
            got = f"a member name of type {cut(type(name).__name__)}"
            raise _error("C-TYPE", trail, got, "member names that are strings")
        trail.append(name)
        _check_text(name, trail)
        written[name] = f"{encode_basestring(name)}:{_text(value, trail, room - 1)}"
        trail.pop()
    return "{" + ",".join([written[name] for name in _in_order(written)]) + "}"


def _in_order(names: Iterable[str]) -> list[str]:
    """By UTF-16 code units (RFC 8785, section 3.2.3); code points sort alike where all are ASCII."""
    if "".join(names).isascii():
        return sorted(names)
    return sorted(names, key=lambda name: name.encode("utf-16-be"))


def _array(items: list[Any] | tuple[Any, ...], trail: list[str | int], room: int) -> str:
    if room < 1:
        raise _too_deep("one level more", len(trail))
    written: list[str] = []
    for index, item in enumerate(items):
        trail.append(index)
        written.append(_text(item, trail, room - 1))
        trail.pop()
    return "[" + ",".join(written) + "]"


def _check_text(text: str, trail: list[str | int]) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            got = f"a lone surrogate at character {error.start}"
            raise _error("C-SURROGATE", trail, got, "text that has a UTF-8 form") from None


def _double(value: float) -> str:
    return rfc8785.dumps(value).decode()


def _integer(value: int, trail: list[str | int]) -> str:
    """Its digits, or the spelling of the double that stands for a large one without changing it."""
    if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return int.__repr__(value)
    try:
        double = float(value)
    except OverflowError:
        got, expected = f"an integer of {value.bit_length()} bits", "a number within the range of a double"
        raise _error("C-NONFINITE", trail, got, expected) from None
    digits, spelt = int.__repr__(value), _double(double)
    if int(double) != value and spelt != digits:
        got = f"an integer of {len(digits.lstrip('-'))} digits"
        raise _error("C-INTEXACT", trail, got, "an integer that a double keeps")
    return spelt


def _too_deep(got: str, max_depth: int) -> CanonicalError:
    # Without a path: it would be as long as the value is deep.
    return _error("C-DEPTH", [], got, f"at most {max_depth} levels of arrays and objects")


def _error(rule: str, trail: list[str | int], got: str, expected: str) -> CanonicalError:
    return CanonicalError(rule, path=json_pointer(trail), got=got, expected=expected)
