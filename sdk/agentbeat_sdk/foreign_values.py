"""How to look at an object of somebody else's without touching it.

An object of the Agent may raise, lie about its class, run a query in a property or never end. So only its
type is asked what it is, and built-in containers are read past whatever a subclass overrides. Fields are read
where a dataclass or a pydantic model declares them. An iterator is never advanced, only named.

The functions here may still raise what the object raises: `bounded` catches it, in one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import islice
from pathlib import PurePath
from typing import Any, Final, NamedTuple
from uuid import UUID

from pydantic import BaseModel, RootModel

__all__ = ["UNREADABLE", "Container", "as_text", "container_of", "name_of", "unwrapped"]

#: Stands for a field or an item that raised when it was read.
UNREADABLE: Final = object()

#: An integer of more bits is named by its size: writing its digits takes quadratic time.
MOST_BITS: Final = 4_096

_NO_CONTAINER: Final = (str, bytes, bytearray, memoryview, range, Iterator)
_WRITTEN_BY_STR: Final = (Decimal, Fraction, PurePath, UUID, timedelta)
_PLAIN_REPR: Final[object] = object.__repr__
_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")


class Container(NamedTuple):
    """What is in an object: members with names, or items without; how many, when a built-in type says so."""

    content: Iterable[Any]
    named: bool = False
    length: int | None = None
    unordered: bool = False


def unwrapped(value: object) -> object:
    """The value inside of enumeration members and pydantic root models."""
    for _ in range(8):
        if issubclass(type(value), Enum):
            value = object.__getattribute__(value, "_value_")
        elif issubclass(type(value), RootModel):
            value = object.__getattribute__(value, "__dict__")["root"]
        else:
            break
    return value


def container_of(value: Any, *, most: int) -> Container | None:
    """What `value` holds, or None where it is a scalar or may not be looked into.

    Args:
        most: of a dict or list, which other threads may be changing, no more than so many are taken, at once.
    """
    kind = type(value)
    if issubclass(kind, dict):
        return Container(list(islice(dict.items(value), most)), named=True, length=dict.__len__(value))
    if issubclass(kind, list):
        return Container(list.__getitem__(value, slice(most)), length=list.__len__(value))
    if issubclass(kind, tuple):
        names = getattr(kind, "_fields", None)
        items = tuple.__iter__(value)
        if type(names) is tuple and len(names) == tuple.__len__(value):
            return Container(zip(names, items, strict=True), named=True, length=len(names))
        return Container(items, length=tuple.__len__(value))
    if issubclass(kind, BaseModel):
        return Container(_model_members(value), named=True)
    if is_dataclass(kind):
        return Container(((field.name, _attribute(value, field.name)) for field in fields(kind)), named=True)
    if issubclass(kind, BaseException):
        return Container([("type", kind.__name__), ("message", str(value))], named=True, length=2)
    if issubclass(kind, _NO_CONTAINER):
        return None
    if issubclass(kind, Mapping):
        return Container(((key, _item(value, key)) for key in value), named=True)
    if issubclass(kind, Sequence | MappingView):
        return Container(value)
    return Container(value, unordered=True) if issubclass(kind, Set) else None


def _model_members(value: BaseModel) -> Iterator[tuple[str, object]]:
    stored = object.__getattribute__(value, "__dict__")
    extra = object.__getattribute__(value, "__pydantic_extra__") or {}
    for name in type(value).__pydantic_fields__:
        if name in stored:
            yield name, stored[name]
    yield from dict.items(extra)


def _attribute(value: object, name: str) -> object:
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001 - one field that cannot be read does not hide the others
        return UNREADABLE


def _item(value: Mapping[Any, object], key: object) -> object:
    try:
        return value[key]
    except Exception:  # noqa: BLE001 - one item that cannot be read does not hide the others
        return UNREADABLE


def as_text(value: Any, *, longest: int) -> str:
    """The text that stands for a value which is neither a number nor a container.

    Args:
        longest: bytes are read no further than what so many code points can need.
    """
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, bytes | bytearray):
        return bytes(memoryview(value)[: 4 * longest]).decode("utf-8", "backslashreplace")
    if issubclass(kind, date | time):
        return str.__str__(value.isoformat())
    if issubclass(kind, _WRITTEN_BY_STR):
        return str.__str__(str(value))
    if issubclass(kind, Iterator) or getattr(kind, "__repr__", None) is _PLAIN_REPR:
        return f"<{kind.__module__}.{kind.__qualname__}>"
    return _ADDRESS.sub("", str.__str__(repr(value)))


def name_of(key: Any, *, longest: int) -> str:
    """The member name that stands for a mapping's key; JSON has only texts."""
    key = unwrapped(key)
    if key is None or type(key) is bool:
        return {None: "null", True: "true", False: "false"}[key]
    if issubclass(type(key), int):
        number = int.__int__(key)
        return str(number) if number.bit_length() <= MOST_BITS else f"… {number.bit_length()} bits"
    return as_text(key, longest=longest)
