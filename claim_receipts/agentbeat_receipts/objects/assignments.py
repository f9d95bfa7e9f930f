"""What is promised run by run: one assignment, and a long matrix of them in little memory.

An `AssignmentTable` is a sequence of assignments that makes each when it is asked for. It takes some 50 bytes
and the letters of a name, where the objects would take 800, and equals the tuple of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from agentbeat_protocol.models import Strict
from agentbeat_receipts.names import Names
from agentbeat_receipts.objects.base import Id, Positive

__all__ = ["Assignment", "AssignmentTable"]


class Assignment(Strict):
    """One promised run: a profile under an arm, for the n-th time."""

    assignment: Id
    profile: Id
    arm: Id
    replicate: Positive


class AssignmentTable(Sequence[Assignment]):
    """Assignments in their order; no two of one name."""

    def __init__(self) -> None:
        self.names = Names()
        self._labels = Names()
        self._rows = array("I")

    @classmethod
    def of(cls, entries: Iterable[Assignment]) -> AssignmentTable:
        """The table of these.

        Raises:
            ValueError, OverflowError: two have one name, or a replicate has more than nine digits.
        """
        table = cls()
        for entry in entries:
            table.add(entry.assignment, entry.profile, entry.arm, entry.replicate)
        return table

    def add(self, assignment: str, profile: str, arm: str, replicate: int) -> None:
        """One more.

        Raises:
            ValueError, OverflowError: the name is there already, or the replicate has more than nine digits.
        """
        if self.names.number(assignment) != len(self._rows) // 3:
            raise ValueError("an assignment that is there already")
        self._rows.extend((self._labels.number(profile), self._labels.number(arm), replicate))

    @property
    def by_name(self) -> Mapping[str, Assignment]:
        """Each by its name."""
        return _ByName(self)

    def __len__(self) -> int:
        return len(self._rows) // 3

    def __iter__(self) -> Iterator[Assignment]:
        labels: list[str] = list(self._labels)
        for place, name in enumerate(self.names):
            profile, arm, replicate = self._rows[3 * place : 3 * place + 3]
            yield _entry(name, labels[profile], labels[arm], replicate)

    @overload
    def __getitem__(self, place: int) -> Assignment: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Assignment, ...]: ...
    def __getitem__(self, place: int | slice) -> Assignment | tuple[Assignment, ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(len(self))[place])
        place = range(len(self))[place]
        profile, arm, replicate = self._rows[3 * place : 3 * place + 3]
        return _entry(self.names[place], self._labels[profile], self._labels[arm], replicate)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | AssignmentTable):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self)} assignments>"


class _ByName(Mapping[str, Assignment]):
    def __init__(self, table: AssignmentTable) -> None:
        self._table = table

    def __getitem__(self, name: str) -> Assignment:
        place = self._table.names.find(name)
        if place < 0:
            raise KeyError(name)
        return self._table[place]

    def __contains__(self, name: object) -> bool:
        return name in self._table.names

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.names)

    def __len__(self) -> int:
        return len(self._table)


def _entry(assignment: str, profile: str, arm: str, replicate: int) -> Assignment:
    # Each member was checked when it was read.
    members: dict[str, Any] = {"assignment": assignment, "profile": profile, "arm": arm}
    return Assignment.model_construct(**members, replicate=replicate)
