"""Many digests in the memory of their bytes: 32 each, sorted, each once.

A digest as text takes four times as much. `Digests` is a sequence of such texts that makes each when it is
asked for, and equals the tuple of them.

>>> one, two = "sha256:" + "01" * 32, "sha256:" + "f2" * 32
>>> found = Digests.of(raw_digest(two) + raw_digest(one) + raw_digest(two))
>>> found == (one, two), two in found, "sha256:" + "00" * 32 in found, found.place(two)
(True, True, False, 1)
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, overload

from agentbeat_protocol import is_digest

__all__ = ["SIZE", "Digests", "in_order", "raw_digest", "shown_digest"]

#: The bytes of one digest.
SIZE: Final = 32
_PREFIX: Final = "sha256:"


def raw_digest(digest: str) -> bytes:
    """The 32 bytes of a digest as it is written."""
    return bytes.fromhex(digest[len(_PREFIX) :])


def shown_digest(raw: bytes | bytearray) -> str:
    """A digest as it is written."""
    return _PREFIX + raw.hex()


def in_order(raw: bytes | bytearray) -> array[int]:
    """The places of digests that stand one behind the other, in the order of the digests.

    Equal ones keep their order. They are sorted in 256 parts, so that little is held beside the result.
    """
    parts = [array("I") for _ in range(256)]
    for place, first in enumerate(raw[::SIZE]):
        parts[first].append(place)
    ordered = array("I")
    for part in parts:
        ordered.extend(sorted(part, key=lambda place: raw[SIZE * place : SIZE * (place + 1)]))
    return ordered


class Digests(Sequence[str]):
    """A sorted set of digests.

    Args:
        raw: their bytes one behind the other, sorted, each once.
    """

    __slots__ = ("_raw", "_starts")

    def __init__(self, raw: bytes = b"") -> None:
        self._raw = raw
        # Where the digests with each first byte begin: what is looked for is in one part of 256.
        counted = Counter(raw[::SIZE])
        self._starts = array("I", accumulate((counted[first] for first in range(256)), initial=0))

    @classmethod
    def of(cls, raw: bytes | bytearray) -> Digests:
        """The set of these digests, in any order and repeated or not."""
        found = bytearray()
        for place in in_order(raw):
            digest = raw[SIZE * place : SIZE * (place + 1)]
            if digest != found[-SIZE:]:
                found += digest
        return cls(bytes(found))

    def place(self, digest: str) -> int:
        """Where a digest stands; -1 where it does not."""
        if not is_digest(digest):
            return -1
        wanted = raw_digest(digest)
        low, high = self._starts[wanted[0]], self._starts[wanted[0] + 1]
        place = bisect_left(range(high), wanted, low, high, key=self._at)
        return place if place < high and self._at(place) == wanted else -1

    def __contains__(self, digest: object) -> bool:
        return isinstance(digest, str) and self.place(digest) >= 0

    def __len__(self) -> int:
        return len(self._raw) // SIZE

    def __iter__(self) -> Iterator[str]:
        for place in range(len(self)):
            yield shown_digest(self._at(place))

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(shown_digest(self._at(one)) for one in range(len(self))[place])
        return shown_digest(self._at(range(len(self))[place]))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Digests):
            return self._raw == other._raw
        if not isinstance(other, tuple):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self)} digests>"

    def _at(self, place: int) -> bytes:
        return self._raw[SIZE * place : SIZE * (place + 1)]
