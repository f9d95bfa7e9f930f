"""C3: an interval beyond a boundary or inside ±delta, from replicates that average first."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from fractions import Fraction
from statistics import variance
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.analyses import judge_stability
from agentbeat_receipts.claims import Analysis, ClaimFinding, Fault
from agentbeat_receipts.objects import Null, Pair, ReportedAnalysis
from agentbeat_receipts.statistics import Ratio, compare
from support.claim_cells import SEED, Rows, cells_of, promised, reported, stability

#: 10 contrasts whose mean is 28.5 and whose quantiles 1/40 and 39/40 are 27.0 and 30.1.
PAPER = (25, 26, 26, 27, 28, 28, 29, 31, 32, 33)

EQUIVALENCE = {"kind": "equivalence", "delta": 2}
MC = {"estimator": "mc", "seed": SEED, "draws": 2000}

Judged = tuple[tuple[ClaimFinding, ...], Analysis]


def _rows(contrasts: Sequence[int], *, replicates: int = 2, spread: int = 0) -> Rows:
    """Two arms with these contrasts; replicates of a cell lie `spread` apart around its mean."""
    around = [spread * (2 * place - replicates + 1) for place in range(replicates)]
    return [
        {"off": [100 + by for by in around], "on": [100 + contrast + by for by in around]}
        for contrast in contrasts
    ]


def _judge(rows: Rows, report: ReportedAnalysis | None = None, **changes: Any) -> Judged:
    contract = stability(**changes)
    return judge_stability(contract, promised(contract, rows), cells_of(rows), report)


def _faults(judged: Judged) -> list[Fault]:
    return [finding.fault for finding in judged[0]]


def _ratio(pair: Pair | None) -> Ratio:
    assert pair is not None
    return Ratio(int(pair.pair[0]), int(pair.pair[1]))


def _equal(pair: Pair | None, numerator: int, denominator: int) -> bool:
    return compare(_ratio(pair), Ratio(numerator, denominator)) == 0


@pytest.mark.parametrize("replicates", [2, 3])
def test_the_paper_s_positive_control_passes_with_its_numbers(replicates: int) -> None:
    """+28.5 [27.0, 30.1]."""
    findings, analysis = _judge(_rows(PAPER, replicates=replicates, spread=4))
    assert findings == ()
    assert analysis.subjects == 10
    assert _equal(analysis.estimate, 285, 10)
    assert _equal(analysis.lower, 270, 10)
    assert _equal(analysis.upper, 301, 10)
    assert analysis.estimate == Pair(pair=(285 * replicates, 10 * replicates))
    assert analysis.lower_envelope == (analysis.lower, analysis.lower)
    assert analysis.variance is None


def test_the_drawn_control_passes_as_well() -> None:
    findings, analysis = _judge(_rows(PAPER), boundary={"kind": "sign", "at": 26}, **MC)
    assert findings == ()
    for ends, exact in ((analysis.lower_envelope, 270), (analysis.upper_envelope, 301)):
        assert ends is not None
        low, high = map(_ratio, ends)
        assert compare(low, Ratio(exact, 10)) <= 0 <= compare(high, Ratio(exact, 10))


@given(st.integers(1, 10**6).flatmap(lambda a: st.tuples(st.just(a), *[st.integers(1, 3 * a)] * 3)))
def test_one_contrast_against_three_at_most_thrice_as_far_is_never_a_sign(row: tuple[int, ...]) -> None:
    """The paper's E3: 13 of 256 resamples hold -a thrice or more, and the 1/40 quantile is the 7th."""
    a, *others = row
    faults = _faults(_judge(_rows([-a, *others], replicates=3)))
    assert faults in ([Fault.INTERVAL_CROSSES], [Fault.BOUNDARY_IN_ENVELOPE])


@pytest.mark.parametrize("seed", range(6))
def test_the_same_shape_is_no_sign_for_any_seed(seed: int) -> None:
    drawn = {**MC, "seed": base64.b64encode(bytes([seed])).decode()}
    assert _faults(_judge(_rows([-5, 15, 15, 15], replicates=3), **drawn)) in (
        [Fault.INTERVAL_CROSSES],
        [Fault.BOUNDARY_IN_ENVELOPE],
    )


def test_its_repaired_twin_passes() -> None:
    assert _faults(_judge(_rows([5, 15, 15, 15], replicates=3))) == []


