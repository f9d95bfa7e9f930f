"""Every reason that the engine itself gives: a batch for each, with the claim and the verdict it leads to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentbeat_receipts.claims import FAULT_RULES, ClaimFinding, Fault, Licence
from agentbeat_receipts.objects import Arm, ReportedCell
from agentbeat_receipts.verification import Verdict
from support.claim_batches import batch, judged, kiosk_manifest, unopened
from support.claim_faults import (
    LAST,
    OTHER,
    RUN,
    SILENT,
    flipped,
    no_decision,
    other_profile,
    other_scorer,
    other_trace,
    shadowed,
    values,
    withheld,
)
from support.kiosk import MATERIALS, Kiosk, components
from support.receipt_batches import Parts

#: What the analyses of C1 and C3 say, and a domain of guardrails, injections and policies; tested there.
ELSEWHERE = {
    Fault.ANALYSIS_CONTRADICTS_CONTRACT,
    Fault.SUBJECTS_DIFFER,
    Fault.ANALYSIS_DIFFERS,
    Fault.VALUE_IS_NULL,
    Fault.VALUE_IS_NO_INTEGER,
    Fault.TOO_FEW_PROFILES,
    Fault.CELL_EMPTY,
    Fault.TOO_MUCH_WORK,
    Fault.NOT_MONOTONE,
    Fault.BOUND_NOT_BEYOND,
    Fault.BOUNDARY_IN_ENVELOPE,
    Fault.TOO_FEW_REPLICATES,
    Fault.INTERVAL_CROSSES,
    Fault.VARIANCE_ABOVE,
    Fault.DECISION_REPEATED,
    Fault.APPLIED_WHILE_OFF,
    Fault.ENFORCEMENT_DIFFERS,
    Fault.INJECTION_DIFFERS,
    Fault.NOT_OBSERVED,
    Fault.POLICY_SILENT,
}


def materials(**changes: Any) -> Parts:
    return batch(members={RUN: {"materials": {**MATERIALS, **changes}}})


def component(**changes: Any) -> Parts:
    return batch(disclosed={RUN: {"components": components(**changes)}})


def arms_apart() -> Parts:
    arms = [
        Arm(arm="free", components=components(model=OTHER), treatments=()),
        Arm(arm="capped", components=components(), treatments=("cap",)),
    ]
    manifest = kiosk_manifest(arms=tuple(arms))
    ran = {
        entry.assignment: {"components": components(model=OTHER)}
        for entry in manifest.assignments
        if entry.arm == "free"
    }
    return batch(manifest=manifest, disclosed=ran)


def without_scorer() -> Parts:
    return batch(members={RUN: {"materials": {n: m for n, m in MATERIALS.items() if n != "scorer"}}})


def unreported() -> Parts:
    parts = batch()
    return _Unreported(**vars(parts))


class _Unreported(Parts):
    def documents(self) -> list[Any]:
        return [document for document in super().documents() if document is not self.report]


def extra_cell(cells: tuple[ReportedCell, ...]) -> tuple[ReportedCell, ...]:
    return (*cells, ReportedCell(profile="v-1", arm="free", value="mood", sum=0, count=2, nulls={}))


def other_cell(cells: tuple[ReportedCell, ...]) -> tuple[ReportedCell, ...]:
    return (cells[0].model_copy(update={"count": 3}), *cells[1:])


def cut_short(cells: tuple[ReportedCell, ...]) -> tuple[ReportedCell, ...]:
    return cells[1:]


#: The batch, the claim, and where the reason is found.
WITNESSES: dict[Fault, tuple[Callable[[], Parts], str, str]] = {
    Fault.INTEGRITY_INVALID: (lambda: flipped(batch()), "C2", ""),
    Fault.TERMINALS_MISSING: (lambda: withheld(batch(), LAST), "C4", ""),
    Fault.RETRIES_INVALID: (lambda: shadowed(manifest=SILENT), "C3", RUN),
    Fault.EVIDENCE_ABSENT: (lambda: unopened(batch(), RUN), "sale", RUN),
    Fault.EVIDENCE_MALFORMED: (without_scorer, "surplus", RUN),
    Fault.DOMAIN_UNKNOWN: (lambda: batch(manifest=kiosk_manifest(domain="market")), "C4", ""),
    Fault.DOMAIN_DIFFERS: (lambda: batch(members={RUN: {"domain": "market"}}), "sale", RUN),
    Fault.MATERIAL_CONTRADICTS_COMPONENT: (lambda: materials(chooser={"rule": "never"}), "sale", RUN),
    Fault.MATERIAL_CONTRADICTS_MANIFEST: (lambda: materials(catalogue={"cost": 41}), "margin", RUN),
    Fault.STAGE_CONTRADICTS_REPLAY: (
        lambda: batch(members={RUN: {"attempts": batch_attempts(parsed={"price": 91})}}),
        "sale",
        RUN,
    ),
    Fault.VALUE_CONTRADICTS_REPLAY: (lambda: batch(disclosed=values(surplus=21)), "surplus", RUN),
    Fault.DISCLOSURE_DIFFERS: (lambda: batch(disclosed=values(mood=1)), "C4", RUN),
    Fault.DECISION_MISSING: (no_decision, "capping", RUN),
    Fault.TRANSACTION_REFUTED: (other_trace, "C1", "replay"),
    Fault.TRANSACTION_UNDETERMINED: (lambda: unopened(batch(), RUN), "C3", "margin"),
    Fault.CONTRACT_ABSENT: (lambda: batch(manifest=SILENT), "C1", ""),
    Fault.PROFILE_DIFFERS: (other_profile, "C3", "v-1"),
    Fault.COMPONENT_DIFFERS: (lambda: component(model=OTHER), "C2", "capped"),
    Fault.ARMS_DIFFER: (arms_apart, "C2", "cap"),
    Fault.COMPONENT_MISSING: (lambda: component(model=None), "C2", "capped"),
    Fault.ARM_EMPTY: (
        lambda: withheld(batch(), *(name for name in batch().receipts if ".free." in name)),
        "C2",
        "free",
    ),
    Fault.SCORER_DIFFERS: (other_scorer, "C4", "free"),
    Fault.REPORT_ABSENT: (unreported, "C4", ""),
    Fault.CELL_MISSING: (lambda: batch(report=cut_short), "C4", "v-1/free/sale"),
    Fault.CELL_MISSING_AS_SAID: (lambda: batch(report=cut_short, complete=False), "C4", "v-1/free/sale"),
    Fault.CELL_UNPROMISED: (lambda: batch(report=extra_cell), "C4", "v-1/free/mood"),
    Fault.CELL_DIFFERS: (lambda: batch(report=other_cell), "C4", "v-1/free/sale"),
}


def batch_attempts(**offer: Any) -> tuple[Any, ...]:
    """RUN's attempts with another offer stage."""
    body = batch().openings[RUN].body
    (last,) = body.attempts  # type: ignore[attr-defined]
    stages = last.offers[0].model_copy(update=offer)
    return (last.model_copy(update={"offers": (stages,)}),)


