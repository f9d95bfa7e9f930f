"""C1: monotone levels, and a one-sided bound beyond the threshold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.analyses import judge_direction
from agentbeat_receipts.claims import Cell, ClaimFinding, Fault
from agentbeat_receipts.objects import DirectionContract, Null, Pair
from agentbeat_receipts.statistics import Ratio, compare
from support.claim_cells import (
    SEED,
    Rows,
    cells_of,
    direction,
    equal,
    faults,
    judged_direction,
    promised,
    ratio,
    steps,
)

#: 8 contrasts whose mean is 38.5 and whose 1/20 quantile is 37.25.
PAPER = (35, 36, 38, 39, 39, 39, 41, 41)


def test_the_paper_s_positive_control_passes_with_its_numbers() -> None:
    """Monotone, +38.5, one-sided 95 % lower bound 37.25."""
    findings, analysis = judged_direction(steps(PAPER), threshold=37)
    assert findings == ()
    assert analysis.subjects == 8
    assert equal(analysis.estimate, 385, 10)
    assert equal(analysis.lower, 3725, 100)
    assert analysis.upper is None
    assert analysis.lower_envelope == (analysis.lower, analysis.lower)
    assert [ratio(level) for level in analysis.levels] == [
        Ratio(800, 8),
        Ratio(800 + 17 + 18 + 3 * 19 + 19 + 20 + 20, 8),
        Ratio(800 + 308, 8),
    ]


def test_the_drawn_control_passes_as_well() -> None:
    findings, analysis = judged_direction(steps(PAPER), estimator="mc", seed=SEED, draws=2000, threshold=36)
    assert findings == ()
    assert analysis.lower_envelope is not None
    low, high = map(ratio, analysis.lower_envelope)
    assert compare(low, ratio(analysis.lower)) <= 0 <= compare(high, ratio(analysis.lower))
    assert compare(low, Ratio(3725, 100)) <= 0 <= compare(high, Ratio(3725, 100))


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        pytest.param(36, [], id="bound-beyond"),
        pytest.param(37, [Fault.BOUNDARY_IN_ENVELOPE], id="bound-on-the-threshold"),
        pytest.param(38, [Fault.BOUND_NOT_BEYOND], id="estimate-beyond-bound-not"),
        pytest.param(39, [Fault.BOUND_NOT_BEYOND], id="estimate-not-beyond"),
    ],
)
def test_the_bound_decides_and_not_the_estimate(threshold: int, expected: list[Fault]) -> None:
    """Contrasts 36 38 39 41: the 13th of 256 sums is 148, a mean of 37; the estimate is 38.5."""
    judged = judged_direction(steps((36, 38, 39, 41)), threshold=threshold)
    assert equal(judged[1].lower, 37, 1)
    assert faults(judged) == expected


def test_a_threshold_inside_the_drawn_envelope_decides_nothing() -> None:
    drawn = {"estimator": "mc", "seed": SEED, "draws": 400}
    rows = steps((10, 40, 70, 100, 130, 190))
    _, analysis = judged_direction(rows, **drawn)
    assert analysis.lower_envelope is not None
    low, high = map(ratio, analysis.lower_envelope)
    inside = low.numerator // low.denominator + 1
    assert compare(Ratio(inside, 1), high) < 0
    assert faults(judged_direction(rows, threshold=inside, **drawn)) == [Fault.BOUNDARY_IN_ENVELOPE]
    above = high.numerator // high.denominator + 1
    assert faults(judged_direction(rows, threshold=above, **drawn)) == [Fault.BOUND_NOT_BEYOND]
    below = low.numerator // low.denominator - 1
    assert faults(judged_direction(rows, threshold=below, **drawn)) == []


def test_levels_that_tie_are_weakly_monotone() -> None:
    rows = [{"low": [5], "middle": [5], "high": [9 + place]} for place in range(4)]
    assert faults(judged_direction(rows)) == []


def test_a_middle_level_that_falls_back_is_not_monotone_however_far_the_ends_are() -> None:
    rows = [{"low": [5], "middle": [4], "high": [90 + place]} for place in range(4)]
    findings, analysis = judged_direction(rows)
    assert [finding.fault for finding in findings] == [Fault.NOT_MONOTONE]
    assert findings[0].detail == "low 20/4, middle 16/4, expected increasing"
    assert analysis.estimate is not None


def test_a_response_that_collapses_at_the_strongest_level_fails_both_ways() -> None:
    """Pressure overprices into rejections, so the response rises and falls (the paper's E4)."""
    rows = [{"low": [10], "middle": [20], "high": [30 if place % 3 == 0 else 0]} for place in range(12)]
    assert faults(judged_direction(rows)) == [Fault.NOT_MONOTONE, Fault.BOUND_NOT_BEYOND]


def test_equal_contrasts_of_nothing_lie_on_the_threshold() -> None:
    assert faults(judged_direction(steps((0, 0, 0, 0)))) == [Fault.BOUNDARY_IN_ENVELOPE]


def test_equal_contrasts_beyond_the_threshold_pass_with_few_draws_too() -> None:
    findings, analysis = judged_direction(
        steps((8, 8, 8, 8)), estimator="mc", seed=SEED, draws=10, threshold=7
    )
    assert findings == ()
    assert equal(analysis.lower, 8, 1)


def test_too_few_draws_show_nothing_that_the_least_contrast_does_not() -> None:
    judged = judged_direction(steps((-1, 50, 50, 50, 50)), estimator="mc", seed=SEED, draws=10)
    assert faults(judged) == [Fault.BOUNDARY_IN_ENVELOPE]


def test_decreasing_is_mirrored_with_an_upper_bound() -> None:
    findings, analysis = judged_direction(steps(PAPER, sign=-1), direction="decreasing", threshold=37)
    # The middle level falls as the others do.
    assert findings == ()
    assert equal(analysis.estimate, -385, 10)
    assert equal(analysis.upper, -3725, 100)
    assert analysis.lower is None
    assert analysis.upper_envelope == (analysis.upper, analysis.upper)
    assert faults(judged_direction(steps(PAPER, sign=-1))) == [Fault.NOT_MONOTONE, Fault.BOUND_NOT_BEYOND]


@given(
    st.lists(st.tuples(*[st.integers(-6, 6)] * 3), min_size=4, max_size=6),
    st.integers(-3, 3),
    st.sampled_from([{}, {"estimator": "mc", "seed": SEED, "draws": 200}]),
)
def test_a_decreasing_contract_says_of_values_what_an_increasing_one_says_of_their_negatives(
    values: list[tuple[int, int, int]], threshold: int, estimator: dict[str, Any]
) -> None:
    levels = ("low", "middle", "high")
    rows = [{arm: [value] for arm, value in zip(levels, row, strict=True)} for row in values]
    negated = [{arm: [-value] for arm, value in zip(levels, row, strict=True)} for row in values]
    up, rising = judged_direction(rows, threshold=threshold, **estimator)
    down, falling = judged_direction(negated, threshold=threshold, direction="decreasing", **estimator)
    assert [finding.fault for finding in up] == [finding.fault for finding in down]
    upper = ratio(falling.upper)
    assert ratio(rising.lower) == Ratio(-upper.numerator, upper.denominator)
    assert rising.lower_envelope is not None
    assert falling.upper_envelope is not None
    mirrored = [Ratio(-int(end.pair[0]), int(end.pair[1])) for end in reversed(falling.upper_envelope)]
    assert [ratio(end) for end in rising.lower_envelope] == mirrored


def test_integers_beyond_2_53_are_exact() -> None:
    huge = 2**60
    rows = [
        {"low": [-huge], "middle": [huge], "high": [huge + 1 + place]} for place in (0, 0, 0, 0)
    ]  # contrasts of 2^61 + 1
    findings, analysis = judged_direction(rows, threshold=str(2**61))
    assert findings == ()
    assert analysis.lower == Pair(pair=(str(4 * (2**61 + 1)), 4))
    assert faults(judged_direction(rows, threshold=str(2**61 + 1))) == [Fault.BOUNDARY_IN_ENVELOPE]
    assert faults(judged_direction(rows, threshold=str(2**61 + 2))) == [Fault.BOUND_NOT_BEYOND]


def test_replicates_average_before_profiles_are_compared() -> None:
    rows = [{"low": [0, 2, 4], "middle": [2, 2, 3], "high": [9, 9, 9 + place]} for place in range(4)]
    _, analysis = judged_direction(rows)
    assert analysis.subjects == 4
    assert analysis.estimate == Pair(pair=((27 * 4 + 6) - 24, 12))


def test_cells_of_unequal_counts_weigh_their_profiles_equally() -> None:
    rows: Rows = [
        {"low": [0, 0], "high": [3]},
        {"low": [0], "high": [1, 2, 2]},
        {"low": [0], "high": [5, 5]},
        {"low": [0], "high": [1, 1, 1, 1]},
    ]
    contract = direction(levels=("low", "high"))
    whole = [{arm: [0] * 4 for arm in row} for row in rows]
    findings, analysis = judge_direction(contract, promised(contract, whole), cells_of(rows), None)
    assert findings == ()
    # 3 + 5/3 + 5 + 1 over 4 profiles, on the scale 12.
    assert analysis.estimate == Pair(pair=(36 + 20 + 60 + 12, 48))


def test_three_profiles_are_too_few_and_their_numbers_are_given() -> None:
    findings, analysis = judged_direction(steps((5, 5, 6)))
    assert [finding.fault for finding in findings] == [Fault.TOO_FEW_PROFILES]
    assert findings[0].detail == "3 under every arm, expected 4"
    assert analysis.subjects == 3
    assert equal(analysis.estimate, 16, 3)


def test_a_profile_promised_under_some_levels_takes_no_part() -> None:
    rows = [*steps((5, 6, 7, 8)), {"low": [10**6]}]
    findings, analysis = judged_direction(rows)
    assert findings == ()
    assert analysis.subjects == 4
    assert ratio(analysis.levels[0]) == Ratio(400, 4)


def test_a_profile_that_takes_no_part_needs_its_cells_all_the_same() -> None:
    contract = direction()
    rows = [*steps((5, 6, 7, 8)), {"low": [1]}]
    cells = cells_of(rows)
    del cells["p-4", "low"]
    findings, analysis = judge_direction(contract, promised(contract, rows), cells, None)
    assert findings == (ClaimFinding(Fault.CELL_EMPTY, "p-4/low", "no run; one of 1 such cells"),)
    assert analysis.estimate is None


@pytest.mark.parametrize("cell", [None, Cell()], ids=["absent", "empty"])
def test_a_promised_cell_without_a_run_is_never_dropped(cell: Cell | None) -> None:
    contract = direction()
    rows = steps((5, 6, 7, 8, 9))
    cells = cells_of(rows)
    del cells["p-2", "middle"]
    if cell is not None:
        cells["p-2", "middle"] = cell
    findings, analysis = judge_direction(contract, promised(contract, rows), cells, None)
    assert [(finding.fault, finding.subject) for finding in findings] == [(Fault.CELL_EMPTY, "p-2/middle")]
    assert (analysis.subjects, analysis.estimate, analysis.lower, analysis.levels) == (5, None, None, ())


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (Null(null="rejected"), Fault.VALUE_IS_NULL),
        ("0.5", Fault.VALUE_IS_NO_INTEGER),
        (Pair(pair=(1, 2)), Fault.VALUE_IS_NO_INTEGER),
    ],
    ids=["null", "decimal", "pair"],
)
def test_a_value_that_is_no_integer_decides_nothing(value: Any, fault: Fault) -> None:
    rows = [*steps((5, 6, 7, 8)), {"low": [1], "middle": [value], "high": [9]}]
    findings, analysis = judged_direction(rows)
    assert [(finding.fault, finding.subject) for finding in findings] == [(fault, "p-4/middle")]
    assert (analysis.subjects, analysis.estimate) == (5, None)


