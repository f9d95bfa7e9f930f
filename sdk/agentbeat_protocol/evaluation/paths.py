"""Singular JSONPath queries: one place in a JSON value (RFC 9535, section 2.3.5.1).

A singular query is `$` and any number of names (`.name`, `['any name']`) and indexes (`[0]`, `[-1]` from the
end). It finds one value or none; there are no wildcards, slices, filters or descendants. Null is a value:
whether something was found is told apart from what was found.

>>> value = {"order": {"items": [{"sku": "A-1"}, {"sku": None}]}}
>>> find("$.order.items[-1]['sku']", value) is None
True
>>> find("$.order.items[2]", value) is ABSENT
True
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Literal

from agentbeat_protocol.models import MAX_SAFE_INTEGER, rule_error

__all__ = ["ABSENT", "Absent", "check_path", "find", "json_equal"]


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


#: What `find` gives when nothing stands at the path.
ABSENT: Final = Absent.ABSENT

Segment = str | int

#: What may stand between segments.
_BLANKS: Final = frozenset(" \t\n\r")
_SHORTHAND: Final = re.compile(
    r"\.([A-Za-z_\x80-\uD7FF\uE000-\U0010FFFF][0-9A-Za-z_\x80-\uD7FF\uE000-\U0010FFFF]*)"
)
_INDEX: Final = re.compile(r"\[(0|-?[1-9][0-9]*)\]")
# Escapes are JSON's, and the quote itself; a surrogate stands only in a pair.
_ESCAPE = (
    r"[bfnrt/\\]|u(?:[0-9A-CEFa-cef][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2}"
    r"|[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})"
)
_SINGLE: Final = re.compile(
    rf"\['((?:[\x20-\x26\x28-\x5B\x5D-\uD7FF\uE000-\U0010FFFF]|\\(?:'|{_ESCAPE}))*)'\]"
)
_DOUBLE: Final = re.compile(
    rf'\["((?:[\x20\x21\x23-\x5B\x5D-\uD7FF\uE000-\U0010FFFF]|\\(?:"|{_ESCAPE}))*)"\]'
)


def check_path(text: str) -> str:
    """`text` itself, once it is known to be a singular query.

    Raises:
        PydanticCustomError: S-PATH, with how far the text could be read; a validator of a model raises it on.
    """
    _segments(text)
    return text


def find(path: str, value: Any) -> Any | Literal[Absent.ABSENT]:
    """The value at the checked `path` in `value`, or `ABSENT`.

    A name looks into an object only, an index into an array only. `value` is JSON as `read_json` gives it.
    """
    for segment in _segments(path):
        if isinstance(segment, str):
            if not isinstance(value, Mapping) or segment not in value:
                return ABSENT
        elif not isinstance(value, list | tuple) or not -len(value) <= segment < len(value):
            return ABSENT
        value = value[segment]
    return value


def json_equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: numbers by value, so 1 is 1.0, but true is not 1.

    >>> json_equal({"a": [1, True]}, {"a": [1.0, True]}), json_equal(True, 1)
    (True, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(json_equal(item, other[name]) for name, item in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return bool(one == other)


@lru_cache(maxsize=256)
def _segments(text: str) -> tuple[Segment, ...]:
    if not text.startswith("$"):
        raise rule_error("S-PATH", "a singular JSONPath query, which begins with $")
    segments: list[Segment] = []
    position = 1
    while position < len(text):
        while text[position : position + 1] in _BLANKS:
            position += 1
        segment, position = _segment(text, position)
        segments.append(segment)
    return tuple(segments)


def _segment(text: str, start: int) -> tuple[Segment, int]:
    if match := _SHORTHAND.match(text, start):
        return match[1], match.end()
    if match := _INDEX.match(text, start):
        # Longer than any such integer: not converted, Python limits how many digits `int` takes.
        if len(match[1]) <= len(str(-MAX_SAFE_INTEGER)) and abs(int(match[1])) <= MAX_SAFE_INTEGER:
            return int(match[1]), match.end()
        raise rule_error("S-PATH", f"an index within ±(2^53-1), at character {start}")
    if match := _SINGLE.match(text, start):
        return _unescaped(_requoted(match[1])), match.end()
    if match := _DOUBLE.match(text, start):
        return _unescaped(match[1]), match.end()
    raise rule_error("S-PATH", f".name, ['name'] or [index] at character {start}")


def _requoted(body: str) -> str:
    """The inside of a single-quoted name as the inside of a JSON string."""
    # An escape is read as a whole, so that `\\'` stays a backslash before a quote.
    return re.sub(r"""\\.|\"""", lambda match: {"\\'": "'", '"': '\\"'}.get(match[0], match[0]), body)


def _unescaped(body: str) -> str:
    text: str = json.loads(f'"{body}"')
    return text
