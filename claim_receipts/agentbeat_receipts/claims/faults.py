"""Why a claim does not pass: each reason with its layer, its verdict and its rule.

Reasons of bytes, chain and coverage are in `verification.reasons`; these are of meaning (L2), and of what the
claims C1 to C4 ask for. A reason's verdict is that of the claim it is found for; what else it concerns is
said by the claims' dependencies, never by the reason.

>>> FAULT_RULES[Fault.CONTRACT_ABSENT].verdict
<Verdict.NO_CONTRACT: 'I_C'>
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Final, Literal

from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["FAULT_RULES", "Fault", "FaultRule"]


@unique
class Fault(StrEnum):
    """A code that stays the same from version to version."""

    # From the chain.
    INTEGRITY_INVALID = "integrity_invalid"
    TERMINALS_MISSING = "terminals_missing"
    RETRIES_INVALID = "retries_invalid"
    # One transaction: what is there.
    EVIDENCE_ABSENT = "evidence_absent"
    EVIDENCE_MALFORMED = "evidence_malformed"
    DOMAIN_UNKNOWN = "domain_unknown"
    DOMAIN_DIFFERS = "domain_differs"
    MATERIAL_CONTRADICTS_COMPONENT = "material_contradicts_component"
    MATERIAL_CONTRADICTS_MANIFEST = "material_contradicts_manifest"
    # One transaction: what comes out again.
    STAGE_CONTRADICTS_REPLAY = "stage_contradicts_replay"
    VALUE_CONTRADICTS_REPLAY = "value_contradicts_replay"
    DISCLOSURE_DIFFERS = "disclosure_differs"
    # Fidelity of guardrails and injections.
    DECISION_MISSING = "decision_missing"
    DECISION_REPEATED = "decision_repeated"
    APPLIED_WHILE_OFF = "applied_while_off"
    ENFORCEMENT_DIFFERS = "enforcement_differs"
    INJECTION_DIFFERS = "injection_differs"
    NOT_OBSERVED = "not_observed"
    # A policy that can be replayed.
    POLICY_SILENT = "policy_silent"
    # What the claims of a batch rest on.
    TRANSACTION_REFUTED = "transaction_refuted"
    TRANSACTION_UNDETERMINED = "transaction_undetermined"
    CONTRACT_ABSENT = "contract_absent"
    PROFILE_DIFFERS = "profile_differs"
    ANALYSIS_CONTRADICTS_CONTRACT = "analysis_contradicts_contract"
    SUBJECTS_DIFFER = "subjects_differ"
    ANALYSIS_DIFFERS = "analysis_differs"
    VALUE_IS_NULL = "value_is_null"
    VALUE_IS_NO_INTEGER = "value_is_no_integer"
    TOO_FEW_PROFILES = "too_few_profiles"
    CELL_EMPTY = "cell_empty"
    TOO_MUCH_WORK = "too_much_work"
    # C1 and C3.
    NOT_MONOTONE = "not_monotone"
    BOUND_NOT_BEYOND = "bound_not_beyond"
    BOUNDARY_IN_ENVELOPE = "boundary_in_envelope"
    TOO_FEW_REPLICATES = "too_few_replicates"
    INTERVAL_CROSSES = "interval_crosses"
    VARIANCE_ABOVE = "variance_above"
    # C2.
    COMPONENT_DIFFERS = "component_differs"
    ARMS_DIFFER = "arms_differ"
    COMPONENT_MISSING = "component_missing"
    ARM_EMPTY = "arm_empty"
    # C4.
    SCORER_DIFFERS = "scorer_differs"
    IDENTITY_BROKEN = "identity_broken"
    REPORT_ABSENT = "report_absent"
    CELL_MISSING = "cell_missing"
    CELL_MISSING_AS_SAID = "cell_missing_as_said"
    CELL_UNPROMISED = "cell_unpromised"
    CELL_DIFFERS = "cell_differs"


@dataclass(frozen=True, slots=True)
class FaultRule:
    """What a reason stands for."""

    layer: Literal["L1", "L2", "L3"]
    verdict: Verdict
    text: str


def _invalid(text: str, layer: Literal["L1", "L2", "L3"] = "L2") -> FaultRule:
    return FaultRule(layer, Verdict.INVALID, text)


def _evidence(text: str) -> FaultRule:
    return FaultRule("L2", Verdict.NO_EVIDENCE, text)


#: Each reason's rule: what holds where it is not found.
FAULT_RULES: Final[Mapping[Fault, FaultRule]] = MappingProxyType(
    {
        Fault.INTEGRITY_INVALID: _invalid("bytes, chain and openings are sound", "L1"),
        Fault.TERMINALS_MISSING: FaultRule(
            "L3", Verdict.INCONCLUSIVE_COVERAGE, "every assignment has its one terminal"
        ),
        Fault.RETRIES_INVALID: _invalid("terminal attempts are those that the policy names", "L3"),
        Fault.EVIDENCE_ABSENT: _evidence("every field that the claim needs is there"),
        Fault.EVIDENCE_MALFORMED: _invalid("evidence has the shape that its domain declares"),
        Fault.DOMAIN_UNKNOWN: _evidence("the verifier has the domain that the evidence is of"),
        Fault.DOMAIN_DIFFERS: _invalid("an opening is of the manifest's domain"),
        Fault.MATERIAL_CONTRADICTS_COMPONENT: _invalid(
            "what is replayed with has the digest of the component that the receipt names"
        ),
        Fault.MATERIAL_CONTRADICTS_MANIFEST: _invalid(
            "what is replayed with has the digest that the manifest names"
        ),
        Fault.STAGE_CONTRADICTS_REPLAY: _invalid("each stage that is on record comes out again"),
        Fault.VALUE_CONTRADICTS_REPLAY: _invalid("a value that is disclosed or reported comes out again"),
        Fault.DISCLOSURE_DIFFERS: _invalid("a receipt discloses the values that the manifest says"),
        Fault.DECISION_MISSING: _invalid("with its flag on, a guardrail decides at every stage"),
        Fault.DECISION_REPEATED: _invalid("a guardrail decides once at a stage"),
        Fault.APPLIED_WHILE_OFF: _invalid("with its flag off, a guardrail applies nowhere"),
        Fault.ENFORCEMENT_DIFFERS: _invalid(
            "what was let through is what the enforcer makes of the raw text"
        ),
        Fault.INJECTION_DIFFERS: _invalid("the injection was planted as committed"),
        Fault.NOT_OBSERVED: _evidence("the channel that would show it was observed"),
        Fault.POLICY_SILENT: _evidence("a run of a seller with a policy ended with an answer of that policy"),
        Fault.TRANSACTION_REFUTED: _invalid("no transaction contradicts its replay"),
        Fault.TRANSACTION_UNDETERMINED: _evidence("every transaction is determined by its evidence"),
        Fault.CONTRACT_ABSENT: FaultRule(
            "L2", Verdict.NO_CONTRACT, "the manifest has a contract for the claim"
        ),
        Fault.PROFILE_DIFFERS: _invalid("a profile is the same in each of its runs"),
        Fault.ANALYSIS_CONTRADICTS_CONTRACT: _invalid("seed, draws and input order are the contract's"),
        Fault.SUBJECTS_DIFFER: _invalid("the subjects are the profiles, never replicates"),
        Fault.ANALYSIS_DIFFERS: _invalid("estimate and bounds that are reported come out again"),
        Fault.VALUE_IS_NULL: _evidence("no value that is analysed is a null"),
        Fault.VALUE_IS_NO_INTEGER: _evidence("values that are analysed are integers"),
        Fault.TOO_FEW_PROFILES: _evidence("there are at least 4 profiles"),
        Fault.CELL_EMPTY: _evidence("every profile has a run under each arm that is compared"),
        Fault.TOO_MUCH_WORK: _evidence("the exact distribution is small enough to be computed"),
        Fault.NOT_MONOTONE: _evidence("the means of the levels are weakly monotone as declared"),
        Fault.BOUND_NOT_BEYOND: _evidence("the one-sided bound lies beyond the threshold"),
        Fault.BOUNDARY_IN_ENVELOPE: _evidence("the boundary lies outside the envelope of its quantile"),
        Fault.TOO_FEW_REPLICATES: _evidence("every cell has the declared replicates, at least 2"),
        Fault.INTERVAL_CROSSES: _evidence("the interval lies where the contract says"),
        Fault.VARIANCE_ABOVE: _evidence("the mean variance inside cells is at most the contract's"),
        Fault.COMPONENT_DIFFERS: _invalid("a receipt's components are its arm's"),
        Fault.ARMS_DIFFER: _invalid("arms that are compared differ only where they may"),
        Fault.COMPONENT_MISSING: _evidence("a receipt has the digest of every component"),
        Fault.ARM_EMPTY: _evidence("every arm that is compared has a receipt"),
        Fault.SCORER_DIFFERS: _invalid("every receipt was scored by its arm's scorer"),
        Fault.IDENTITY_BROKEN: _invalid("the domain's identity holds of every sum"),
        Fault.REPORT_ABSENT: _evidence("the report bundle is held"),
        Fault.CELL_MISSING: _invalid("a report that says it is complete has every promised cell", "L3"),
        Fault.CELL_MISSING_AS_SAID: FaultRule(
            "L3", Verdict.NO_EVIDENCE, "the report has every promised cell"
        ),
        Fault.CELL_UNPROMISED: _invalid("a report has no cell that was not promised", "L3"),
        Fault.CELL_DIFFERS: _invalid("a cell's sum, count and nulls are recomputed over the whole cell"),
    }
)
