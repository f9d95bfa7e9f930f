"""The exact bootstrap: every way to it equals the enumeration of all resamples."""

from __future__ import annotations

import doctest
import importlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_receipts.statistics import (
    Bound,
    Limits,
    Ratio,
    TooMuchWork,
    bootstrap_bounds,
    compare,
    exact_quantiles,
    quantile_rank,
)
from agentbeat_receipts.statistics.exact import packed_quantiles, sparse_quantiles, stream_quantiles
from agentbeat_receipts.statistics.powers import packed_power, packed_powers, sparse_power, stream_power

QUANTILES = [Ratio(1, 40), Ratio(1, 20), Ratio(1, 3), Ratio(1, 2), Ratio(3, 4), Ratio(19, 20), Ratio(39, 40)]
WAYS = [stream_quantiles, packed_quantiles, sparse_quantiles]

Way = Callable[[Counter[int], Sequence[Ratio]], tuple[int, ...]]


def _enumerated(values: Sequence[int]) -> list[int]:
    """The sums of all n^n resamples, sorted."""
    return sorted(sum(resample) for resample in product(values, repeat=len(values)))


def _quantiles(sums: Sequence[int]) -> tuple[int, ...]:
    return tuple(sums[quantile_rank(quantile, len(sums)) - 1] for quantile in QUANTILES)


@pytest.mark.parametrize("module", ["ratios", "envelopes", "resampling", "powers", "exact", "bootstraps"])
def test_examples_in_the_modules_hold(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"agentbeat_receipts.statistics.{module}"))
    assert result.attempted > 0
    assert result.failed == 0


@given(st.lists(st.integers(-(10**6), 10**6) | st.integers(-2, 2), min_size=1, max_size=5))
def test_quantiles_are_those_of_all_resamples(values: list[int]) -> None:
    assert exact_quantiles(values, QUANTILES) == _quantiles(_enumerated(values))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@given(values=st.lists(st.integers(0, 30), min_size=2, max_size=5))
def test_each_way_gives_the_quantiles_of_all_resamples(way: Way, values: list[int]) -> None:
    shifted = [0, max(values) + 1, *values[2:]]
    assert way(Counter(shifted), QUANTILES) == _quantiles(_enumerated(shifted))


@given(st.lists(st.integers(0, 12), min_size=6, max_size=24))
@settings(max_examples=25)
def test_all_ways_agree_beyond_what_can_be_enumerated(values: list[int]) -> None:
    counts = Counter([0, *values, 13])
    assert len({way(counts, QUANTILES) for way in WAYS}) == 1


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5))
def test_the_whole_distribution_is_that_of_all_resamples(values: list[int]) -> None:
    values = [0, *values]
    size = len(values) - 1
    counted = Counter(sum(resample) for resample in product(values, repeat=size))
    coefficients = [values.count(value) for value in range(max(values) + 1)]
    dense = [counted[total] for total in range(size * max(values) + 1)]
    assert list(stream_power(coefficients, size)) == dense
    assert packed_power(coefficients, size) == dense
    assert sparse_power(Counter(values), size) == counted


@given(st.lists(st.integers(0, 5), min_size=2, max_size=8), st.integers(0, 9))
def test_consecutive_packed_powers_are_single_ones(coefficients: list[int], exponent: int) -> None:
    coefficients = [1, *coefficients, 1]
    assert packed_powers(coefficients, exponent, 3) == [
        packed_power(coefficients, exponent + more) for more in range(3)
    ]


@pytest.mark.parametrize(("size", "units"), [(400, [0, 1, 2]), (1500, [0, 1]), (75, [0, 25, 60, 100])])
def test_all_resamples_are_counted_once_for_many_profiles(size: int, units: list[int]) -> None:
    counts = Counter(units[place % len(units)] for place in range(size))
    coefficients = [counts[value] for value in range(max(units) + 1)]
    assert sum(stream_power(coefficients, size)) == size**size


def test_shifting_and_scaling_values_shifts_and_scales_the_quantiles() -> None:
    values = [3, -4, 10, 0, 0, 8]
    plain = exact_quantiles(values, QUANTILES)
    moved = exact_quantiles([10**40 * value - 7 for value in values], QUANTILES)
    assert moved == tuple(10**40 * total - 7 * len(values) for total in plain)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=8))
def test_the_least_sum_with_its_rank_mirrors_the_greatest(values: list[int]) -> None:
    """Rank r from below is rank n^n - r + 1 from above, which the negated values have below."""
    size = len(values) ** len(values)
    for quantile in QUANTILES:
        rank = quantile_rank(quantile, size)
        mirrored = Ratio(size - rank + 1, size)
        if mirrored.numerator < size:
            (low,) = exact_quantiles(values, [quantile])
            (high,) = exact_quantiles([-value for value in values], [mirrored])
            assert low == -high


@pytest.mark.parametrize("value", [0, 7, -7, 2**60])
def test_equal_values_have_one_sum(value: int) -> None:
    assert exact_quantiles([value] * 5, QUANTILES) == (5 * value,) * len(QUANTILES)


def test_a_quantile_that_falls_on_a_whole_rank_is_that_draw() -> None:
    """Of 4^4 = 256 resamples of 0 0 0 1, (3/4)^4 = 81 of 256 sum to 0."""
    just, more = Ratio(81, 256), Ratio(82, 256)
    assert exact_quantiles([0, 0, 0, 1], [just, more]) == (0, 1)


def test_the_exact_bound_is_its_own_envelope() -> None:
    assert bootstrap_bounds([36, 37, 39, 42], [Ratio(1, 20)]) == (Bound(147, 147, 147),)


def test_values_beyond_the_limit_are_refused_before_anything_is_computed() -> None:
    wide = [10**15 + 10 ** (place % 15) * (place + 1) for place in range(75)]
    with pytest.raises(TooMuchWork, match="exact distribution of 75 profiles"):
        exact_quantiles(wide, QUANTILES)


def test_the_limit_is_of_the_work_and_not_of_the_profiles() -> None:
    few = Limits(exact_steps=10**6)
    assert exact_quantiles([10**15, 0, 3, 10**9], [Ratio(1, 20)], limits=few)
    with pytest.raises(TooMuchWork):
        exact_quantiles([place**3 for place in range(40)], [Ratio(1, 20)], limits=few)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        (Ratio(1, 2), Ratio(2, 4), 0),
        (Ratio(-1, 3), Ratio(-1, 4), -1),
        (Ratio(2**80 + 1, 2**80), Ratio(2**80, 2**80 - 1), -1),
        (Ratio(1, 7), Ratio(0, 9), 1),
    ],
)
def test_ratios_compare_by_cross_multiplication(left: Ratio, right: Ratio, order: int) -> None:
    assert compare(left, right) == order
    assert compare(right, left) == -order


@pytest.mark.parametrize("denominator", [0, -1])
def test_a_ratio_without_a_positive_denominator_is_not_compared(denominator: int) -> None:
    with pytest.raises(ValueError, match="expected a positive one"):
        compare(Ratio(1, 1), Ratio(1, denominator))
