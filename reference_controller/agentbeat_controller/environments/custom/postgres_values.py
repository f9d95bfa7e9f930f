"""Values of PostgreSQL as plain JSON, exactly, and back: from the server's own text, not by way of Python.

A driver's Python values lose what PostgreSQL keeps: a month is thirty days in them, 24 hours are a day, an
array has no bounds, a number in a document is a double. Here each such type has a form of its own:

    interval             {"microseconds": 5}; with months or days {"months": 1, "days": 2, "microseconds": 0}
    array                a list; {"lower": [0], "items": [1, 2]} where it does not begin at 1, and
                         {"lower": [1, 1], "items": [[1, 2]]} where it has more dimensions than one
    jsonb                see `documents`
    json                 its text: spaces and repeated members are kept there
    dates, times         ISO 8601, in UTC where they have a zone; what has none (infinity, BC) as PostgreSQL
                         writes it
    ranges               their text

>>> interval_form("P1M-2DT3.5S"), interval_text({"months": 1, "days": -2, "microseconds": 3500000})
({'months': 1, 'days': -2, 'microseconds': 3500000}, '1 mons -2 days 00:00:03.500000')
>>> time_form("2026-03-01 07:00:00.5+00"), time_form("infinity")
('2026-03-01T07:00:00.500000Z', 'infinity')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.dialects.postgresql import DOMAIN, INTERVAL
from sqlalchemy.types import ARRAY, JSON, TypeEngine

from .documents import document_form, document_text
from .values import exact, stored

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.abc import Buffer
    from psycopg.adapt import Loader

__all__ = ["SETTINGS", "interval_form", "interval_text", "read_exactly", "time_form", "written"]

#: How the server has to write values while they are read, whatever its own settings are.
SETTINGS: Final[Mapping[str, str]] = {
    "client_encoding": "UTF8",
    "DateStyle": "ISO",
    "IntervalStyle": "iso_8601",
    "TimeZone": "UTC",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "lc_monetary": "C",
}

_DAY_TIME: Final = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?"
)
_TIME: Final = re.compile(r"(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d:\d\d)(\.\d+)?(\+00)?")
_ARRAY: Final = re.compile(rb"(?P<bounds>(?:\[[^\]]*\])*=?)\{(?P<nested>\{*)")
_INTERVAL: Final = ("months", "days", "microseconds")
_SECOND: Final = 1_000_000


def read_exactly(cursor: Cursor[Any]) -> None:
    """Have this cursor give the forms of values."""
    for oid, loader in _loaders():
        cursor.adapters.register_loader(oid, loader)


def interval_form(text: str) -> Any:
    """An interval in the style `iso_8601`; its three parts do not add up to each other."""
    found = _DAY_TIME.fullmatch(text)
    if found is None:
        return text
    years, months, days, hours, minutes = (int(each or 0) for each in found.groups()[:5])
    seconds = Decimal(found[6] or 0) + 60 * (minutes + 60 * hours)
    parts = {"months": 12 * years + months, "days": days, "microseconds": int(seconds * _SECOND)}
    return {name: exact(count) for name, count in parts.items() if count or name == "microseconds"}


def interval_text(form: Mapping[str, Any]) -> str:
    """An interval as PostgreSQL reads it."""
    months, days, total = (int(stored(form.get(name, 0))) for name in _INTERVAL)
    seconds, micro = divmod(abs(total), _SECOND)
    minutes, second = divmod(seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}.{micro:06}"
    return f"{months} mons {days} days {'-' if total < 0 else ''}{clock}"


def time_form(text: str) -> str:
    """A date or a time in the style `ISO`."""
    found = _TIME.fullmatch(text)
    if found is None:
        return text
    day, time, fraction, utc = found.groups()
    return f"{day}T" * bool(day) + time + (fraction or "").ljust(7, "0") * bool(fraction) + "Z" * bool(utc)


def written(form: Any, kind: TypeEngine[Any]) -> Any:
    """What a fixture's value is written as into a column of this type."""
    while isinstance(kind, DOMAIN):
        kind = kind.data_type
    if isinstance(kind, ARRAY):
        return _array_text(form, kind.item_type)
    if isinstance(kind, JSON) and form is not None and not isinstance(form, str):
        return document_text(form)
    if isinstance(kind, INTERVAL) and isinstance(form, Mapping):
        return interval_text(form)
    return stored(form)


def _array_text(form: Any, kind: TypeEngine[Any]) -> Any:
    """An array as PostgreSQL reads it; what is neither a list nor a list with bounds is that already."""
    lower = form.get("lower") if isinstance(form, Mapping) else [1]
    items = form.get("items") if isinstance(form, Mapping) else form
    if not isinstance(items, list) or not isinstance(lower, list):
        return form
    bounds, inner = "", items
    for first in lower if isinstance(form, Mapping) else ():
        bounds += f"[{first}:{first + len(inner) - 1}]"
        inner = inner[0]
    return f"{bounds}=" * bool(bounds) + _items_text(items, kind, len(lower))


def _items_text(form: Any, kind: TypeEngine[Any], dimensions: int) -> str:
    """An array, or an item of one: a list in an array of documents is a document."""
    if form is None:
        return "NULL"
    if isinstance(form, list) and (dimensions > 0 or not isinstance(kind, JSON)):
        return "{" + ",".join(_items_text(item, kind, dimensions - 1) for item in form) + "}"
    value = written(form, kind)
    text = f"\\x{value.hex()}" if isinstance(value, bytes) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@lru_cache(maxsize=1)
def _loaders() -> tuple[tuple[int, type[Loader]], ...]:
    from psycopg import postgres
    from psycopg.types.multirange import MultirangeInfo
    from psycopg.types.range import RangeInfo

    forms: dict[int, Callable[[str], Any]] = {postgres.types[name].oid: form for name, form in _FORMS.items()}
    for info in postgres.types:
        if isinstance(info, RangeInfo | MultirangeInfo):
            forms[info.oid] = str
    return (*((oid, _loader_of(form)) for oid, form in forms.items()), *_array_loaders())


def _loader_of(form: Callable[[str], Any]) -> type[Loader]:
    from psycopg.adapt import Loader

    class FormLoader(Loader):
        def load(self, data: Buffer) -> Any:
            return form(bytes(data).decode())

    return FormLoader


def _array_loaders() -> Iterator[tuple[int, type[Loader]]]:
    from psycopg import postgres
    from psycopg.types.array import ArrayLoader

    class BoundedLoader(ArrayLoader):
        def load(self, data: Buffer) -> Any:
            found = _ARRAY.match(bytes(data))
            if found is None or not (found["bounds"] or found["nested"]):
                return super().load(data)
            lower = [int(first) for first in re.findall(rb"\[(-?\d+):", found["bounds"])]
            items = super().load(bytes(data)[len(found["bounds"]) :])
            return {"lower": lower or [1] * (1 + len(found["nested"])), "items": items}

    for info in postgres.types:
        if info.array_oid:
            members = {"base_oid": info.oid, "delimiter": info.delimiter.encode()}
            yield info.array_oid, type("BoundedLoader", (BoundedLoader,), members)


_FORMS: Final[Mapping[str, Callable[[str], Any]]] = {
    "interval": interval_form,
    "json": str,
    "jsonb": document_form,
    **dict.fromkeys(("date", "time", "timetz", "timestamp", "timestamptz"), time_form),
}
