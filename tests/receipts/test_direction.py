"""C1: monotone levels, and a one-sided bound beyond the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.analyses import judge_direction
from agentbeat_receipts.claims import Analysis, Cell, ClaimFinding, Fault
from agentbeat_receipts.objects import DirectionContract, Null, Pair, ReportedAnalysis
from agentbeat_receipts.statistics import Ratio, compare
from support.claim_cells import SEED, Rows, cells_of, direction, promised, reported

#: 8 contrasts whose mean is 38.5 and whose 1/20 quantile is 37.25.
PAPER = (35, 36, 38, 39, 39, 39, 41, 41)

Judged = tuple[tuple[ClaimFinding, ...], Analysis]


def _rows(contrasts: Sequence[int], *, sign: int = 1, base: int = 100) -> Rows:
    """Three levels, once each: a base, half of the contrast above it, all of it above it."""
    return [
        {"low": [base], "middle": [base + sign * (contrast // 2)], "high": [base + sign * contrast]}
        for contrast in contrasts
    ]


def _judge(rows: Rows, report: ReportedAnalysis | None = None, **changes: Any) -> Judged:
    contract = direction(**changes)
    return judge_direction(contract, promised(contract, rows), cells_of(rows), report)


def _faults(judged: Judged) -> list[Fault]:
    return [finding.fault for finding in judged[0]]


def _ratio(pair: Pair | None) -> Ratio:
    assert pair is not None
    return Ratio(int(pair.pair[0]), int(pair.pair[1]))


def _equal(pair: Pair | None, numerator: int, denominator: int) -> bool:
    return compare(_ratio(pair), Ratio(numerator, denominator)) == 0


def test_the_paper_s_positive_control_passes_with_its_numbers() -> None:
    """Monotone, +38.5, one-sided 95 % lower bound 37.25."""
    findings, analysis = _judge(_rows(PAPER), threshold=37)
    assert findings == ()
    assert analysis.subjects == 8
    assert _equal(analysis.estimate, 385, 10)
    assert _equal(analysis.lower, 3725, 100)
    assert analysis.upper is None
    assert analysis.lower_envelope == (analysis.lower, analysis.lower)
    assert [_ratio(level) for level in analysis.levels] == [
        Ratio(800, 8),
        Ratio(800 + 17 + 18 + 3 * 19 + 19 + 20 + 20, 8),
        Ratio(800 + 308, 8),
    ]


def test_the_drawn_control_passes_as_well() -> None:
    findings, analysis = _judge(_rows(PAPER), estimator="mc", seed=SEED, draws=2000, threshold=36)
    assert findings == ()
    assert analysis.lower_envelope is not None
    low, high = map(_ratio, analysis.lower_envelope)
    assert compare(low, _ratio(analysis.lower)) <= 0 <= compare(high, _ratio(analysis.lower))
    assert compare(low, Ratio(3725, 100)) <= 0 <= compare(high, Ratio(3725, 100))


@pytest.mark.parametrize(
    ("threshold", "faults"),
    [
        pytest.param(36, [], id="bound-beyond"),
        pytest.param(37, [Fault.BOUNDARY_IN_ENVELOPE], id="bound-on-the-threshold"),
        pytest.param(38, [Fault.BOUND_NOT_BEYOND], id="estimate-beyond-bound-not"),
        pytest.param(39, [Fault.BOUND_NOT_BEYOND], id="estimate-not-beyond"),
    ],
)
def test_the_bound_decides_and_not_the_estimate(threshold: int, faults: list[Fault]) -> None:
    """Contrasts 36 38 39 41: the 13th of 256 sums is 148, a mean of 37; the estimate is 38.5."""
    judged = _judge(_rows((36, 38, 39, 41)), threshold=threshold)
    assert _equal(judged[1].lower, 37, 1)
    assert _faults(judged) == faults


def test_a_threshold_inside_the_drawn_envelope_decides_nothing() -> None:
    drawn = {"estimator": "mc", "seed": SEED, "draws": 400}
    rows = _rows((10, 40, 70, 100, 130, 190))
    _, analysis = _judge(rows, **drawn)
    assert analysis.lower_envelope is not None
    low, high = map(_ratio, analysis.lower_envelope)
    inside = low.numerator // low.denominator + 1
    assert compare(Ratio(inside, 1), high) < 0
    assert _faults(_judge(rows, threshold=inside, **drawn)) == [Fault.BOUNDARY_IN_ENVELOPE]
    above = high.numerator // high.denominator + 1
    assert _faults(_judge(rows, threshold=above, **drawn)) == [Fault.BOUND_NOT_BEYOND]
    below = low.numerator // low.denominator - 1
    assert _faults(_judge(rows, threshold=below, **drawn)) == []


def test_levels_that_tie_are_weakly_monotone() -> None:
    rows = [{"low": [5], "middle": [5], "high": [9 + place]} for place in range(4)]
    assert _faults(_judge(rows)) == []


def test_a_middle_level_that_falls_back_is_not_monotone_however_far_the_ends_are() -> None:
    rows = [{"low": [5], "middle": [4], "high": [90 + place]} for place in range(4)]
    findings, analysis = _judge(rows)
    assert [finding.fault for finding in findings] == [Fault.NOT_MONOTONE]
    assert findings[0].detail == "low 20/4, middle 16/4, expected increasing"
    assert analysis.estimate is not None


def test_a_response_that_collapses_at_the_strongest_level_fails_both_ways() -> None:
    """Pressure overprices into rejections, so the response rises and falls (the paper's E4)."""
    rows = [{"low": [10], "middle": [20], "high": [30 if place % 3 == 0 else 0]} for place in range(12)]
    assert _faults(_judge(rows)) == [Fault.NOT_MONOTONE, Fault.BOUND_NOT_BEYOND]


def test_equal_contrasts_of_nothing_lie_on_the_threshold() -> None:
    assert _faults(_judge(_rows((0, 0, 0, 0)))) == [Fault.BOUNDARY_IN_ENVELOPE]


def test_equal_contrasts_beyond_the_threshold_pass_with_few_draws_too() -> None:
    findings, analysis = _judge(_rows((8, 8, 8, 8)), estimator="mc", seed=SEED, draws=10, threshold=7)
    assert findings == ()
    assert _equal(analysis.lower, 8, 1)


def test_too_few_draws_show_nothing_that_the_least_contrast_does_not() -> None:
    judged = _judge(_rows((-1, 50, 50, 50, 50)), estimator="mc", seed=SEED, draws=10)
    assert _faults(judged) == [Fault.BOUNDARY_IN_ENVELOPE]


def test_decreasing_is_mirrored_with_an_upper_bound() -> None:
    findings, analysis = _judge(_rows(PAPER, sign=-1), direction="decreasing", threshold=37)
    # The middle level falls as the others do.
    assert findings == ()
    assert _equal(analysis.estimate, -385, 10)
    assert _equal(analysis.upper, -3725, 100)
    assert analysis.lower is None
    assert analysis.upper_envelope == (analysis.upper, analysis.upper)
    assert _faults(_judge(_rows(PAPER, sign=-1))) == [Fault.NOT_MONOTONE, Fault.BOUND_NOT_BEYOND]


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
    up, rising = _judge(rows, threshold=threshold, **estimator)
    down, falling = _judge(negated, threshold=threshold, direction="decreasing", **estimator)
    assert [finding.fault for finding in up] == [finding.fault for finding in down]
    upper = _ratio(falling.upper)
    assert _ratio(rising.lower) == Ratio(-upper.numerator, upper.denominator)
    assert rising.lower_envelope is not None
    assert falling.upper_envelope is not None
    mirrored = [Ratio(-int(end.pair[0]), int(end.pair[1])) for end in reversed(falling.upper_envelope)]
    assert [_ratio(end) for end in rising.lower_envelope] == mirrored


def test_integers_beyond_2_53_are_exact() -> None:
    huge = 2**60
    rows = [
        {"low": [-huge], "middle": [huge], "high": [huge + 1 + place]} for place in (0, 0, 0, 0)
    ]  # contrasts of 2^61 + 1
    findings, analysis = _judge(rows, threshold=str(2**61))
    assert findings == ()
    assert analysis.lower == Pair(pair=(str(4 * (2**61 + 1)), 4))
    assert _faults(_judge(rows, threshold=str(2**61 + 1))) == [Fault.BOUNDARY_IN_ENVELOPE]
    assert _faults(_judge(rows, threshold=str(2**61 + 2))) == [Fault.BOUND_NOT_BEYOND]


def test_replicates_average_before_profiles_are_compared() -> None:
    rows = [{"low": [0, 2, 4], "middle": [2, 2, 3], "high": [9, 9, 9 + place]} for place in range(4)]
    _, analysis = _judge(rows)
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
    findings, analysis = _judge(_rows((5, 5, 6)))
    assert [finding.fault for finding in findings] == [Fault.TOO_FEW_PROFILES]
    assert findings[0].detail == "3 under every arm, expected 4"
    assert analysis.subjects == 3
    assert _equal(analysis.estimate, 16, 3)


def test_a_profile_promised_under_some_levels_takes_no_part() -> None:
    rows = [*_rows((5, 6, 7, 8)), {"low": [10**6]}]
    findings, analysis = _judge(rows)
    assert findings == ()
    assert analysis.subjects == 4
    assert _ratio(analysis.levels[0]) == Ratio(400, 4)


def test_a_profile_that_takes_no_part_needs_its_cells_all_the_same() -> None:
    contract = direction()
    rows = [*_rows((5, 6, 7, 8)), {"low": [1]}]
    cells = cells_of(rows)
    del cells["p-4", "low"]
    findings, analysis = judge_direction(contract, promised(contract, rows), cells, None)
    assert findings == (ClaimFinding(Fault.CELL_EMPTY, "p-4/low", "no run; one of 1 such cells"),)
    assert analysis.estimate is None


@pytest.mark.parametrize("cell", [None, Cell()], ids=["absent", "empty"])
def test_a_promised_cell_without_a_run_is_never_dropped(cell: Cell | None) -> None:
    contract = direction()
    rows = _rows((5, 6, 7, 8, 9))
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
    rows = [*_rows((5, 6, 7, 8)), {"low": [1], "middle": [value], "high": [9]}]
    findings, analysis = _judge(rows)
    assert [(finding.fault, finding.subject) for finding in findings] == [(fault, "p-4/middle")]
    assert (analysis.subjects, analysis.estimate) == (5, None)


def test_of_many_bad_cells_the_first_three_are_named() -> None:
    rows = [{"low": [Null(null="failed")], "middle": [1], "high": [2]} for _ in range(9)]
    findings, _ = _judge(rows)
    assert [finding.subject for finding in findings] == ["p-0/low", "p-1/low", "p-2/low"]
    assert findings[0].detail == "1 of 1 runs null, failed first; one of 9 such cells"


def test_an_exact_distribution_beyond_the_limit_is_too_much_work_and_no_error() -> None:
    rows = _rows([10**15 + place**9 for place in range(40)])
    findings, analysis = _judge(rows)
    assert [finding.fault for finding in findings] == [Fault.TOO_MUCH_WORK]
    assert analysis.estimate is not None
    assert analysis.lower is None


def test_more_draws_than_allowed_are_too_much_work() -> None:
    judged = _judge(_rows((5, 6, 7, 8)), estimator="mc", seed=SEED, draws=10**9)
    assert _faults(judged) == [Fault.TOO_MUCH_WORK]


def test_numbers_that_no_object_can_carry_are_too_much_work() -> None:
    rows = [{"low": [0], "middle": [0], "high": [10**130 + place]} for place in range(4)]
    findings, analysis = _judge(rows)
    assert [finding.fault for finding in findings] == [Fault.TOO_MUCH_WORK]
    assert analysis.estimate is None


def test_what_a_report_says_rightly_in_other_terms_is_no_finding() -> None:
    report = reported(8, estimate=Pair(pair=(77, 2)), lower=Pair(pair=(149, 4)))
    assert _judge(_rows(PAPER), report)[0] == ()


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        pytest.param({"subjects": 24}, Fault.SUBJECTS_DIFFER, id="replicates-as-subjects"),
        pytest.param({"subjects": 7}, Fault.SUBJECTS_DIFFER, id="a-profile-less"),
        pytest.param({"seed": SEED}, Fault.ANALYSIS_CONTRADICTS_CONTRACT, id="seed"),
        pytest.param({"draws": 100}, Fault.ANALYSIS_CONTRADICTS_CONTRACT, id="draws"),
        pytest.param({"input_order": "other"}, Fault.ANALYSIS_CONTRADICTS_CONTRACT, id="order"),
        pytest.param({"estimate": Pair(pair=(309, 8))}, Fault.ANALYSIS_DIFFERS, id="estimate"),
        pytest.param({"lower": Pair(pair=(299, 8))}, Fault.ANALYSIS_DIFFERS, id="lower"),
        pytest.param({"lower": Pair(pair=(0, 0))}, Fault.ANALYSIS_DIFFERS, id="nothing-of-nothing"),
        pytest.param({"lower": Pair(pair=(-298, -8))}, Fault.ANALYSIS_DIFFERS, id="negative-count"),
        pytest.param({"upper": Pair(pair=(308, 8))}, Fault.ANALYSIS_DIFFERS, id="a-bound-of-no-contract"),
    ],
)
def test_a_report_that_says_otherwise_is_found(said: dict[str, Any], fault: Fault) -> None:
    report = reported(**{"subjects": 8, **said})
    judged = _judge(_rows(PAPER), report)
    assert _faults(judged) == [fault]
    assert judged[1] == _judge(_rows(PAPER))[1]


def test_a_report_is_held_against_what_could_be_computed_only() -> None:
    """A withheld cell leaves nothing to contradict; how the analysis was made is known all the same."""
    contract = direction()
    rows = _rows((5, 6, 7, 8))
    cells = cells_of(rows)
    del cells["p-0", "low"]
    said = reported(5, estimate=Pair(pair=(26, 4)), lower=Pair(pair=(22, 4)), draws=7)
    findings, _ = judge_direction(contract, promised(contract, rows), cells, said)
    assert [finding.fault for finding in findings] == [
        Fault.CELL_EMPTY,
        Fault.ANALYSIS_CONTRADICTS_CONTRACT,
        Fault.SUBJECTS_DIFFER,
    ]


def test_the_order_of_the_cells_given_changes_nothing() -> None:
    contract: DirectionContract = direction(estimator="mc", seed=SEED, draws=300)
    rows = _rows((3, 1, 4, 1, 5, 9))
    cells = cells_of(rows)
    shuffled = dict(reversed(cells.items()))
    whole = promised(contract, rows)
    assert judge_direction(contract, whole, cells, None) == judge_direction(contract, whole, shuffled, None)
