"""The judge's component: its numbers, held against what it could see.

It is complete when the evidence of the tier was wholly observed and wholly shown to it. Why the judge
has no numbers is the judge's own reason, such as `judge_not_configured`; it never becomes a 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from agentbeat_protocol.evaluation import JudgeScores, RuleDimension
from agentbeat_protocol.scoring.applicability import RULE_DIMENSIONS
from agentbeat_protocol.scoring.components import ComponentScore, DimensionScore
from agentbeat_protocol.scoring.observations import JudgeOutcome

__all__ = ["judge_component"]


def judge_component(
    outcome: JudgeOutcome, *, weight: Decimal, evidence_complete: bool, shown_whole: bool
) -> ComponentScore:
    """The component that the judge gives.

    Args:
        outcome: what came of asking it.
        weight: the component's weight.
        evidence_complete: whether every channel of the tier was wholly observed.
        shown_whole: whether the judge was shown all of it, nothing left out for length.
    """
    reasons = []
    if outcome.scores is None:
        reasons.append(outcome.reason or "judge_unavailable")
    if not evidence_complete:
        reasons.append("judge_evidence_partial")
    if not shown_whole:
        reasons.append("judge_evidence_cut")
    return ComponentScore(
        name="llm_judge",
        source="llm_judge",
        weight=weight,
        score=Fraction(outcome.scores.score) if outcome.scores is not None else None,
        complete=outcome.scores is not None and evidence_complete and shown_whole,
        dimensions=_dimensions(outcome.scores, outcome.reason or "judge_unavailable"),
        reason_codes=tuple(reasons),
    )


def _dimensions(scores: JudgeScores | None, reason: str) -> Mapping[RuleDimension, DimensionScore]:
    if scores is None:
        return {name: DimensionScore(reason_codes=(reason,)) for name in RULE_DIMENSIONS}
    numbers: Mapping[RuleDimension, Decimal] = {
        "utility": scores.utility_score,
        "security": scores.security_score,
        "asr": scores.asr_score,
    }
    return {name: DimensionScore(score=Fraction(number), declared=True) for name, number in numbers.items()}
