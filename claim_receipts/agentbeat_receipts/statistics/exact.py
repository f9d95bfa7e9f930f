"""`exact`: quantiles of the whole bootstrap distribution, all n^n resamples counted and none drawn.

A resample's sum is a sum of n values, each one of the n given; how many resamples have a given sum is a
coefficient of P(x)^n, where P has a term for each value (`powers`). The quantile q is the ⌈q·n^n⌉-th of all
the sums in order. Values are first shifted to begin at 0 and divided by their greatest common divisor.

Three ways lead to the same integer, and the cheapest by estimate is taken:

- *stream*: the counts from the nearer end, until the rank is reached. For many profiles with small values.
- *packed halves*: the distributions of the sums of ⌊n/2⌋ and of ⌈n/2⌉ values in full. How many resamples lie
  at or below a sum is then one scalar product, and the quantile is found by bisection. For tens of profiles
  with money values.
- *sparse halves*: the same with only the sums that occur. For few profiles, however large the values.

>>> exact_quantiles([1, 2, 3, 4], [Ratio(1, 20), Ratio(1, 2), Ratio(19, 20)])
(6, 10, 14)
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import comb, gcd
from operator import mul
from typing import Final

from agentbeat_receipts.statistics.limits import LIMITS, Limits, TooMuchWork
from agentbeat_receipts.statistics.powers import (
    MAX_SLOT,
    packed_powers,
    sparse_power,
    stream_power,
)
from agentbeat_receipts.statistics.ratios import Ratio, quantile_rank

__all__ = ["WAYS", "exact_quantiles", "packed_quantiles", "sparse_quantiles", "stream_quantiles"]

#: How many resamples have at most this sum.
_AtMost = Callable[[int], int]
#: Counts of the shifted values, of which the least is 0.
_Counts = Mapping[int, int]


def exact_quantiles(
    values: Sequence[int], quantiles: Sequence[Ratio], *, limits: Limits = LIMITS
) -> tuple[int, ...]:
    """The quantiles of the sum of a resample.

    Args:
        values: at least one.
        quantiles: each strictly between 0 and 1.
        limits: how much work it may take.

    Raises:
        TooMuchWork: the cheapest way would take more.
    """
    size, least = len(values), min(values)
    unit = gcd(*(value - least for value in values))
    if unit == 0:
        return (size * least,) * len(quantiles)
    counts = Counter((value - least) // unit for value in values)
    costs = {way: cost(counts, len(quantiles), limits) for way, (cost, _) in WAYS.items()}
    affordable = {way: cost for way, cost in costs.items() if cost is not None}
    way = min(affordable, key=affordable.__getitem__)
    if affordable[way] > limits.exact_steps:
        raise TooMuchWork(
            f"exact distribution of {size} profiles over {max(counts)} units:"
            f" {affordable[way]} steps, at most {limits.exact_steps}"
        )
    shifted = WAYS[way][1](counts, quantiles)
    return tuple(size * least + unit * total for total in shifted)


def stream_quantiles(counts: _Counts, quantiles: Sequence[Ratio]) -> tuple[int, ...]:
    """The quantiles by counting from the nearer end."""
    coefficients = _dense(counts)
    size = sum(coefficients)
    top = size * (len(coefficients) - 1)
    found = []
    for quantile in quantiles:
        rank = quantile_rank(quantile, size**size)
        if 2 * quantile.numerator <= quantile.denominator:
            found.append(_reach(coefficients, size, rank))
        else:
            # The rank-th from below is this one from above.
            found.append(top - _reach(coefficients[::-1], size, size**size - rank + 1))
    return tuple(found)


def packed_quantiles(counts: _Counts, quantiles: Sequence[Ratio]) -> tuple[int, ...]:
    """The quantiles from two dense halves."""
    coefficients = _dense(counts)
    size = sum(coefficients)
    halves = packed_powers(coefficients, size // 2, 1 + size % 2)
    left, right = halves[0], halves[-1]
    below_left, below_right = list(accumulate(left)), list(accumulate(right))
    last = len(right) - 1

    def at_most(total: int) -> int:
        # Below `low` of the left half every right half will do; above `high` none.
        low, high = max(0, total - last), min(len(left) - 1, total)
        facing = below_right[total - high : total - low + 1]
        facing.reverse()
        ways: int = sum(map(mul, left[low : high + 1], facing))
        return ways + (below_left[low - 1] * below_right[-1] if low else 0)

    return _bisected(at_most, counts, quantiles)


def sparse_quantiles(counts: _Counts, quantiles: Sequence[Ratio]) -> tuple[int, ...]:
    """The quantiles from two sparse halves."""
    size = counts_size(counts)
    left = sparse_power(counts, size // 2)
    right = sparse_power(counts, size - size // 2)
    sums = sorted(right)
    below = [0, *accumulate(right[total] for total in sums)]

    def at_most(total: int) -> int:
        return sum(ways * below[bisect_right(sums, total - part)] for part, ways in left.items())

    return _bisected(at_most, counts, quantiles)


def counts_size(counts: _Counts) -> int:
    """How many values there are."""
    return sum(counts.values())


def _dense(counts: _Counts) -> list[int]:
    return [counts.get(value, 0) for value in range(max(counts) + 1)]


def _reach(coefficients: Sequence[int], size: int, rank: int) -> int:
    """The least sum that at least `rank` resamples do not exceed."""
    counted = accumulate(stream_power(coefficients, size))
    return next(total for total, reached in enumerate(counted) if reached >= rank)


def _bisected(at_most: _AtMost, counts: _Counts, quantiles: Sequence[Ratio]) -> tuple[int, ...]:
    size = counts_size(counts)
    found = []
    for quantile in quantiles:
        rank = quantile_rank(quantile, size**size)
        low, high = 0, size * max(counts)
        while low < high:
            middle = (low + high) // 2
            if at_most(middle) >= rank:
                high = middle
            else:
                low = middle + 1
        found.append(low)
    return tuple(found)


# Estimates, in steps of about a nanosecond where they were measured. They decide which way is taken and what
# is too much, never what comes out; they are integers, so that every machine decides alike.


def _stream_cost(counts: _Counts, _quantiles: int, _limits: Limits) -> int | None:
    size = counts_size(counts)
    bits = size * size.bit_length()
    each = (len(counts) - 1) * (120 + bits // 8) + 500 + bits // 4
    return size * max(counts) * each


def _packed_cost(counts: _Counts, quantiles: int, limits: Limits) -> int | None:
    size, top = counts_size(counts), max(counts)
    longest = size - size // 2
    width = longest * size.bit_length() * 30103 // 100_000 + 1
    length = longest * top + 1
    if width > MAX_SLOT or length * width > limits.packed_digits:
        return None
    product = 100 + width * width // 140
    building = (100 + 40 * (size % 2)) * width + 500
    return length * (building + product * quantiles * (size * top).bit_length())


def _sparse_cost(counts: _Counts, quantiles: int, _limits: Limits) -> int | None:
    size, top, distinct = counts_size(counts), max(counts), len(counts)
    longest = size - size // 2
    sums = comb(distinct + longest - 1, longest)
    building = 150 * distinct * comb(distinct + longest, longest)
    return building * (1 + size % 2) + 450 * sums * quantiles * (size * top).bit_length()


_Cost = Callable[[_Counts, int, Limits], "int | None"]
_Way = Callable[[_Counts, Sequence[Ratio]], tuple[int, ...]]

#: Each way with its estimate; None where it cannot be gone.
WAYS: Final[Mapping[str, tuple[_Cost, _Way]]] = {
    "stream": (_stream_cost, stream_quantiles),
    "packed": (_packed_cost, packed_quantiles),
    "sparse": (_sparse_cost, sparse_quantiles),
}