@pytest.mark.parametrize(
    ("contrasts", "at", "faults"),
    [
        pytest.param((5, 6, 7, 8), 0, [], id="wholly-above"),
        pytest.param((-5, -6, -7, -8), 0, [], id="wholly-below"),
        pytest.param((5, 6, 7, 8), 100, [], id="wholly-below-a-high-boundary"),
        pytest.param((-5, 6, 7, -8), 0, [Fault.INTERVAL_CROSSES], id="across"),
        pytest.param((4, 4, 4, 4), 4, [Fault.BOUNDARY_IN_ENVELOPE], id="all-on-the-boundary"),
        pytest.param((0, 0, 4, 4), 0, [Fault.BOUNDARY_IN_ENVELOPE], id="lower-bound-on-it"),
        pytest.param((0, 0, -4, -4), 0, [Fault.BOUNDARY_IN_ENVELOPE], id="upper-bound-on-it"),
        pytest.param((1, 1, 1, 1), 0, [], id="equal-contrasts"),
    ],
)
def test_a_sign_needs_the_interval_strictly_on_one_side(
    contrasts: Sequence[int], at: int, faults: list[Fault]
) -> None:
    assert _faults(_judge(_rows(contrasts), boundary={"kind": "sign", "at": at})) == faults


@pytest.mark.parametrize(
    ("contrasts", "faults"),
    [
        pytest.param((0, 0, 0, 0), [], id="no-difference"),
        pytest.param((1, -1, 1, 0), [], id="inside"),
        pytest.param((2, 2, 2, 2), [Fault.BOUNDARY_IN_ENVELOPE], id="on-delta"),
        pytest.param((-2, -2, -2, -2), [Fault.BOUNDARY_IN_ENVELOPE], id="on-minus-delta"),
        pytest.param((3, 3, 3, 3), [Fault.INTERVAL_CROSSES], id="above"),
        pytest.param((-9, 0, 0, 0), [Fault.INTERVAL_CROSSES], id="below-at-one-end"),
        pytest.param((-9, 0, 0, 9), [Fault.INTERVAL_CROSSES], id="beyond-at-both-ends"),
        pytest.param((-2, 9, -2, -2), [Fault.INTERVAL_CROSSES], id="on-one-end-and-beyond-the-other"),
    ],
)
def test_equivalence_needs_the_interval_strictly_inside(
    contrasts: Sequence[int], faults: list[Fault]
) -> None:
    assert _faults(_judge(_rows(contrasts), boundary=EQUIVALENCE)) == faults


@pytest.mark.parametrize("delta", [0, -5])
def test_nothing_is_equivalent_within_nothing(delta: int) -> None:
    judged = _judge(_rows((0, 0, 0, 0)), boundary={"kind": "equivalence", "delta": delta})
    assert judged[0] != ()


def test_a_boundary_inside_a_drawn_envelope_decides_nothing() -> None:
    """The bound is beyond the boundary; that of another seed need not be."""
    rows = _rows((-40, 30, 60, 90, 120, 150, 260, 310, 55, 71))
    drawn = {**MC, "draws": 400}
    _, analysis = _judge(rows, **drawn)
    assert analysis.lower_envelope is not None
    assert analysis.upper_envelope is not None
    for ends, bound in (
        (analysis.lower_envelope, analysis.lower),
        (analysis.upper_envelope, analysis.upper),
    ):
        low, high = map(_ratio, ends)
        at = _ratio(bound).numerator // _ratio(bound).denominator
        assert compare(low, Ratio(at, 1)) < 0 < compare(high, Ratio(at + 1, 1))
        for boundary in (at, at + 1):
            judged = _judge(rows, boundary={"kind": "sign", "at": boundary}, **drawn)
            assert _faults(judged) == [Fault.BOUNDARY_IN_ENVELOPE]


@given(
    st.lists(st.integers(-5, 5), min_size=4, max_size=6),
    st.integers(-3, 3),
    st.sampled_from(["sign", "equivalence"]),
)
def test_swapping_the_arms_mirrors_the_interval_and_keeps_the_verdict(
    contrasts: list[int], at: int, kind: str
) -> None:
    """The ranks of 1/40 and 39/40 mirror one another wherever 40 does not divide n^n."""
    rows = _rows(contrasts)
    own = {"kind": kind, "at": at} if kind == "sign" else {"kind": kind, "delta": at}
    other = {"kind": kind, "at": -at} if kind == "sign" else own
    one = _judge(rows, boundary=own)
    two = _judge(rows, boundary=other, contrast={"minuend": "off", "subtrahend": "on"})
    assert _faults(one) == _faults(two)
    pairs = [(one[1].estimate, two[1].estimate), (one[1].lower, two[1].upper), (one[1].upper, two[1].lower)]
    assert all(_equal(left, -_ratio(right).numerator, _ratio(right).denominator) for left, right in pairs)


