"""Reproducible choices from a seed: SHAKE-256, read as 8-byte words.

Streams with different labels are independent, so that one more draw for wording changes no price.

>>> stream = Stream(b"corpus-1", "wording")
>>> [stream.below(6) for _ in range(8)] == [Stream(b"corpus-1", "wording").below(6)] * 8
False
>>> sorted(Stream(b"corpus-1", "order").shuffled("abc"))
['a', 'b', 'c']
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

__all__ = ["Stream", "derived_seed"]

ItemT = TypeVar("ItemT")

_WORDS: Final = 32


def derived_seed(seed: bytes, *labels: str) -> bytes:
    """A seed of 32 bytes from another and labels; every part is framed by its length."""
    state = hashlib.shake_256(b"agentbeat.claims.market/seed")
    for part in (seed, *(label.encode() for label in labels)):
        state.update(len(part).to_bytes(8, "big") + part)
    return state.digest(32)


class Stream:
    """An endless stream of choices.

    Args:
        seed: where it comes from.
        label: what it is for.
    """

    def __init__(self, seed: bytes, label: str) -> None:
        self._seed = derived_seed(seed, label)
        self._block = 0
        self._words: list[int] = []

    def below(self, bound: int) -> int:
        """A whole number from 0 to below `bound`, each equally likely."""
        if bound < 1:
            raise ValueError(f"a bound of {bound}, expected at least 1")
        # A word beyond the last multiple of the bound is dropped.
        limit = 2**64 - 2**64 % bound
        while True:
            word = self._word()
            if word < limit:
                return word % bound

    def chance(self, per_mille: int) -> bool:
        """Whether something happens that happens so often in a thousand times."""
        return self.below(1000) < per_mille

    def pick(self, items: Sequence[ItemT]) -> ItemT:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Iterable[ItemT]) -> list[ItemT]:
        """The items in some order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]

    def _word(self) -> int:
        if not self._words:
            raw = hashlib.shake_256(self._seed + self._block.to_bytes(8, "big")).digest(8 * _WORDS)
            self._words = [int.from_bytes(raw[at : at + 8], "big") for at in range(0, len(raw), 8)]
            self._words.reverse()
            self._block += 1
        return self._words.pop()
