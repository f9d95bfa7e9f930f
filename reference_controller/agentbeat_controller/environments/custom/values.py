"""Values of a database as plain JSON, exactly: two values that differ have two forms.

    None, text, truth                as they are
    whole numbers                    as they are up to 2^53 - 1, else {"integer": "9007199254740993"}
    floats                           as they are, else {"float": "nan"} (and "inf", "-inf", "-0.0")
    decimals                         a string with every digit that is stored: "12.50"
    bytes                            {"base64": "…"}
    dates, times                     ISO 8601; with a time zone in UTC
    durations                        {"microseconds": …}; those of PostgreSQL: see `postgres_values`
    UUIDs, addresses                 their text
    arrays, JSON documents           lists and objects of these

Anything else has no exact form here and is refused. Where whole numbers and floats can stand in one column,
a float that is whole is {"float": "1.0"} too: JSON does not tell it from 1.

>>> exact(Decimal("12.50")), exact(2**60), exact(b"ab")
('12.50', {'integer': '1152921504606846976'}, {'base64': 'YWI='})
>>> stored({"base64": "YWI="}), stored("12.50")
(b'ab', '12.50')
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import math
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

__all__ = ["exact", "key_text", "stored"]

_SAFE: Final = 2**53 - 1
_TAGS: Final = frozenset({"base64", "integer", "float", "microseconds"})
_TEXTS: Final = (
    Decimal,
    uuid.UUID,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Interface,
    ipaddress.IPv6Interface,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
)


def exact(value: Any, *, mixed: bool = False) -> Any:
    """The value as plain JSON.

    Args:
        mixed: whole numbers and floats can both stand there.

    Raises:
        ValueError: the type has no exact form.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE else {"integer": str(value)}
    if isinstance(value, float):
        plain = math.isfinite(value) and not (value == 0 and math.copysign(1, value) < 0)
        return value if plain and not (mixed and value.is_integer()) else {"float": repr(value)}
    if isinstance(value, _TEXTS):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return _time(value)
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: exact(item) for name, item in value.items()}
    raise ValueError(f"a {type(value).__name__} has no exact form")


def _time(value: datetime.date | datetime.time | datetime.timedelta) -> Any:
    if isinstance(value, datetime.timedelta):
        return {"microseconds": exact(value // datetime.timedelta(microseconds=1))}
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).isoformat().removesuffix("+00:00") + "Z"
    return value.isoformat()


def stored(value: Any) -> Any:
    """What a fixture's JSON value is written as; the driver and the column's type do the rest."""
    if isinstance(value, Mapping) and len(value) == 1 and (tag := next(iter(value))) in _TAGS:
        text = value[tag]
        match tag:
            case "base64":
                return base64.b64decode(text, validate=True)
            case "integer":
                return int(text)
            case "float":
                return float(text)
            case _:
                return datetime.timedelta(microseconds=int(stored(text)))
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value)
    return value


def key_text(values: tuple[Any, ...]) -> str:
    """A primary key as the name of its row: a text as it is, anything else as JSON.

    >>> key_text(("a",)), key_text((7,)), key_text((7, "a"))
    ('a', '7', '[7,"a"]')
    """
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    forms = [exact(value) for value in values]
    return json.dumps(forms[0] if len(forms) == 1 else forms, separators=(",", ":"), ensure_ascii=False)