def test_an_arm_against_itself_has_no_sign() -> None:
    judged = _judge(_rows((5, 6, 7, 8)), contrast={"minuend": "on", "subtrahend": "on"})
    assert _faults(judged) == [Fault.BOUNDARY_IN_ENVELOPE]


def test_replicates_are_never_subjects() -> None:
    """Thirty runs of one profile weigh as much as two would, and count as one."""
    findings, analysis = _judge(_rows((5, 6, 7), replicates=30))
    assert [finding.fault for finding in findings] == [Fault.TOO_FEW_PROFILES]
    assert analysis.subjects == 3


def test_one_run_of_a_cell_shows_no_stability() -> None:
    findings, analysis = _judge(_rows((5, 6, 7, 8), replicates=1))
    assert {finding.fault for finding in findings} == {Fault.TOO_FEW_REPLICATES}
    assert findings[0] == ClaimFinding(
        Fault.TOO_FEW_REPLICATES, "p-0/on", "1 runs, expected 2; one of 8 such cells"
    )
    assert analysis.estimate is not None


def test_a_cell_with_fewer_runs_than_declared_is_found_and_still_exact() -> None:
    contract = stability()
    rows = _rows((5, 6, 7, 8), replicates=3)
    short = [{**rows[0], "on": [105, 106]}, *rows[1:]]
    findings, analysis = judge_stability(contract, promised(contract, rows), cells_of(short), None)
    assert [(finding.fault, finding.subject) for finding in findings] == [
        (Fault.TOO_FEW_REPLICATES, "p-0/on")
    ]
    # 5.5 + 6 + 7 + 8 over 4 profiles, on the scale 6.
    assert analysis.estimate == Pair(pair=(159, 24))


@pytest.mark.parametrize(
    ("value", "fault"),
    [(Null(null="not_observed"), Fault.VALUE_IS_NULL), ("1.5", Fault.VALUE_IS_NO_INTEGER)],
    ids=["null", "decimal"],
)
def test_a_value_that_is_no_integer_decides_nothing(value: Any, fault: Fault) -> None:
    rows = [*_rows((5, 6, 7, 8)), {"off": [1, value], "on": [2, 2]}]
    findings, analysis = _judge(rows, max_variance={"numerator": 0, "denominator": 1})
    assert [(finding.fault, finding.subject) for finding in findings] == [(fault, "p-4/off")]
    assert (analysis.estimate, analysis.lower, analysis.upper, analysis.variance) == (None,) * 4


def test_a_promised_cell_without_a_run_is_never_dropped() -> None:
    contract = stability()
    rows = _rows((5, 6, 7, 8, 9))
    cells = cells_of(rows)
    del cells["p-1", "on"]
    findings, analysis = judge_stability(contract, promised(contract, rows), cells, None)
    assert [(finding.fault, finding.subject) for finding in findings] == [(Fault.CELL_EMPTY, "p-1/on")]
    assert analysis.subjects == 5


def test_a_profile_promised_under_one_arm_takes_no_part() -> None:
    rows = [*_rows((5, 6, 7, 8)), {"on": [-(10**9), 10**9]}]
    findings, analysis = _judge(rows, max_variance={"numerator": 0, "denominator": 1})
    assert findings == ()
    assert analysis.subjects == 4


@pytest.mark.parametrize(
    ("limit", "faults"),
    [
        pytest.param((15, 1), [Fault.VARIANCE_ABOVE], id="above"),
        pytest.param((16, 1), [], id="on-the-limit"),
        pytest.param((160, 10), [], id="on-the-limit-in-other-terms"),
        pytest.param((159, 10), [Fault.VARIANCE_ABOVE], id="a-tenth-above"),
        pytest.param((17, 1), [], id="below"),
    ],
)
def test_the_mean_variance_inside_cells_is_held_to_its_limit(
    limit: tuple[int, int], faults: list[Fault]
) -> None:
    """Three replicates at -4, 0 and 4 around their mean: (16 + 0 + 16) / 2 = 16 in every cell."""
    rows = _rows((50, 60, 70, 80), replicates=3, spread=2)
    declared = {"numerator": limit[0], "denominator": limit[1]}
    judged = _judge(rows, max_variance=declared)
    assert _faults(judged) == faults
    assert _equal(judged[1].variance, 16, 1)


