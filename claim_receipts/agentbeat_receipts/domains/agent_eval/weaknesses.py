"""What a decided verdict does without although the plan has it.

Scoring shares the weight of a component that is not there among those that are, so a verdict may be the
judge's alone where a State Controller's was asked for. Nobody signs that a document was missing: whoever
holds one back and says so gets another verdict, and an honest one by these rules. So each verdict of that
kind is counted:

    native_missing        L3: no word of the State Controller is on record
    native_refused        L3: there is one, whose receipt does not hold
    native_not_observed   L3: its word is that it did not observe this
    rules_not_observed    L1, L2: evidence is missing that a rule looks at
    judge_missing         the arm has a judge, and there are no numbers of it

A receipt that does not hold is counted and not refuted: a State Controller may have given it so, whose word
Core then did not take either. A verdict that the hard gate has fixed needs nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentbeat_protocol.evaluation import RuleDimension
from agentbeat_protocol.scoring import GATE_CODES, DimensionResult
from agentbeat_receipts.domains.agent_eval.run_evidence import RunEvidence

__all__ = ["weaknesses"]


def weaknesses(evidence: RunEvidence, name: RuleDimension, result: DimensionResult) -> tuple[str, ...]:
    """What this verdict does without."""
    if not GATE_CODES.isdisjoint(result.reasons):
        return ()
    return tuple(_missing(evidence, name))


def _missing(evidence: RunEvidence, name: RuleDimension) -> Iterator[str]:
    deterministic, judge = evidence.components
    reasons = deterministic.dimensions[name].reason_codes
    if "native_verdict_missing" in reasons:
        report, _ = evidence.native
        yield "native_missing" if report is None or report.accepted else "native_refused"
    if "native_verdict_not_observed" in reasons:
        yield "native_not_observed"
    if "deterministic_rules_not_observed" in reasons:
        yield "rules_not_observed"
    if judge.dimensions[name].score is None and evidence.chooser.model is not None:
        yield "judge_missing"
