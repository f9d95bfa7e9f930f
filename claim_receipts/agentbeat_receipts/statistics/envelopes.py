"""Which ranks of B sorted draws may hold the quantile q that an endless bootstrap would have.

The number K of draws at or below the true quantile is Binomial(B, q). The envelope goes from rank `low`, the
greatest with P(K < low) <= 1/2000, to rank `high`, the least with P(K >= high) <= 1/2000: the true quantile
lies below the draw of rank `low`, or above that of rank `high`, with at most that probability each. So the
envelope of 1 - q is that of q seen from the other end. With few draws `low` is 0 or `high` is B + 1: then no
draw bounds the quantile on that side.

All in integers, over the common denominator b^B of q = a/b.

>>> envelope_ranks(10_000, Ratio(1, 20)), envelope_ranks(10_000, Ratio(19, 20))
((430, 574), (9427, 9571))
>>> envelope_ranks(100, Ratio(1, 40))
(0, 10)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from agentbeat_receipts.statistics.ratios import Ratio

__all__ = ["TAIL", "envelope_ranks"]

#: The probability that each tail may have.
TAIL: Final = Ratio(1, 2000)


@lru_cache(maxsize=256)
def envelope_ranks(draws: int, quantile: Ratio) -> tuple[int, int]:
    """The least and the greatest rank of the envelope, in 0..draws + 1.

    Args:
        draws: B, at least 1.
        quantile: q, strictly between 0 and 1.
    """
    a, b = quantile
    if draws < 1 or not 0 < a < b:
        raise ValueError(f"{draws} draws and the quantile {a}/{b}, expected at least 1 and one inside 0..1")
    if 2 * a > b:
        low, high = envelope_ranks(draws, Ratio(b - a, b))
        return draws + 1 - high, draws + 1 - low
    whole = b**draws
    tail = whole * TAIL.numerator // TAIL.denominator
    weight = (b - a) ** draws
    below = 0  # P(K < rank), times whole
    low = rank = 0
    while whole - below > tail:
        if below <= tail:
            low = rank
        below += weight
        weight = weight * ((draws - rank) * a) // ((rank + 1) * (b - a))
        rank += 1
    return low, rank
