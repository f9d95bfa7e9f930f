"""C4: every number of the report comes out again, and none that was promised is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentbeat_receipts.claims import ClaimFinding, Fault, Group, Tally
from agentbeat_receipts.claims.accounting import accounting_findings, promised_runs
from agentbeat_receipts.claims.settling import settle
from agentbeat_receipts.objects import Document, ReportBundle, ReportedAnalysis, ReportedCell
from agentbeat_receipts.verification import ChainReport
from support.claim_batches import Making, batch, kiosk_manifest, unopened
from support.kiosk import KIOSK, Kiosk, components
from support.receipt_batches import Parts, verified

RUN = "v-1.capped.1"
OTHER = "sha256:" + "e" * 64
CELL = "v-1/capped/surplus"


def chain_of(parts: Parts | None = None, **making: Any) -> ChainReport:
    return verified(batch(Making(**making)) if parts is None else parts)


def found(
    chain: ChainReport, *, domain: Any = KIOSK, removed: str = "", **options: Any
) -> list[ClaimFinding]:
    groups = frozenset(map(Group, removed))
    report = options.get("report", chain.report)
    sums = options["tally"] if "tally" in options else settle(chain, domain, removed=groups)
    return list(accounting_findings(chain.manifest, report, sums, domain, removed=groups))


def reported(chain: ChainReport, **changes: Any) -> ReportBundle:
    """The report with its cell of CELL changed."""
    assert chain.report is not None
    cells = [
        c.model_copy(update=changes) if (c.profile, c.arm, c.value) == ("v-1", "capped", "surplus") else c
        for c in chain.report.cells
    ]
    return chain.report.model_copy(update={"cells": tuple(cells)})


def without_cells(chain: ChainReport, *, value: str, complete: bool) -> ReportBundle:
    assert chain.report is not None
    kept = tuple(cell for cell in chain.report.cells if cell.value != value)
    return chain.report.model_copy(update={"cells": kept, "complete": complete})


def test_an_honest_report_accounts_for_every_run() -> None:
    assert found(chain_of()) == []


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({"sum": 41}, "(41, 2) and 0 nulls"),
        ({"count": 1}, "(40, 1) and 0 nulls"),
        ({"count": 1, "nulls": {"unsold": 1}}, "(40, 1) and 1 nulls"),
        ({"sum": str(2**60)}, f"({2**60}, 2) and 0 nulls"),
    ],
    ids=["sum", "count", "a run as a null", "a sum as a decimal string"],
)
def test_a_cell_that_does_not_come_out_again_differs(changes: Any, got: str) -> None:
    chain = chain_of()
    detail = f"got {got}, expected (40, 2) and 0 nulls"
    assert found(chain, report=reported(chain, **changes)) == [ClaimFinding(Fault.CELL_DIFFERS, CELL, detail)]


def test_nulls_are_accounted_for_by_reason() -> None:
    # Ratios of visitors who never buy are all nulls, so that their cells are promised; the others are pairs.
    chain = chain_of()
    assert chain.report is not None
    nulls = [cell for cell in chain.report.cells if cell.value == "ratio"]
    assert {(cell.profile, cell.sum, cell.count, *cell.nulls.items()) for cell in nulls} == {
        ("v-5", 0, 0, ("unsold", 2))
    }
    renamed = [
        c if c.value != "ratio" else c.model_copy(update={"nulls": {"mood": 2}}) for c in chain.report.cells
    ]
    findings = found(chain, report=chain.report.model_copy(update={"cells": tuple(renamed)}))
    assert [(f.fault, f.subject) for f in findings] == [
        (Fault.CELL_DIFFERS, "v-5/free/ratio"),
        (Fault.CELL_DIFFERS, "v-5/capped/ratio"),
    ]


@pytest.mark.parametrize(
    ("complete", "fault"), [(True, Fault.CELL_MISSING), (False, Fault.CELL_MISSING_AS_SAID)]
)
def test_a_promised_cell_is_missing_as_said_or_not(complete: bool, fault: Fault) -> None:
    chain = chain_of()
    findings = found(chain, report=without_cells(chain, value="margin", complete=complete))
    assert len(findings) == 10
    assert {f.fault for f in findings} == {fault}


def test_an_incomplete_report_with_every_cell_passes() -> None:
    chain = chain_of(complete=False)
    assert chain.report is not None
    assert not chain.report.complete
    assert found(chain) == []


@pytest.mark.parametrize(
    ("profile", "arm", "value"),
    [("v-9", "free", "sale"), ("v-1", "none", "sale"), ("v-1", "free", "mood"), ("v-1", "free", "ratio")],
    ids=["profile", "arm", "value", "a value that is not summed"],
)
def test_a_cell_that_was_not_promised_is_one_too_many(profile: str, arm: str, value: str) -> None:
    chain = chain_of()
    assert chain.report is not None
    extra = ReportedCell(profile=profile, arm=arm, value=value, sum=0, count=2, nulls={})
    report = chain.report.model_copy(update={"cells": (*chain.report.cells, extra)})
    findings = found(chain, report=report)
    assert [(f.fault, f.subject) for f in findings] == [(Fault.CELL_UNPROMISED, f"{profile}/{arm}/{value}")]


def test_an_analysis_without_its_contract_was_not_promised() -> None:
    said = ReportedAnalysis(
        contract="afterwards",
        subjects=5,
        seed=None,
        draws=None,
        input_order="manifest",
        estimate=None,
        lower=None,
        upper=None,
    )
    assert [(f.fault, f.subject) for f in found(chain_of(analyses=(said,)))] == [
        (Fault.CELL_UNPROMISED, "afterwards")
    ]


def test_a_cell_with_a_missing_run_is_not_compared() -> None:
    chain = chain_of(unopened(batch(), RUN))
    findings = found(chain, report=reported(chain, sum=99))
    assert {f.fault for f in findings} == {Fault.TRANSACTION_UNDETERMINED}
    assert {f.subject for f in findings} == {"replay", "sale", "surplus", "margin", "ratio"}


def test_another_cell_is_compared_all_the_same() -> None:
    chain = chain_of(unopened(batch(), "v-2.free.1"))
    faults = {f.fault for f in found(chain, report=reported(chain, sum=99))}
    assert faults == {Fault.TRANSACTION_UNDETERMINED, Fault.CELL_DIFFERS}


def test_without_the_report_there_is_nothing_to_account_for() -> None:
    assert found(chain_of(), report=None) == [ClaimFinding(Fault.REPORT_ABSENT)]


def test_a_scorer_other_than_its_arms_is_found_wherever_it_is() -> None:
    off = {"components": components(scorer=OTHER)}
    material = {"materials": {"catalogue": {"cost": 40}}}
    chain = chain_of(disclosed={RUN: off}, members={RUN: material}, manifest=kiosk_manifest())
    scorers = [f for f in found(chain) if f.fault is Fault.SCORER_DIFFERS]
    assert scorers == [ClaimFinding(Fault.SCORER_DIFFERS, "capped", "1 of 10 receipts")]


def test_a_scorer_that_is_not_named_shows_nothing() -> None:
    chain = chain_of(disclosed={RUN: {"components": components(scorer=None)}})
    assert found(chain) == [ClaimFinding(Fault.COMPONENT_MISSING, "capped", "scorer: 1 of 10 receipts")]


def test_a_refuted_claim_reaches_the_account_with_its_reason() -> None:
    chain = chain_of(members={RUN: {"reported": {"margin": 1}}})
    detail = "1 of 20: value_contradicts_replay"
    assert found(chain) == [ClaimFinding(Fault.TRANSACTION_REFUTED, "margin", detail)]


def test_fidelity_does_not_feed_the_account() -> None:
    chain = chain_of(members={RUN: {"reported": {"capping": 7}}})
    assert settle(chain, KIOSK).claims["capping"].faults.total() == 1
    assert found(chain) == []


def test_cells_of_a_fidelity_claim_are_compared_where_each_of_its_runs_came_out() -> None:
    told = kiosk_manifest(disclosed=("capping",), contracts=())
    honest = {e.assignment: {"values": {"capping": int(e.arm == "capped")}} for e in told.assignments}
    chain = chain_of(manifest=told, disclosed=honest)
    assert found(chain) == []
    assert {f.fault for f in found(chain, removed="G")} == set()
    lying = {**honest, RUN: {"values": {"capping": 0}}}
    findings = found(chain_of(manifest=told, disclosed=lying))
    assert [(f.fault, f.subject) for f in findings] == [(Fault.CELL_DIFFERS, "v-1/capped/capping")]


def test_values_that_do_not_add_up_break_the_identity() -> None:
    findings = found(chain_of(), domain=Kiosk(unsound="margin without a sale"))
    assert [f for f in findings if f.subject] == [
        ClaimFinding(Fault.IDENTITY_BROKEN, f"v-1.{run}", "margin without a sale")
        for run in ("capped.1", "capped.2", "free.1")
    ]
    assert ClaimFinding(Fault.IDENTITY_BROKEN, "", "20 transactions", 20) in findings


def test_receipts_that_disclose_other_values_than_promised_are_not_accounted_for() -> None:
    chain = chain_of(disclosed={RUN: {"values": {}}})
    findings = found(chain, report=chain_of().report)
    detail = "disclosed or promised only: margin, ratio, sale, surplus"
    assert findings == [ClaimFinding(Fault.DISCLOSURE_DIFFERS, RUN, detail)]


def test_a_promised_value_that_the_domain_does_not_claim_cannot_be_computed_again() -> None:
    promised = kiosk_manifest(disclosed=("sale", "surplus", "margin", "ratio", "mood"))
    findings = found(chain_of(manifest=promised), tally=settle(chain_of(), KIOSK))
    assert findings == [ClaimFinding(Fault.EVIDENCE_ABSENT, "mood", "no claim of kiosk")]


def test_an_unknown_domain_accounts_for_nothing() -> None:
    assert found(chain_of(), domain=None) == [
        ClaimFinding(Fault.DOMAIN_UNKNOWN, "", "no domain to replay with")
    ]


def test_without_a_manifest_there_is_no_evidence() -> None:
    findings = list(accounting_findings(None, None, Tally(), KIOSK))
    assert [f.detail for f in findings][:2] == ["A, assignment", "Q, protocol"]
    assert {f.fault for f in findings} == {Fault.EVIDENCE_ABSENT, Fault.TRANSACTION_UNDETERMINED}


@pytest.mark.parametrize("group", sorted(Group))
def test_it_needs_the_groups_that_it_declares(group: Group) -> None:
    # Completeness, which I is for, is the chain's to say.
    expected = group in KIOSK.needs["C4"] and group is not Group.I
    assert bool(found(chain_of(), removed=group)) is expected


def test_promised_runs_are_counted_over_the_whole_matrix() -> None:
    runs = promised_runs(kiosk_manifest())
    assert runs.total() == 20
    assert set(runs.values()) == {2}


def test_the_report_that_was_delivered_is_the_one_that_is_judged() -> None:
    parts = batch()
    assert isinstance(parts.report.body, ReportBundle)
    short = replace(parts, report=Document(body=parts.report.body.model_copy(update={"cells": ()})))
    assert {f.fault for f in found(chain_of(short))} == {Fault.CELL_MISSING}
