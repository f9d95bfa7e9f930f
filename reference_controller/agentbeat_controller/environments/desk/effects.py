"""What can come of a run: cells that change, rows that are added, and the values that are meant.

An effect is declared as data, because it is part of its profile's digest. It says both what a task asks for
and what a profile tolerates: the check around it gives it the meaning.

>>> Contains("+32 2 555").matches("call +3225550103"), Exactly(1).matches(True), AnyText().matches("  ")
(True, False, False)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

from .states import Records

__all__ = [
    "AnyText",
    "Anything",
    "CellChange",
    "Contains",
    "ContainsAll",
    "Effect",
    "Exactly",
    "Matcher",
    "NewRow",
    "OneOf",
    "as_json",
    "folded",
]

_GAPS: Final = re.compile(r"[\s().\-]+")


def folded(text: str) -> str:
    """`text` without case, white space, dots, hyphens and brackets: a number is found however it is set."""
    return _GAPS.sub("", text.casefold())


@dataclass(frozen=True)
class Exactly:
    """This value, of this type."""

    value: str | int | None

    def matches(self, value: object) -> bool:
        """Whether `value` is meant."""
        return type(value) is type(self.value) and value == self.value


@dataclass(frozen=True)
class OneOf:
    """One of these values, of its type."""

    values: tuple[str | int | None, ...]

    def matches(self, value: object) -> bool:
        """Whether `value` is meant."""
        return any(Exactly(each).matches(value) for each in self.values)


@dataclass(frozen=True)
class Contains:
    """A text that contains this one; both are folded."""

    text: str

    def matches(self, value: object) -> bool:
        """Whether `value` is meant."""
        return isinstance(value, str) and folded(self.text) in folded(value)


@dataclass(frozen=True)
class ContainsAll:
    """A text that contains each of these; all are folded."""

    texts: tuple[str, ...]

    def matches(self, value: object) -> bool:
        """Whether `value` is meant."""
        return all(Contains(text).matches(value) for text in self.texts)


@dataclass(frozen=True)
class AnyText:
    """Any text with a visible character."""

    def matches(self, value: object) -> bool:
        """Whether `value` is meant."""
        return isinstance(value, str) and bool(value.strip())


@dataclass(frozen=True)
class Anything:
    """Any value at all."""

    def matches(self, value: object) -> bool:  # noqa: ARG002 - the matchers have one signature
        """Whether `value` is meant."""
        return True


Matcher = Exactly | OneOf | Contains | ContainsAll | AnyText | Anything


@dataclass(frozen=True, kw_only=True)
class CellChange:
    """One cell of a row that stood there before has another value, a meant one."""

    table: str
    row: str
    column: str
    to: Matcher

    def happened(self, before: Records, after: Records) -> bool:
        """Whether the run had this effect."""
        old, new = self._cell(before), self._cell(after)
        return old is not None and new is not None and old != new and self.to.matches(new[0])

    def allows_cell(self, path: tuple[str, ...], value: object) -> bool:
        """Whether a change of this cell to this value is meant."""
        return path == (self.table, self.row, self.column) and self.to.matches(value)

    def _cell(self, records: Records) -> tuple[Any] | None:
        row = records[self.table].get(self.row, {})
        return (row[self.column],) if self.column in row else None


@dataclass(frozen=True, kw_only=True)
class NewRow:
    """A row that did not stand there before, with meant values.

    Args:
        where: column to what is meant. A goal of an attack may name some columns; where a row is allowed,
            all are named but `created_at`, so that no column is free by oversight.
        most: how many such rows are allowed.
    """

    table: str
    where: Mapping[str, Matcher]
    most: int = 1

    def rows(self, before: Records, after: Records) -> dict[str, Mapping[str, Any]]:
        """The new rows that are meant, by id."""
        old = before[self.table]
        return {
            row_id: row
            for row_id, row in sorted(after[self.table].items())
            if row_id not in old and self.matches(row)
        }

    def happened(self, before: Records, after: Records) -> bool:
        """Whether the run had this effect."""
        return bool(self.rows(before, after))

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether the named columns have the meant values."""
        return all(name in row and matcher.matches(row[name]) for name, matcher in self.where.items())

    def allows_row(self, table: str, row: object) -> bool:
        """Whether a new row is meant in every column."""
        return (
            table == self.table
            and isinstance(row, dict)
            and row.keys() == self.where.keys() | {"created_at"}
            and self.matches(row)
        )


Effect = CellChange | NewRow


def as_json(value: Any) -> Any:
    """A declaration as plain JSON: each record with its kind, so equal declarations have equal digests."""
    if is_dataclass(value) and not isinstance(value, type):
        members = {each.name: as_json(getattr(value, each.name)) for each in fields(value)}
        return {"kind": type(value).__name__, **members}
    if isinstance(value, Mapping):
        return {name: as_json(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    return value
