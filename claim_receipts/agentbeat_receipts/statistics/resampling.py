"""`mc`: resamples drawn from a seed, the same ones on every machine.

Profiles are counted from 0 in the manifest's order. For draw d (from 0) of n profiles the index stream is

    SHAKE-256(seed ‖ uint64be(d) ‖ uint64be(c)),  c = 0, 1, 2, …

Each block c is read for as many 8-byte big-endian words as indices are still missing. A word at or above the
greatest multiple of n within 2^64 is rejected, any other is an index mod n; so every profile is equally
likely. Block 0 nearly always gives all n, block 1 replaces the rejected ones, and so on.

>>> draw_indices(b"seed", 0, modulus=4, count=4)
[0, 2, 2, 3]
>>> resampled_sums([5, -1, 0, 7], seed=b"seed", draws=3)
[12, 17, 19]
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Final, Protocol, Self

__all__ = ["draw_indices", "resampled_sums"]

_WORDS: Final = 1 << 64


class _Absorbed(Protocol):
    """SHAKE-256 that has read the seed."""

    def copy(self) -> Self: ...
    def update(self, data: bytes, /) -> None: ...
    def digest(self, length: int, /) -> bytes: ...


def draw_indices(seed: bytes, draw: int, *, modulus: int, count: int) -> list[int]:
    """The first `count` indices below `modulus` of one draw.

    Args:
        seed: the contract's, as bytes.
        draw: which draw, from 0.
        modulus: how many there are to choose from, 1 to 2^64.
        count: how many are drawn.
    """
    return _indices(hashlib.shake_256(seed), draw, modulus, count)


def resampled_sums(values: Sequence[int], *, seed: bytes, draws: int) -> list[int]:
    """The sorted sums of `draws` resamples, each of as many values as there are, with replacement."""
    size = len(values)
    absorbed = hashlib.shake_256(seed)
    take = values.__getitem__
    return sorted(sum(map(take, _indices(absorbed, draw, size, size))) for draw in range(draws))


def _indices(absorbed: _Absorbed, draw: int, modulus: int, count: int) -> list[int]:
    unbiased = _WORDS - _WORDS % modulus
    indices: list[int] = []
    counter = 0
    while (missing := count - len(indices)) > 0:
        block = absorbed.copy()
        block.update(struct.pack(">QQ", draw, counter))
        words: Sequence[int] = struct.unpack(f">{missing}Q", block.digest(8 * missing))
        if max(words) >= unbiased:
            words = [word for word in words if word < unbiased]
        indices += [word % modulus for word in words]
        counter += 1
    return indices