def test_of_many_bad_cells_the_first_three_are_named() -> None:
    rows = [{"low": [Null(null="failed")], "middle": [1], "high": [2]} for _ in range(9)]
    findings, _ = judged_direction(rows)
    assert [finding.subject for finding in findings] == ["p-0/low", "p-1/low", "p-2/low"]
    assert findings[0].detail == "1 of 1 runs null, failed first; one of 9 such cells"


def test_an_exact_distribution_beyond_the_limit_is_too_much_work_and_no_error() -> None:
    rows = steps([10**15 + place**9 for place in range(40)])
    findings, analysis = judged_direction(rows)
    assert [finding.fault for finding in findings] == [Fault.TOO_MUCH_WORK]
    assert analysis.estimate is not None
    assert analysis.lower is None


def test_more_draws_than_allowed_are_too_much_work() -> None:
    judged = judged_direction(steps((5, 6, 7, 8)), estimator="mc", seed=SEED, draws=10**9)
    assert faults(judged) == [Fault.TOO_MUCH_WORK]


def test_numbers_that_no_object_can_carry_are_too_much_work() -> None:
    rows = [{"low": [0], "middle": [0], "high": [10**130 + place]} for place in range(4)]
    findings, analysis = judged_direction(rows)
    assert [finding.fault for finding in findings] == [Fault.TOO_MUCH_WORK]
    assert analysis.estimate is None


def test_the_order_of_the_cells_given_changes_nothing() -> None:
    contract: DirectionContract = direction(estimator="mc", seed=SEED, draws=300)
    rows = steps((3, 1, 4, 1, 5, 9))
    cells = cells_of(rows)
    shuffled = dict(reversed(cells.items()))
    whole = promised(contract, rows)
    assert judge_direction(contract, whole, cells, None) == judge_direction(contract, whole, shuffled, None)
