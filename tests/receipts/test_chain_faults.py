"""Each fault of layers 1 and 3 has its verdicts and its reasons."""

from __future__ import annotations

import pytest

from agentbeat_receipts.verification import RULES, Reason, Scope
from support.chain_faults import FAULTS
from support.receipt_batches import verified


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_layer_verdicts_and_reasons(name: str) -> None:
    fault = FAULTS[name]
    report = verified(fault.make())
    found = {reason for reason in report.reasons if RULES[reason].scope is not Scope.NOTE}
    assert found == fault.reasons
    verdicts = (report.integrity, report.coverage, report.openings, report.retries)
    assert verdicts == (fault.integrity, fault.coverage, fault.openings, fault.retries)
    assert fault.layer in {RULES[reason].layer for reason in found}


def test_every_reason_has_a_fault() -> None:
    # No changes to a batch, but to what surrounds it: see `test_chain_inputs` and `test_anchored_chains`.
    of_inputs = {
        Reason.OBJECT_UNREADABLE,
        Reason.ANCHOR_MISSING,
        Reason.OPENING_SEALED,
        Reason.MANIFEST_AMBIGUOUS,
        Reason.SET_ASIDE,
        *(reason for reason in Reason if reason.startswith("anchor_") and reason is not Reason.ANCHOR_LATE),
    }
    assert set().union(of_inputs, *(fault.reasons for fault in FAULTS.values())) == set(Reason)
    assert RULES.keys() == set(Reason)
    assert {fault.timing for fault in FAULTS.values()} == {"pre_commitment", "post_commitment"}
