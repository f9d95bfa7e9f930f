"""C3's optional limit: the mean of the unbiased variances inside cells."""

from __future__ import annotations

from fractions import Fraction
from statistics import variance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.claims import Fault
from support.claim_cells import equal, faults, judged_stability, switches


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param((15, 1), [Fault.VARIANCE_ABOVE], id="above"),
        pytest.param((16, 1), [], id="on-the-limit"),
        pytest.param((160, 10), [], id="on-the-limit-in-other-terms"),
        pytest.param((159, 10), [Fault.VARIANCE_ABOVE], id="a-tenth-above"),
        pytest.param((17, 1), [], id="below"),
    ],
)
def test_the_mean_variance_inside_cells_is_held_to_its_limit(
    limit: tuple[int, int], expected: list[Fault]
) -> None:
    """Three replicates at -4, 0 and 4 around their mean: (16 + 0 + 16) / 2 = 16 in every cell."""
    rows = switches((50, 60, 70, 80), replicates=3, spread=2)
    declared = {"numerator": limit[0], "denominator": limit[1]}
    judged = judged_stability(rows, max_variance=declared)
    assert faults(judged) == expected
    assert equal(judged[1].variance, 16, 1)


@given(
    st.lists(
        st.lists(st.lists(st.integers(-100, 100), min_size=3, max_size=3), min_size=2, max_size=2),
        min_size=4,
        max_size=6,
    )
)
def test_the_variance_is_the_unbiased_one_of_each_cell(values: list[list[list[int]]]) -> None:
    rows = [{"off": off, "on": on} for off, on in values]
    _, analysis = judged_stability(rows, max_variance={"numerator": 0, "denominator": 1})
    cells = [variance([Fraction(value) for value in cell]) for row in values for cell in row]
    mean = sum(cells, Fraction()) / len(cells)
    assert equal(analysis.variance, mean.numerator, mean.denominator)


def test_a_variance_of_single_runs_is_not_computed() -> None:
    judged = judged_stability(
        switches((5, 6, 7, 8), replicates=1), max_variance={"numerator": 0, "denominator": 1}
    )
    assert set(faults(judged)) == {Fault.TOO_FEW_REPLICATES}
    assert judged[1].variance is None


def test_a_variance_that_no_object_can_carry_is_too_much_work() -> None:
    rows = [{"off": [0, 10**100], "on": [0, 10**100 + 4 * place]} for place in range(1, 5)]
    judged = judged_stability(rows, max_variance={"numerator": 0, "denominator": 1})
    assert faults(judged) == [Fault.TOO_MUCH_WORK]
    assert judged[1].lower is not None
