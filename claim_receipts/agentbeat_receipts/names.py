"""Many names, numbered from 0 in the order in which they came, in a few bytes beside their letters.

A dictionary of as many takes a hundred bytes more for each.

>>> names = Names()
>>> names.number("b"), names.number("a"), names.number("b"), names.find("c"), list(names)
(0, 1, 0, -1, ['b', 'a'])
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

__all__ = ["NameCounts", "Names"]


class Names:
    """A collection of names that grows."""

    def __init__(self) -> None:
        self._letters = bytearray()
        self._ends = array("I")
        # A hash table: a name's number plus one, or 0. It is never more than half full.
        self._slots = array("I", bytes(32))

    def number(self, name: str) -> int:
        """The number of a name, which becomes one of these."""
        raw = name.encode(errors="surrogatepass")
        slot = self._slot(raw)
        found = self._slots[slot]
        if found:
            return found - 1
        self._letters += raw
        self._ends.append(len(self._letters))
        self._slots[slot] = count = len(self._ends)
        if 2 * count > len(self._slots):
            self._grow()
        return count - 1

    def find(self, name: str) -> int:
        """The number of a name; -1 where it is none of these."""
        return self._slots[self._slot(name.encode(errors="surrogatepass"))] - 1

    def __getitem__(self, number: int) -> str:
        return self._raw(range(len(self))[number]).decode(errors="surrogatepass")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) >= 0

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(len(self)))

    def __len__(self) -> int:
        return len(self._ends)

    def _raw(self, number: int) -> bytes:
        begin = self._ends[number - 1] if number else 0
        return bytes(self._letters[begin : self._ends[number]])

    def _slot(self, raw: bytes) -> int:
        """Where a name stands in the table, or would."""
        slots, mask = self._slots, len(self._slots) - 1
        slot = hash(raw) & mask
        while (found := slots[slot]) and self._raw(found - 1) != raw:
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        self._slots = array("I", bytes(2 * self._slots.itemsize * len(self._slots)))
        for number in range(len(self)):
            self._slots[self._slot(self._raw(number))] = number + 1


class NameCounts(Mapping[str, int]):
    """How often there is something of each name; a name of which there is nothing is not here."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._counts = array("I")

    def add(self, number: int) -> None:
        """One more of the name with this number."""
        if number >= len(self._counts):
            self._counts.extend([0] * (number + 1 - len(self._counts)))
        self._counts[number] += 1

    def of(self, number: int) -> int:
        """How many of the name with this number; 0 is nothing."""
        return self._counts[number] if 0 <= number < len(self._counts) else 0

    def __getitem__(self, name: str) -> int:
        count = self.of(self._names.find(name))
        if not count:
            raise KeyError(name)
        return count

    def __iter__(self) -> Iterator[str]:
        return (self._names[number] for number, count in enumerate(self._counts) if count)

    def __len__(self) -> int:
        return sum(1 for count in self._counts if count)