@given(
    st.lists(
        st.lists(st.lists(st.integers(-100, 100), min_size=3, max_size=3), min_size=2, max_size=2),
        min_size=4,
        max_size=6,
    )
)
def test_the_variance_is_the_unbiased_one_of_each_cell(values: list[list[list[int]]]) -> None:
    rows = [{"off": off, "on": on} for off, on in values]
    _, analysis = _judge(rows, max_variance={"numerator": 0, "denominator": 1})
    cells = [variance([Fraction(value) for value in cell]) for row in values for cell in row]
    mean = sum(cells, Fraction()) / len(cells)
    assert _equal(analysis.variance, mean.numerator, mean.denominator)


def test_a_variance_of_single_runs_is_not_computed() -> None:
    judged = _judge(_rows((5, 6, 7, 8), replicates=1), max_variance={"numerator": 0, "denominator": 1})
    assert set(_faults(judged)) == {Fault.TOO_FEW_REPLICATES}
    assert judged[1].variance is None


def test_a_variance_that_no_object_can_carry_is_too_much_work() -> None:
    rows = [{"off": [0, 10**100], "on": [0, 10**100 + 4 * place]} for place in range(1, 5)]
    judged = _judge(rows, max_variance={"numerator": 0, "denominator": 1})
    assert _faults(judged) == [Fault.TOO_MUCH_WORK]
    assert judged[1].lower is not None


def test_integers_beyond_2_53_are_exact() -> None:
    huge = 2**60
    rows = [{"off": [-huge, -huge], "on": [huge, huge + 2]} for _ in range(4)]
    judged = _judge(rows, boundary={"kind": "sign", "at": str(2**61)})
    assert _faults(judged) == []
    assert judged[1].lower == Pair(pair=(str(4 * (2**62 + 2)), 8))
    on_it = _judge(rows, boundary={"kind": "sign", "at": str(2**61 + 1)})
    assert _faults(on_it) == [Fault.BOUNDARY_IN_ENVELOPE]


def test_a_success_rate_of_thousands_of_cases_is_exact() -> None:
    """agent_eval: 0 or 1 in each run, so contrasts of -1, 0 and 1 before scaling."""
    rows: Rows = [
        {"off": [1, 1] if place % 3 else [0, 1], "on": [1, 0] if place % 5 == 0 else [1, 1]}
        for place in range(1200)
    ]
    findings, analysis = _judge(rows, boundary={"kind": "equivalence", "delta": 1})
    assert findings == ()
    assert analysis.subjects == 1200
    assert _equal(analysis.estimate, 200 - 120, 1200)


def test_money_values_of_75_profiles_are_exact() -> None:
    rows = _rows([(place * 7919) % 400 - 40 for place in range(75)])
    findings, analysis = _judge(rows)
    assert findings == ()
    _, drawn = _judge(rows, **MC)
    for exact, ends in ((analysis.lower, drawn.lower_envelope), (analysis.upper, drawn.upper_envelope)):
        assert ends is not None
        low, high = map(_ratio, ends)
        assert compare(low, _ratio(exact)) <= 0 <= compare(high, _ratio(exact))


def test_what_a_report_says_rightly_in_other_terms_is_no_finding() -> None:
    said = {"estimate": Pair(pair=(57, 2)), "lower": Pair(pair=(27, 1)), "upper": Pair(pair=(301, 10))}
    assert _judge(_rows(PAPER), reported(10, **said))[0] == ()


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        pytest.param({"subjects": 20}, Fault.SUBJECTS_DIFFER, id="replicates-as-subjects"),
        pytest.param({"seed": "AAAA"}, Fault.ANALYSIS_CONTRADICTS_CONTRACT, id="seed"),
        pytest.param({"draws": 1999}, Fault.ANALYSIS_CONTRADICTS_CONTRACT, id="draws"),
        pytest.param({"input_order": "other"}, Fault.ANALYSIS_CONTRADICTS_CONTRACT, id="order"),
        pytest.param({"estimate": Pair(pair=(286, 10))}, Fault.ANALYSIS_DIFFERS, id="estimate"),
        pytest.param({"lower": Pair(pair=(285, 10))}, Fault.ANALYSIS_DIFFERS, id="lower"),
        pytest.param({"upper": Pair(pair=(285, 10))}, Fault.ANALYSIS_DIFFERS, id="upper"),
    ],
)
def test_a_report_that_says_otherwise_is_found(said: dict[str, Any], fault: Fault) -> None:
    report = reported(**{"subjects": 10, "seed": SEED, "draws": 2000, **said})
    judged = _judge(_rows(PAPER), report, **MC)
    assert _faults(judged) == [fault]
    assert judged[0][0].subject == "contract"
