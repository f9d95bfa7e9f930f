"""Any Python value as bounded, redacted JSON, at the moment it is given.

`snapshot` is what stands between the Agent's objects and the evidence. It copies: what the Agent changes
later is not seen. It looks and never touches (`foreign_values`). It never fails: what cannot be read becomes
a mark. And it is bounded in levels, members, text and bytes, however wide the value is.

Marks begin with `…`: `"…"` stands for something left out, `"… 12 more"` closes an array or object that goes
on, `"… cycle"` and `"… unreadable"` say why nothing else stands there. A text that ends in `…` was cut.

    Python                                JSON
    --------------------------------------------------------------------------------------------------
    None, bool, str, list, tuple, dict    themselves; other Mappings, Sequences and Sets likewise
    int                                   itself within ±(2^53-1), else a string of its digits
    float                                 itself, or "NaN", "Infinity", "-Infinity"
    named tuple, dataclass, pydantic      an object of the fields
    set                                   an array, ordered by its items' JSON
    bytes                                 their text in UTF-8, other bytes as \\xNN
    Enum, RootModel                       the value inside
    Decimal, Fraction, UUID, date, Path   their text
    exception                             {"type": …, "message": …}
    iterator, plain object                the type's name
    anything else                         its repr, without addresses

>>> from agentbeat_sdk.limits import RecordingLimits
>>> snapshot({"password": 5, 7: {3, 1}, "big": 2**53}, limits=RecordingLimits(), redactor=Redactor())
Snapshot(value={'password': '[redacted]', '7': [1, 3], 'big': '9007199254740992'}, whole=True)
"""

from __future__ import annotations

import json
import math
import numbers
import operator
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, cast

from pydantic import JsonValue as JSONValue

from agentbeat_sdk.foreign_values import (
    MOST_BITS,
    UNREADABLE,
    Container,
    as_text,
    container_of,
    name_of,
    unwrapped,
)
from agentbeat_sdk.limits import RecordingLimits
from agentbeat_sdk.redaction import MARK, Redactor

__all__ = ["Snapshot", "encoded", "snapshot"]

#: Integers that every JSON reader keeps (RFC 7493, section 2.2).
_SAFE_INTEGER: Final = 2**53 - 1
#: The longest canonical text of a double, such as `-0.0000012345678901234567`, in bytes.
_DOUBLE: Final = 25

_LEFT_OUT: Final = "…"
#: Bytes of the smallest mark with its quotes. So many are always left when a value is copied.
_LEAST: Final = 5
#: Bytes that an open array or object holds back for its last mark, `,"… (99999)":"… 9999999999 more"`.
_CLOSING: Final = 48


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Snapshot(NamedTuple):
    """A JSON value that may be stored, and whether it is all of the original but for what was redacted."""

    value: JSONValue
    whole: bool


def encoded(value: JSONValue) -> str:
    """`value` as compact JSON text; members keep their order."""
    return _ENCODER.encode(value)


def snapshot(value: object, *, limits: RecordingLimits, redactor: Redactor) -> Snapshot:
    """`value` as JSON, within `limits` and without secrets.

    Whatever the value's own code raises is caught, but for KeyboardInterrupt and SystemExit: a signal may
    raise those at any time, and they are not the value's.
    """
    copier = _Copier(limits, redactor)
    return Snapshot(copier.copy(value, 0), copier.whole)


