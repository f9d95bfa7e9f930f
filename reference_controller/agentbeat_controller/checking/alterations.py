"""What an argument of a ground-truth call could be instead: near enough to be taken, and another one.

>>> list(alternatives("ORD-1003", {}))[:2]
['ORD-1004', 'ORD-1002']
>>> list(alternatives("solved", {"enum": ["open", "solved"]}))
['open']
>>> list(alternatives(2000, {"maximum": 2000}))[:1]
[1999]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["alternatives"]

_NUMBER: Final = re.compile(r"\d+(?!.*\d)", re.DOTALL)
_WORDS: Final = "something else"


def alternatives(value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Other values than `value`, the likeliest to be taken first."""
    seen = [value]
    for other in _candidates(value, schema):
        if not any(type(other) is type(each) and other == each for each in seen) and _fits(other, schema):
            seen.append(other)
            yield other


def _candidates(value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if choices := _choices(schema):
        yield from choices
        return
    match value:
        case bool():
            yield not value
        case int() | float():
            yield from (value + 1, value - 1, value * 2, 1)
        case str():
            yield from _texts(value)
        case list():
            yield from _lists(value, schema)
        case dict():
            for name, item in value.items():
                for other in alternatives(item, {}):
                    yield {**value, name: other}
        case _:
            yield from (_WORDS, 1, True)


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    """The values of an enumeration, also of one that may be null."""
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    for each in schema.get("anyOf", ()):
        if isinstance(each, Mapping) and isinstance(each.get("enum"), list):
            return list(each["enum"])
    return []


def _texts(value: str) -> Iterator[str]:
    """Another number in the text, so that ids, dates and amounts keep their form; then other words."""
    if match := _NUMBER.search(value):
        digits = match[0]
        for step in (1, -1, 2):
            if (number := int(digits) + step) >= 0:
                yield value[: match.start()] + f"{number:0{len(digits)}d}" + value[match.end() :]
    if local := re.fullmatch(r"([^@\s]+)@(\S+)", value):
        yield f"{local[1]}.other@{local[2]}"
    yield f"{value} {_WORDS}".strip()
    yield _WORDS
    if value[:1].isalpha():
        yield value[1:] + value[0]


def _lists(value: list[Any], schema: Mapping[str, Any]) -> Iterator[Any]:
    items = schema.get("items")
    for place, item in enumerate(value):
        for other in alternatives(item, items if isinstance(items, Mapping) else {}):
            yield [*value[:place], other, *value[place + 1 :]]
    if value:
        yield value[:-1]
    else:
        yield [_WORDS]


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether the plain bounds of a schema let the value through; what else there is the plane says."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum"), schema.get("maximum")
        return (low is None or value >= low) and (high is None or value <= high)
    if isinstance(value, str):
        low, high = schema.get("minLength", 0), schema.get("maxLength")
        if not (low <= len(value) and (high is None or len(value) <= high)):
            return False
        pattern = schema.get("pattern")
        try:
            return pattern is None or re.search(pattern, value) is not None
        except re.error:
            return True  # a pattern in another dialect
    return True