@pytest.mark.parametrize("fault", WITNESSES)
def test_a_reason_leads_to_its_verdict(fault: Fault) -> None:
    make, claim, subject = WITNESSES[fault]
    verdict = judged(make()).claim(claim)
    assert (fault, subject) in {(finding.fault, finding.subject) for finding in verdict.findings}
    assert verdict.verdict is FAULT_RULES[fault].verdict
    assert verdict.verdict is not Verdict.PASS


def test_values_that_are_no_account_refute_the_account_only() -> None:
    report = judged(batch(), domain=Kiosk(unsound="margin without a sale"))
    invalid = {claim.claim for claim in report.claims if claim.verdict is Verdict.INVALID}
    assert invalid == {"C4"}
    assert ClaimFinding(Fault.IDENTITY_BROKEN, "", "20 transactions", 20) in report.claim("C4").findings


def test_a_profile_that_differs_between_its_runs_refutes_the_account_without_any_contract() -> None:
    report = judged(other_profile(manifest=SILENT))
    finding = ClaimFinding(Fault.PROFILE_DIFFERS, "v-1", "another content in another run")
    assert finding in report.claim("C4").findings
    verdicts = {claim.claim: claim.verdict for claim in report.claims}
    assert (verdicts["C1"], verdicts["C3"]) == (Verdict.NO_CONTRACT, Verdict.NO_CONTRACT)
    assert {claim for claim, verdict in verdicts.items() if verdict is Verdict.INVALID} == {"C4"}
    assert report.licences.granted is Licence.NONE


def test_every_reason_of_the_engine_has_its_witness() -> None:
    assert {*WITNESSES, Fault.IDENTITY_BROKEN} == set(Fault) - ELSEWHERE


def test_an_honest_batch_has_no_reason() -> None:
    assert [finding for claim in judged(batch()).claims for finding in claim.findings] == []