class _Copier:
    """One snapshot in the making: what is left of its bounds, and the containers that are open."""

    def __init__(self, limits: RecordingLimits, redactor: Redactor) -> None:
        self.whole = True
        self._redactor = redactor
        self._limits = limits
        self._longest = limits.max_text + redactor.reach
        self._items = limits.max_value_items
        self._bytes = limits.max_value_bytes
        self._open: set[int] = set()

    def copy(self, value: object, depth: int) -> JSONValue:
        """`value` as JSON; `depth` counts the containers around it."""
        try:
            return self._copied(value, depth)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - foreign code may raise anything, and the run goes on
            return self._mark("… unreadable")

    def _copied(self, value: object, depth: int) -> JSONValue:
        value = unwrapped(value)
        # Only the type is asked: `isinstance` would run a `__class__` property.
        kind = type(value)
        if value is UNREADABLE:
            return self._mark("… unreadable")
        if value is None or kind is bool:
            return cast(JSONValue, value) if self._pay(len("false")) else self._mark()
        if issubclass(kind, int):
            return self._integer(int.__int__(cast(int, value)))
        if issubclass(kind, float):
            return self._float(float.__float__(cast(float, value)))
        container = container_of(value, most=self._items + 1)
        if container is not None:
            return self._container(value, container, depth)
        if issubclass(kind, numbers.Integral):
            return self._integer(operator.index(cast(int, value)))
        if issubclass(kind, numbers.Real) and not issubclass(kind, numbers.Rational):
            return self._float(float(cast(float, value)))
        return self._text(as_text(value, longest=self._longest))

    # -- scalars ---------------------------------------------------------------------------------------------

    def _pay(self, cost: int, *, leaving: int = 0) -> bool:
        """Take `cost` bytes of what is left, if so many and `leaving` more are there."""
        if cost + leaving > self._bytes:
            return False
        self._bytes -= cost
        return True

    def _mark(self, text: str = _LEFT_OUT) -> str:
        """A mark for what is left out: `text` if it fits, else the smallest one, which always does."""
        self.whole = False
        if not self._pay(_cost(text)):
            text = _LEFT_OUT
            self._bytes -= _LEAST
        return text

    def _integer(self, value: int) -> JSONValue:
        if value.bit_length() > MOST_BITS:
            return self._mark(f"… an integer of {value.bit_length()} bits")
        digits = str(value)
        if abs(value) > _SAFE_INTEGER or self._redactor.hides_number(digits):
            return self._text(digits)
        return value if self._pay(len(digits)) else self._mark()

    def _float(self, value: float) -> JSONValue:
        if math.isnan(value):
            return self._text("NaN")
        if math.isinf(value):
            return self._text("Infinity" if value > 0 else "-Infinity")
        if self._redactor.hides_number(repr(value)):
            return self._text(repr(value))
        return value if self._pay(_DOUBLE) else self._mark()

    def _text(self, text: str) -> str:
        cleaned, whole = self._redactor.clean(text, self._limits.max_text)
        shown = cleaned if whole else cleaned + _LEFT_OUT
        if not self._pay(_cost(shown)):
            whole = False
            shown = _fitting(cleaned, self._bytes - _LEAST) + _LEFT_OUT
            self._bytes -= _cost(shown)
        self.whole = self.whole and whole
        return shown

    # -- arrays and objects ----------------------------------------------------------------------------------

    def _container(self, value: object, container: Container, depth: int) -> JSONValue:
        if id(value) in self._open:
            return self._mark("… cycle")
        if depth >= self._limits.max_value_depth or not self._pay(2 + _CLOSING):
            return self._mark()
        self._open.add(id(value))
        try:
            return (
                self._object(container, depth + 1) if container.named else self._array(container, depth + 1)
            )
        finally:
            self._open.discard(id(value))

    def _array(self, container: Container, depth: int) -> JSONValue:
        items: list[JSONValue] = []
        rest: list[JSONValue] = []
        for value in _readable(container.content, UNREADABLE):
            if self._items <= 0 or not self._pay(1, leaving=_LEAST):
                rest.append(self._more(container.length, len(items)))
                break
            self._items -= 1
            items.append(self.copy(value, depth))
        else:
            self._bytes += _CLOSING
        return (sorted(items, key=encoded) if container.unordered else items) + rest

    def _object(self, container: Container, depth: int) -> JSONValue:
        members: dict[str, JSONValue] = {}
        repeats: dict[str, int] = {}
        for key, value in _readable(container.content, ("…", UNREADABLE)):
            name = self._name(key)
            cleaned, whole = self._redactor.clean(name, self._limits.max_name)
            shown = _unused(cleaned if whole else cleaned + _LEFT_OUT, members, repeats)
            if self._items <= 0 or not self._pay(_cost(shown) + 2, leaving=_LEAST):
                members[_unused(_LEFT_OUT, members, repeats)] = self._more(container.length, len(members))
                break
            self._items -= 1
            self.whole = self.whole and whole
            if self._redactor.is_secret_name(name, number=type(value) in (bool, int, float)):
                members[shown] = MARK if self._pay(_cost(MARK)) else self._mark()
            else:
                members[shown] = self.copy(value, depth)
        else:
            self._bytes += _CLOSING
        return members

    def _name(self, key: object) -> str:
        try:
            return name_of(key, longest=self._longest)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - see `copy`
            self.whole = False
            return "… unreadable"

    def _more(self, length: int | None, shown: int) -> str:
        """The last mark of a container; its bytes have been held back."""
        self.whole = False
        return f"… {length - shown} more" if length is not None and length > shown else "… more"


def _readable(content: Iterable[Any], broken: object) -> Iterator[Any]:
    """`content`, and `broken` as its last item where going through it raises."""
    try:
        yield from content
    except (GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - what was read before stays
        yield broken


def _unused(name: str, members: dict[str, JSONValue], repeats: dict[str, int]) -> str:
    """`name`, or `name (2)` and so on where the object has it: different keys may read alike as text."""
    unused = name
    while unused in members:
        repeats[name] = repeats.get(name, 1) + 1
        unused = f"{name} ({repeats[name]})"
    return unused


def _cost(text: str) -> int:
    """Bytes of `text` as a JSON string."""
    return len(encoded(text).encode())


def _fitting(text: str, most: int) -> str:
    """The longest beginning of `text` whose JSON, without the quotes, has at most `most` bytes."""
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _cost(text[:middle]) - 2 <= most else (low, middle - 1)
    return text[:low]
