"""Lists of digests and of assignments that lie in the temporary database.

A list is written once and never changed, so its length is known from then on.
"""

# ruff: noqa: S608 - what is put into statements are names of tables and columns, from here

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, overload

from agentbeat_receipts.objects import Assignment, AssignmentTable, KeptList, Replicates
from agentbeat_receipts.streams.stores import Store
from agentbeat_receipts.streams.tables import raw_digest, shown_digest
from agentbeat_receipts.verification.relations import KeptNames

__all__ = ["StoredAssignments", "StoredDigests", "StoredNames", "listed", "promised"]

_COLUMNS: Final = "assignment, profile, arm, replicate"


def promised(store: Store, entries: Iterable[tuple[str, str, str, int]]) -> StoredAssignments:
    """Put down the assignments of a manifest: names with profile, arm and replicate.

    Raises:
        ValueError: two have one name.
    """
    (before,) = store.one("SELECT coalesce(max(number), 0) FROM promised")
    counted = _Counted((before, *entry) for entry in entries)
    taken = store.write(f"INSERT OR IGNORE INTO promised (list, {_COLUMNS}) VALUES (?, ?, ?, ?, ?)", counted)
    if taken < counted.count:
        raise ValueError("an assignment twice, expected each once")
    return StoredAssignments(store, before, counted.count)


def listed(store: Store, digests: Iterable[bytes]) -> StoredDigests:
    """Put down the digests of a checkpoint, each once; the list is in their order."""
    (before,) = store.one("SELECT coalesce(max(list), 0) FROM listed")
    store.write("INSERT INTO listed VALUES (?, ?)", ((before + 1, digest) for digest in digests))
    return StoredDigests(store, "listed", f"list = {before + 1}")


class _Counted:
    """Rows that are counted as they are taken."""

    def __init__(self, rows: Iterable[tuple[object, ...]]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        for row in self._rows:
            self.count += 1
            yield row


class StoredNames(KeptNames):
    """Names or digests: a column of a table, each once.

    Args:
        store: has the table.
        table: its name.
        column: that of the names; there is an index of the condition's columns and then this one.
        condition: which of the rows.
        order: in which order they are.
    """

    def __init__(
        self, store: Store, table: str, column: str, condition: str = "TRUE", *, order: str | None = None
    ) -> None:
        self._store = store
        self._column = column
        self.table = table
        self.condition = condition
        self._order = order or column
        self._count: int = store.one(f"SELECT count(*) FROM {table} WHERE {condition}")[0]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        query = f"SELECT {self._column} FROM {self.table} WHERE {self.condition} ORDER BY {self._order}"
        return (self._shown(value) for (value,) in self._store.rows(query))

    def __contains__(self, name: object) -> bool:
        query = f"SELECT 1 FROM {self.table} WHERE {self.condition} AND {self._column} = ?"
        value = self._value(name)
        return value is not None and self._store.one(query, value) is not None

    def without(self, others: Collection[str]) -> Iterator[str]:
        if not isinstance(others, StoredNames):
            return (name for name in self if name not in others)
        theirs = f"theirs.{others._column} = ours.{self._column} AND {others.condition}"
        rows = self._store.rows(
            f"SELECT {self._column} FROM {self.table} AS ours WHERE {self.condition} "
            f"AND NOT EXISTS (SELECT 1 FROM {others.table} AS theirs WHERE {theirs})"
        )
        return (self._shown(value) for (value,) in rows)

    def _shown(self, value: Any) -> str:
        shown: str = value
        return shown

    def _value(self, name: object) -> object:
        return name if isinstance(name, str) else None


class StoredDigests(StoredNames, KeptList[str]):
    """The digests of a table, in their order.

    Args:
        store, table, condition, column: as of `StoredNames`.
    """

    def __init__(self, store: Store, table: str, condition: str = "TRUE", *, column: str = "digest") -> None:
        super().__init__(store, table, column, condition)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(len(self))[place])
        place = range(len(self))[place]
        rows = f"FROM {self.table} WHERE {self.condition} ORDER BY {self._column}"
        return shown_digest(self._store.one(f"SELECT {self._column} {rows} LIMIT 1 OFFSET ?", place)[0])

    def _shown(self, value: Any) -> str:
        return shown_digest(value)

    def _value(self, name: object) -> object:
        return raw_digest(name) if isinstance(name, str) else None


class StoredAssignments(AssignmentTable):
    """The assignments of one manifest, in their order.

    Args:
        store: has them.
        before: the number of the row before the first, by which the list is known.
        count: how many rows.
    """

    def __init__(self, store: Store, before: int, count: int) -> None:
        self._store = store
        self._count = count
        self.number = before

    @property
    def names(self) -> Collection[str]:
        return StoredNames(self._store, "promised", "assignment", f"list = {self.number}", order="number")

    def cells(self) -> Mapping[tuple[str, str], Replicates]:
        rows = self._store.rows(
            "SELECT profile, arm, count(*), count(DISTINCT replicate), max(replicate) FROM promised "
            "WHERE list = ? GROUP BY profile, arm ORDER BY min(number)",
            self.number,
        )
        return {(profile, arm): Replicates(*found) for profile, arm, *found in rows}

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Assignment]:
        # By their numbers, which are one after the other: the order of the index is another one.
        query = f"SELECT {_COLUMNS} FROM promised WHERE number > ? ORDER BY number LIMIT ?"
        return (entry(*row) for row in self._store.rows(query, self.number, self._count))

    @overload
    def __getitem__(self, place: int) -> Assignment: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Assignment, ...]: ...
    def __getitem__(self, place: int | slice) -> Assignment | tuple[Assignment, ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(self._count)[place])
        number = self.number + 1 + range(self._count)[place]
        return entry(*self._store.one(f"SELECT {_COLUMNS} FROM promised WHERE number = ?", number))


def entry(assignment: str, profile: str, arm: str, replicate: int) -> Assignment:
    """The assignment of a row; each member was checked when it was read."""
    members: dict[str, Any] = {"assignment": assignment, "profile": profile, "arm": arm}
    return Assignment.model_construct(**members, replicate=replicate)
