"""C1 and C3 of a batch: its contracts, each analysed over the cells of its outcome, all of which must hold.

A contract is analysed only over whole cells. Where a run is missing or undetermined the numbers would be
those of a favourable part, so none is given; what the report says of how its numbers were made, such as its
seed, is held against the contract all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from agentbeat_receipts.analyses.directions import judge_direction
from agentbeat_receipts.analyses.stabilities import judge_stability
from agentbeat_receipts.claims.accounting import promised_runs, whole_cell
from agentbeat_receipts.claims.domains import Domain
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.claims.readings import completeness_findings, retries_refuted
from agentbeat_receipts.claims.results import Analysis, ClaimFinding
from agentbeat_receipts.claims.tallies import Cell, ClaimTally, Tally
from agentbeat_receipts.claims.transactions import profile_findings, resting_findings
from agentbeat_receipts.objects import Contract, DirectionContract, Manifest, ReportedAnalysis
from agentbeat_receipts.objects.manifests import contract_arms
from agentbeat_receipts.verification.results import ChainReport

__all__ = ["contract_findings"]

#: What an analysis says without looking at a cell.
_WITHOUT_CELLS: Final = frozenset(
    {Fault.ANALYSIS_CONTRADICTS_CONTRACT, Fault.SUBJECTS_DIFFER, Fault.TOO_FEW_PROFILES}
)


def contract_findings(
    claim: Literal["C1", "C3"],
    chain: ChainReport,
    tally: Tally,
    domain: Domain | None,
    *,
    removed: frozenset[Group] = frozenset(),
) -> tuple[list[ClaimFinding], tuple[Analysis, ...]]:
    """Everything that speaks against C1 or C3, and the numbers of its contracts."""
    contracts = _contracts(claim, chain.manifest, removed)
    findings: list[ClaimFinding] = []
    if contracts or claim == "C3":
        findings += retries_refuted(chain)
    if chain.manifest is None or not contracts:
        return [*findings, ClaimFinding(Fault.CONTRACT_ABSENT, "", f"no contract for {claim}")], ()
    outcomes = sorted({contract.outcome for contract in contracts})
    findings += completeness_findings(chain, removed=removed)
    findings += resting_findings(tally, domain, outcomes)
    findings += profile_findings(tally)
    absent = [group for group in (Group.A, Group.R) if group in removed]
    if absent:
        findings += (ClaimFinding(Fault.EVIDENCE_ABSENT, "", f"{group}, {group.label}") for group in absent)
        return findings, ()
    analyses: list[Analysis] = []
    for contract in contracts:
        found, analysis = _analysed(contract, chain.manifest, tally, _reported(contract, chain, removed))
        findings += found
        if analysis is not None:
            counted = tally.claims.get(contract.outcome, ClaimTally())
            analyses.append(replace(analysis, weaker=dict(sorted(counted.weaker.items()))))
    return findings, tuple(analyses)


def _contracts(claim: str, manifest: Manifest | None, removed: frozenset[Group]) -> tuple[Contract, ...]:
    """The contracts of a claim. Those of C1 are the group J, those of C3 are in R."""
    if manifest is None or (Group.J if claim == "C1" else Group.R) in removed:
        return ()
    return tuple(contract for contract in manifest.contracts if contract.claim == claim)


def _reported(contract: Contract, chain: ChainReport, removed: frozenset[Group]) -> ReportedAnalysis | None:
    if chain.report is None or Group.B in removed:
        return None
    return next((said for said in chain.report.analyses if said.contract == contract.contract), None)


def _analysed(
    contract: Contract, manifest: Manifest, tally: Tally, reported: ReportedAnalysis | None
) -> tuple[tuple[ClaimFinding, ...], Analysis | None]:
    arms = contract_arms(contract)
    places = {place: runs for place, runs in promised_runs(manifest).items() if place[1] in arms}
    cells = {place: tally.cells.get((*place, contract.outcome)) for place in places}
    whole = {p: cell for p, cell in cells.items() if cell is not None and whole_cell(cell, places[p])}
    if len(whole) == len(places):
        return _judged(contract, manifest, whole, reported)
    findings, _ = _judged(contract, manifest, {}, reported)
    return tuple(finding for finding in findings if finding.fault in _WITHOUT_CELLS), None


def _judged(
    contract: Contract,
    manifest: Manifest,
    cells: Mapping[tuple[str, str], Cell],
    reported: ReportedAnalysis | None,
) -> tuple[tuple[ClaimFinding, ...], Analysis]:
    if isinstance(contract, DirectionContract):
        return judge_direction(contract, manifest, cells, reported)
    return judge_stability(contract, manifest, cells, reported)
