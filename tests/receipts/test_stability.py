"""C3: an interval beyond a boundary or inside ±delta, from replicates that average first."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.analyses import judge_stability
from agentbeat_receipts.claims import ClaimFinding, Fault
from agentbeat_receipts.objects import Null, Pair
from agentbeat_receipts.statistics import Ratio, compare
from support.claim_cells import (
    SEED,
    Rows,
    cells_of,
    equal,
    faults,
    judged_stability,
    promised,
    ratio,
    stability,
    switches,
)

#: 10 contrasts whose mean is 28.5 and whose quantiles 1/40 and 39/40 are 27.0 and 30.1.
PAPER = (25, 26, 26, 27, 28, 28, 29, 31, 32, 33)

EQUIVALENCE = {"kind": "equivalence", "delta": 2}
MC = {"estimator": "mc", "seed": SEED, "draws": 2000}


@pytest.mark.parametrize("replicates", [2, 3])
def test_the_paper_s_positive_control_passes_with_its_numbers(replicates: int) -> None:
    """+28.5 [27.0, 30.1]."""
    findings, analysis = judged_stability(switches(PAPER, replicates=replicates, spread=4))
    assert findings == ()
    assert analysis.subjects == 10
    assert equal(analysis.estimate, 285, 10)
    assert equal(analysis.lower, 270, 10)
    assert equal(analysis.upper, 301, 10)
    assert analysis.estimate == Pair(pair=(285 * replicates, 10 * replicates))
    assert analysis.lower_envelope == (analysis.lower, analysis.lower)
    assert analysis.variance is None


def test_the_drawn_control_passes_as_well() -> None:
    findings, analysis = judged_stability(switches(PAPER), boundary={"kind": "sign", "at": 26}, **MC)
    assert findings == ()
    for ends, exact in ((analysis.lower_envelope, 270), (analysis.upper_envelope, 301)):
        assert ends is not None
        low, high = map(ratio, ends)
        assert compare(low, Ratio(exact, 10)) <= 0 <= compare(high, Ratio(exact, 10))


@given(st.integers(1, 10**6).flatmap(lambda a: st.tuples(st.just(a), *[st.integers(1, 3 * a)] * 3)))
def test_one_contrast_against_three_at_most_thrice_as_far_is_never_a_sign(row: tuple[int, ...]) -> None:
    """The paper's E3: 13 of 256 resamples hold -a thrice or more, and the 1/40 quantile is the 7th."""
    a, *others = row
    expected = faults(judged_stability(switches([-a, *others], replicates=3)))
    assert expected in ([Fault.INTERVAL_CROSSES], [Fault.BOUNDARY_IN_ENVELOPE])


@pytest.mark.parametrize("seed", range(6))
def test_the_same_shape_is_no_sign_for_any_seed(seed: int) -> None:
    drawn = {**MC, "seed": base64.b64encode(bytes([seed])).decode()}
    assert faults(judged_stability(switches([-5, 15, 15, 15], replicates=3), **drawn)) in (
        [Fault.INTERVAL_CROSSES],
        [Fault.BOUNDARY_IN_ENVELOPE],
    )


def test_its_repaired_twin_passes() -> None:
    assert faults(judged_stability(switches([5, 15, 15, 15], replicates=3))) == []


@pytest.mark.parametrize(
    ("contrasts", "at", "expected"),
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
    contrasts: Sequence[int], at: int, expected: list[Fault]
) -> None:
    assert faults(judged_stability(switches(contrasts), boundary={"kind": "sign", "at": at})) == expected


@pytest.mark.parametrize(
    ("contrasts", "expected"),
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
    contrasts: Sequence[int], expected: list[Fault]
) -> None:
    assert faults(judged_stability(switches(contrasts), boundary=EQUIVALENCE)) == expected


@pytest.mark.parametrize("delta", [0, -5])
def test_nothing_is_equivalent_within_nothing(delta: int) -> None:
    judged = judged_stability(switches((0, 0, 0, 0)), boundary={"kind": "equivalence", "delta": delta})
    assert judged[0] != ()


def test_a_boundary_inside_a_drawn_envelope_decides_nothing() -> None:
    """The bound is beyond the boundary; that of another seed need not be."""
    rows = switches((-40, 30, 60, 90, 120, 150, 260, 310, 55, 71))
    drawn = {**MC, "draws": 400}
    _, analysis = judged_stability(rows, **drawn)
    assert analysis.lower_envelope is not None
    assert analysis.upper_envelope is not None
    for ends, bound in (
        (analysis.lower_envelope, analysis.lower),
        (analysis.upper_envelope, analysis.upper),
    ):
        low, high = map(ratio, ends)
        at = ratio(bound).numerator // ratio(bound).denominator
        assert compare(low, Ratio(at, 1)) < 0 < compare(high, Ratio(at + 1, 1))
        for boundary in (at, at + 1):
            judged = judged_stability(rows, boundary={"kind": "sign", "at": boundary}, **drawn)
            assert faults(judged) == [Fault.BOUNDARY_IN_ENVELOPE]


