"""Ratios as pairs of integers that are never reduced, so that a mean still shows its count.

They are compared by cross-multiplication: no division, no float, no rounding.

>>> compare(Ratio(1, 2), Ratio(2, 4)), compare(Ratio(-1, 3), Ratio(0, 1))
(0, -1)
>>> quantile_rank(Ratio(1, 20), 10_000), quantile_rank(Ratio(1, 20), 256)
(500, 13)
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Ratio", "compare", "quantile_rank"]


class Ratio(NamedTuple):
    """A numerator and a positive denominator."""

    numerator: int
    denominator: int


def compare(left: Ratio, right: Ratio) -> int:
    """-1, 0 or 1: whether `left` is less than, equal to or greater than `right`.

    Raises:
        ValueError: a denominator is not positive.
    """
    for ratio in (left, right):
        if ratio.denominator <= 0:
            raise ValueError(f"a denominator of {ratio.denominator}, expected a positive one")
    a = left.numerator * right.denominator
    b = right.numerator * left.denominator
    return (a > b) - (a < b)


def quantile_rank(quantile: Ratio, draws: int) -> int:
    """⌈qB⌉: which of B sorted draws is the quantile q, counted from 1."""
    return -(-quantile.numerator * draws // quantile.denominator)
