"""Of many receipts or tickets those that are ours and sound: facts by digest, made when asked for."""

from __future__ import annotations

from array import array
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from typing import TypeVar

from agentbeat_receipts.digests import Digests
from agentbeat_receipts.names import NameCounts, Names

__all__ = ["Sound"]

FactsT = TypeVar("FactsT")


class Sound(Mapping[str, FactsT]):
    """Facts by digest, in the order of digests (`verification.facts.Columns`).

    Args:
        facts: gives those of a row.
        names: of assignments.
    """

    def __init__(self, facts: Callable[[int], FactsT], names: Names) -> None:
        self._facts = facts
        self._raw = bytearray()
        self._order = array("I")
        self._counts = NameCounts(names)
        self._digests = Digests()

    def add(self, digest: bytes, row: int, assignment: int) -> None:
        """The next one in the order of digests.

        Args:
            digest: its bytes.
            row: where its facts are.
            assignment: the number of its assignment.
        """
        self._raw += digest
        self._order.append(row)
        self._counts.add(assignment)

    def close(self) -> None:
        """There are no more."""
        self._digests = Digests(bytes(self._raw))
        self._raw = bytearray()

    @property
    def digests(self) -> Digests:
        """Their digests."""
        return self._digests

    @property
    def assignment_counts(self) -> NameCounts:
        """How many there are of each assignment."""
        return self._counts

    @property
    def rows(self) -> array[int]:
        """Their rows."""
        return self._order

    def __getitem__(self, digest: str) -> FactsT:
        place = self._digests.place(digest)
        if place < 0:
            raise KeyError(digest)
        return self._facts(self._order[place])

    def __contains__(self, digest: object) -> bool:
        return digest in self._digests

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)

    def values(self) -> ValuesView[FactsT]:
        """The facts, without looking each up by its digest."""
        return _Values(self)

    def items(self) -> ItemsView[str, FactsT]:
        """Digests with their facts, likewise."""
        return _Items(self)

    def each(self) -> Iterator[FactsT]:
        """The facts in the order of digests."""
        return map(self._facts, self._order)


class _Values(ValuesView[FactsT]):
    _mapping: Sound[FactsT]

    def __iter__(self) -> Iterator[FactsT]:
        return self._mapping.each()


class _Items(ItemsView[str, FactsT]):
    _mapping: Sound[FactsT]

    def __iter__(self) -> Iterator[tuple[str, FactsT]]:
        return zip(self._mapping, self._mapping.each(), strict=True)