@given(
    st.lists(st.integers(-5, 5), min_size=4, max_size=6),
    st.integers(-3, 3),
    st.sampled_from(["sign", "equivalence"]),
)
def test_swapping_the_arms_mirrors_the_interval_and_keeps_the_verdict(
    contrasts: list[int], at: int, kind: str
) -> None:
    """The ranks of 1/40 and 39/40 mirror one another wherever 40 does not divide n^n."""
    rows = switches(contrasts)
    own = {"kind": kind, "at": at} if kind == "sign" else {"kind": kind, "delta": at}
    other = {"kind": kind, "at": -at} if kind == "sign" else own
    one = judged_stability(rows, boundary=own)
    two = judged_stability(rows, boundary=other, contrast={"minuend": "off", "subtrahend": "on"})
    assert faults(one) == faults(two)
    pairs = [(one[1].estimate, two[1].estimate), (one[1].lower, two[1].upper), (one[1].upper, two[1].lower)]
    assert all(equal(left, -ratio(right).numerator, ratio(right).denominator) for left, right in pairs)


def test_an_arm_against_itself_has_no_sign() -> None:
    judged = judged_stability(switches((5, 6, 7, 8)), contrast={"minuend": "on", "subtrahend": "on"})
    assert faults(judged) == [Fault.BOUNDARY_IN_ENVELOPE]


def test_replicates_are_never_subjects() -> None:
    """Thirty runs of one profile weigh as much as two would, and count as one."""
    findings, analysis = judged_stability(switches((5, 6, 7), replicates=30))
    assert [finding.fault for finding in findings] == [Fault.TOO_FEW_PROFILES]
    assert analysis.subjects == 3


def test_one_run_of_a_cell_shows_no_stability() -> None:
    findings, analysis = judged_stability(switches((5, 6, 7, 8), replicates=1))
    assert {finding.fault for finding in findings} == {Fault.TOO_FEW_REPLICATES}
    assert findings[0] == ClaimFinding(
        Fault.TOO_FEW_REPLICATES, "p-0/on", "1 runs, expected 2; one of 8 such cells"
    )
    assert analysis.estimate is not None


def test_a_cell_with_fewer_runs_than_declared_is_found_and_still_exact() -> None:
    contract = stability()
    rows = switches((5, 6, 7, 8), replicates=3)
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
    rows = [*switches((5, 6, 7, 8)), {"off": [1, value], "on": [2, 2]}]
    findings, analysis = judged_stability(rows, max_variance={"numerator": 0, "denominator": 1})
    assert [(finding.fault, finding.subject) for finding in findings] == [(fault, "p-4/off")]
    assert (analysis.estimate, analysis.lower, analysis.upper, analysis.variance) == (None,) * 4


def test_a_promised_cell_without_a_run_is_never_dropped() -> None:
    contract = stability()
    rows = switches((5, 6, 7, 8, 9))
    cells = cells_of(rows)
    del cells["p-1", "on"]
    findings, analysis = judge_stability(contract, promised(contract, rows), cells, None)
    assert [(finding.fault, finding.subject) for finding in findings] == [(Fault.CELL_EMPTY, "p-1/on")]
    assert analysis.subjects == 5


def test_a_profile_promised_under_one_arm_takes_no_part() -> None:
    rows = [*switches((5, 6, 7, 8)), {"on": [-(10**9), 10**9]}]
    findings, analysis = judged_stability(rows, max_variance={"numerator": 0, "denominator": 1})
    assert findings == ()
    assert analysis.subjects == 4


def test_integers_beyond_2_53_are_exact() -> None:
    huge = 2**60
    rows = [{"off": [-huge, -huge], "on": [huge, huge + 2]} for _ in range(4)]
    judged = judged_stability(rows, boundary={"kind": "sign", "at": str(2**61)})
    assert faults(judged) == []
    assert judged[1].lower == Pair(pair=(str(4 * (2**62 + 2)), 8))
    on_it = judged_stability(rows, boundary={"kind": "sign", "at": str(2**61 + 1)})
    assert faults(on_it) == [Fault.BOUNDARY_IN_ENVELOPE]


def test_a_success_rate_of_thousands_of_cases_is_exact() -> None:
    """agent_eval: 0 or 1 in each run, so contrasts of -1, 0 and 1 before scaling."""
    rows: Rows = [
        {"off": [1, 1] if place % 3 else [0, 1], "on": [1, 0] if place % 5 == 0 else [1, 1]}
        for place in range(1200)
    ]
    findings, analysis = judged_stability(rows, boundary={"kind": "equivalence", "delta": 1})
    assert findings == ()
    assert analysis.subjects == 1200
    assert equal(analysis.estimate, 200 - 120, 1200)


def test_money_values_of_75_profiles_are_exact() -> None:
    rows = switches([(place * 7919) % 400 - 40 for place in range(75)])
    findings, analysis = judged_stability(rows)
    assert findings == ()
    _, drawn = judged_stability(rows, **MC)
    for exact, ends in ((analysis.lower, drawn.lower_envelope), (analysis.upper, drawn.upper_envelope)):
        assert ends is not None
        low, high = map(ratio, ends)
        assert compare(low, ratio(exact)) <= 0 <= compare(high, ratio(exact))


def test_an_exact_distribution_beyond_the_limit_is_too_much_work_and_no_error() -> None:
    findings, analysis = judged_stability(switches([10**15 + place**9 for place in range(40)]))
    assert [finding.fault for finding in findings] == [Fault.TOO_MUCH_WORK]
    assert analysis.estimate is not None
    assert (analysis.lower, analysis.upper) == (None, None)
