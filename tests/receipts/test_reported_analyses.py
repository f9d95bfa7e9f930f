"""What a report bundle says of C1 and C3, held against what comes out again."""

from __future__ import annotations

from typing import Any

import pytest

from agentbeat_receipts.analyses import judge_direction
from agentbeat_receipts.claims import Fault
from agentbeat_receipts.objects import Pair
from support.claim_cells import (
    SEED,
    cells_of,
    direction,
    faults,
    judged_direction,
    judged_stability,
    promised,
    reported,
    steps,
    switches,
)

#: 8 contrasts with the mean 308/8 and the 1/20 quantile 298/8.
DIRECTION = (35, 36, 38, 39, 39, 39, 41, 41)
#: 10 contrasts with the mean 285/10 and the quantiles 270/10 and 301/10.
STABILITY = (25, 26, 26, 27, 28, 28, 29, 31, 32, 33)
MC = {"estimator": "mc", "seed": SEED, "draws": 2000}


def test_what_a_direction_s_report_says_rightly_in_other_terms_is_no_finding() -> None:
    report = reported(8, estimate=Pair(pair=(77, 2)), lower=Pair(pair=(149, 4)))
    assert judged_direction(steps(DIRECTION), report)[0] == ()


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
def test_a_direction_s_report_that_says_otherwise_is_found(said: dict[str, Any], fault: Fault) -> None:
    report = reported(**{"subjects": 8, **said})
    judged = judged_direction(steps(DIRECTION), report)
    assert faults(judged) == [fault]
    assert judged[1] == judged_direction(steps(DIRECTION))[1]


def test_a_report_is_held_against_what_could_be_computed_only() -> None:
    """A withheld cell leaves nothing to contradict; how the analysis was made is known all the same."""
    contract = direction()
    rows = steps((5, 6, 7, 8))
    cells = cells_of(rows)
    del cells["p-0", "low"]
    said = reported(5, estimate=Pair(pair=(26, 4)), lower=Pair(pair=(22, 4)), draws=7)
    findings, _ = judge_direction(contract, promised(contract, rows), cells, said)
    assert [finding.fault for finding in findings] == [
        Fault.CELL_EMPTY,
        Fault.ANALYSIS_CONTRADICTS_CONTRACT,
        Fault.SUBJECTS_DIFFER,
    ]


def test_what_a_stability_s_report_says_rightly_in_other_terms_is_no_finding() -> None:
    said = {"estimate": Pair(pair=(57, 2)), "lower": Pair(pair=(27, 1)), "upper": Pair(pair=(301, 10))}
    assert judged_stability(switches(STABILITY), reported(10, **said))[0] == ()


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
def test_a_stability_s_report_that_says_otherwise_is_found(said: dict[str, Any], fault: Fault) -> None:
    report = reported(**{"subjects": 10, "seed": SEED, "draws": 2000, **said})
    judged = judged_stability(switches(STABILITY), report, **MC)
    assert faults(judged) == [fault]
    assert judged[0][0].subject == "contract"
