"""A mean may be held against an exact ratio: "equal utility" within ten points, "falls by more than ten"."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_protocol import ProtocolError
from agentbeat_receipts.claims import Fault
from agentbeat_receipts.objects import Pair, read_document, write_document
from agentbeat_receipts.reports.wording import analysis_lines
from agentbeat_receipts.verification import Verdict
from support.claim_batches import batch, direction, judged, kiosk_manifest, stability
from support.claim_cells import (
    SEED,
    Judged,
    Rows,
    faults,
    judged_direction,
    judged_stability,
    promised,
    ratio,
    switches,
)
from support.claim_cells import stability as contract
from support.receipt_batches import deliveries
from support.streamed import compared

#: How the bootstrap is made.
ESTIMATORS: dict[str, dict[str, Any]] = {
    "exact": {},
    "mc": {"estimator": "mc", "seed": SEED, "draws": 400},
}
estimators = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def quotient(numerator: int, denominator: int) -> dict[str, Any]:
    return {"pair": (numerator, denominator)}


def within(numerator: int, denominator: int) -> dict[str, Any]:
    return {"kind": "equivalence", "delta": quotient(numerator, denominator)}


def beyond(numerator: int, denominator: int) -> dict[str, Any]:
    return {"kind": "sign", "at": quotient(numerator, denominator)}


def losing(lost: int, cases: int = 12) -> Rows:
    """Two runs of each case under each arm: some cases lose all utility."""
    return [{"off": [1, 1], "on": [0, 0] if place < lost else [1, 1]} for place in range(cases)]


@estimators
def test_who_loses_utility_is_not_of_equal_utility(estimator: dict[str, Any]) -> None:
    def tried(lost: int, **boundary: Any) -> list[Fault]:
        return faults(judged_stability(losing(lost), **boundary, **estimator))

    assert tried(0, boundary=within(1, 10)) == []
    assert [bool(tried(lost, boundary=within(1, 10))) for lost in range(1, 13)] == [True] * 12
    # With an integer, a loss in five of twelve cases is none.
    assert tried(5, boundary={"kind": "equivalence", "delta": 1}) == []


@estimators
@pytest.mark.parametrize(("sign", "end"), [(1, "upper"), (-1, "lower")], ids=["above", "below"])
def test_equivalence_is_strict_at_the_very_ratio(estimator: dict[str, Any], sign: int, end: str) -> None:
    """Contrasts of 1/2 in every case: every resample is 1/2."""
    rows = [{"off": [0, 0], "on": [0, sign]} for _ in range(4)]
    for boundary, expected in (
        (within(5001, 10_000), []),
        (within(1, 2), [Fault.BOUNDARY_IN_ENVELOPE]),
        (within(50, 100), [Fault.BOUNDARY_IN_ENVELOPE]),
        (within(4999, 10_000), [Fault.INTERVAL_CROSSES]),
    ):
        findings, analysis = found = judged_stability(rows, boundary=boundary, **estimator)
        assert faults(found) == expected
        assert getattr(analysis, end) == Pair(pair=(sign * 4, 8))
        if expected:
            numerator, denominator = boundary["delta"]["pair"]
            assert findings[0].detail.endswith(f"expected strictly inside ±{numerator}/{denominator}")


@estimators
@pytest.mark.parametrize("at", [(1, 2), (-1, 2)], ids=["positive", "negative"])
def test_a_sign_is_strict_at_the_very_ratio(estimator: dict[str, Any], at: tuple[int, int]) -> None:
    rows = [{"off": [0, 0], "on": [0, at[0]]} for _ in range(4)]
    for numerator, denominator, expected in (
        (3 * at[0], 6, [Fault.BOUNDARY_IN_ENVELOPE]),
        (at[0] * 5001, 10_000, []),
        (at[0] * 4999, 10_000, []),
    ):
        found = judged_stability(rows, boundary=beyond(numerator, denominator), **estimator)
        assert faults(found) == expected


@estimators
@pytest.mark.parametrize(("direction", "sign"), [("increasing", 1), ("decreasing", -1)])
def test_a_direction_is_strict_at_the_very_ratio(
    estimator: dict[str, Any], direction: str, sign: int
) -> None:
    """Attack success falls from 1 to 1/2 in every case: by 50 points, so by more than 10 and 49."""
    rows = [{"low": [2, 2], "middle": [2, 2], "high": [2, 2 + sign]} for _ in range(4)]

    def tried(numerator: int, denominator: int) -> Judged:
        threshold = quotient(numerator, denominator)
        return judged_direction(rows, direction=direction, threshold=threshold, **estimator)

    assert faults(tried(1, 10)) == []
    assert faults(tried(4999, 10_000)) == []
    assert faults(tried(1, 2)) == [Fault.BOUNDARY_IN_ENVELOPE]
    findings, _ = crossed = tried(51, 100)
    assert faults(crossed) == [Fault.BOUND_NOT_BEYOND]
    where = "above 51/100" if sign > 0 else "below -51/100"
    assert findings[0].detail == f"bound {4 * sign}/8, expected wholly {where}"


@estimators
@pytest.mark.parametrize("kind", [within, beyond], ids=["equivalence", "sign"])
@given(st.lists(st.integers(-9, 9), min_size=4, max_size=6), st.integers(-40, 40), st.integers(1, 12))
@settings(max_examples=60)
def test_a_ratio_decides_as_its_numerator_does_of_values_times_its_denominator(
    kind: Callable[[int, int], dict[str, Any]],
    estimator: dict[str, Any],
    contrasts: Sequence[int],
    numerator: int,
    denominator: int,
) -> None:
    scaled = switches([denominator * contrast for contrast in contrasts])
    whole = (
        {"kind": "equivalence", "delta": numerator} if kind is within else {"kind": "sign", "at": numerator}
    )
    expected = faults(judged_stability(scaled, boundary=whole, **estimator))
    own = kind(numerator, denominator)
    assert faults(judged_stability(switches(contrasts), boundary=own, **estimator)) == expected
    unreduced = kind(7 * numerator, 7 * denominator)
    assert faults(judged_stability(switches(contrasts), boundary=unreduced, **estimator)) == expected


@estimators
@given(st.lists(st.integers(-9, 9), min_size=4, max_size=6), st.integers(-40, 40), st.integers(1, 12))
@settings(max_examples=60)
def test_a_threshold_does_so_too(
    estimator: dict[str, Any], contrasts: Sequence[int], numerator: int, denominator: int
) -> None:
    def rows(scale: int) -> Rows:
        return [{"low": [0], "middle": [0], "high": [scale * contrast]} for contrast in contrasts]

    whole = judged_direction(rows(denominator), threshold=numerator, **estimator)
    own = judged_direction(rows(1), threshold=quotient(numerator, denominator), **estimator)
    assert faults(own) == faults(whole)


@estimators
def test_a_stream_decides_at_the_very_ratio_as_memory_does(estimator: dict[str, Any]) -> None:
    def tried(threshold: Any, delta: Any) -> dict[str, tuple[Verdict, Any]]:
        contracts = (
            direction(threshold=threshold, **estimator),
            stability(boundary={"kind": "equivalence", "delta": delta}, **estimator),
        )
        made = batch(manifest=kiosk_manifest(contracts=contracts))
        expected, got = compared(deliveries(made.documents()))
        assert got == expected
        report = judged(made)
        return {name: (report.claim(name).verdict, report.claim(name).analyses[0]) for name in ("C1", "C3")}

    plain = tried(-(2**40), 2**40)
    assert [verdict for verdict, _ in plain.values()] == [Verdict.PASS, Verdict.PASS]
    bound = plain["C1"][1].lower_envelope[0]
    ends = [plain["C3"][1].lower_envelope[0], plain["C3"][1].upper_envelope[1]]
    far = max((ratio(end) for end in ends), key=lambda end: abs(end.numerator))
    for more, expected in ((-1, Verdict.PASS), (0, Verdict.NO_EVIDENCE), (1, Verdict.NO_EVIDENCE)):
        low = quotient(100 * ratio(bound).numerator + more, 100 * ratio(bound).denominator)
        wide = quotient(100 * abs(far.numerator) - more, 100 * far.denominator)
        assert [verdict for verdict, _ in tried(low, wide).values()] == [expected, expected]


def test_a_manifest_with_integers_has_the_bytes_that_it_had() -> None:
    wire = json.loads(
        promised(contract(boundary={"kind": "equivalence", "delta": 2}), switches((1, 2))).canonical()
    )
    assert wire["contracts"][0]["boundary"] == {"kind": "equivalence", "delta": 2}


def test_a_ratio_is_kept_unreduced_and_is_another_contract_than_its_equal() -> None:
    digests = set()
    for delta in (1, quotient(1, 1), quotient(10, 10), quotient(1, 10), quotient(10, 100)):
        made = promised(contract(boundary={"kind": "equivalence", "delta": delta}), switches((1, 2)))
        kept = json.loads(made.canonical())["contracts"][0]["boundary"]["delta"]
        assert kept == (delta if isinstance(delta, int) else {"pair": list(delta["pair"])})
        digests.add(made.digest())
    assert len(digests) == 5


@pytest.mark.parametrize(
    "delta",
    [
        pytest.param({"pair": [1, 0]}, id="over nothing"),
        pytest.param({"pair": [1, -10]}, id="over less than nothing"),
        pytest.param({"pair": [1]}, id="one number"),
        pytest.param({"pair": [1, 2, 3]}, id="three numbers"),
        pytest.param({"pair": [1, 10], "more": 1}, id="a member more"),
        pytest.param({"pair": ["0.1", 1]}, id="a decimal in it"),
        pytest.param({"null": "none"}, id="a null"),
        pytest.param("0.1", id="a decimal"),
        pytest.param("1/10", id="a text"),
    ],
)
def test_what_is_no_exact_ratio_is_refused(delta: Any) -> None:
    wire = json.loads(write_document(batch().manifest))
    (stable,) = [made for made in wire["body"]["contracts"] if made["claim"] == "C3"]
    stable["boundary"] = {"kind": "equivalence", "delta": {"pair": [1, 10]}}
    read_document(json.dumps(wire).encode())
    stable["boundary"] = {"kind": "equivalence", "delta": delta}
    with pytest.raises(ProtocolError) as caught:
        read_document(json.dumps(wire).encode())
    assert len(str(caught.value)) < 400


def test_reports_show_the_ratio_as_it_was_promised() -> None:
    made = contract(boundary=within(10, 100))
    _, analysis = judged_stability(losing(0), boundary=within(10, 100))
    lines = dict(analysis_lines(analysis, promised(made, losing(0))))
    assert lines["±delta"] == Pair(pair=(10, 100))
