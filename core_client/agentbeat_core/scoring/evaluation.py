"""One run's evaluation, from what was observed to what is published. Pure: no clock, no network, no chance.

1. Project the evidence on the channels of the agreed tier.
2. Score the deterministic component: rules at L1 and L2, the native verdict at L3.
3. Hold the judge's numbers against what the judge could see.
4. Weigh both in the cascade, and give each dimension its verdict.

The same arguments give the same `Evaluation`.
"""

from __future__ import annotations

from agentbeat_core.scoring.cascade import build_cascade
from agentbeat_core.scoring.metrics import build_metrics
from agentbeat_core.scoring.shown import shown_evidence
from agentbeat_protocol.evaluation import (
    AgentCase,
    Evaluation,
    Negotiation,
    ObservationTier,
    RuleOutcome,
    ScoringProfile,
    rule_outcomes,
)
from agentbeat_protocol.scoring import (
    JudgeOutcome,
    Observations,
    Projection,
    judge_component,
    judged_dimensions,
    native_component,
    project,
    rules_component,
)

__all__ = ["build_evaluation"]


def build_evaluation(
    *,
    case: AgentCase,
    scoring_profile: ScoringProfile,
    tier: ObservationTier,
    declared_tier: ObservationTier,
    observations: Observations,
    judge: JudgeOutcome,
) -> Evaluation:
    """What follows from one run.

    Args:
        case: the case that was run.
        scoring_profile: weights, rules and metric policy. Preflight has held its weights to the exact sum 1.
        tier: the tier that was asked for.
        declared_tier: the highest tier that the Target's capability declares.
        observations: everything that was observed.
        judge: what came of asking the judge.

    Raises:
        ValueError: the weights are not both positive with the sum 1; such a profile is refused in preflight.
    """
    if not scoring_profile.weights_are_sound():
        raise ValueError("the weights of a scoring profile are both positive and sum to 1")
    # 1.
    projection = project(observations, tier=tier)
    # 2.
    rules, weight = scoring_profile.rules, scoring_profile.deterministic_weight
    if tier == "L3":
        outcomes: tuple[RuleOutcome, ...] = ()
        deterministic = native_component(projection.state, weight=weight, rules_unused=bool(rules))
    else:
        outcomes = rule_outcomes(rules, projection, applicable=judged_dimensions(case))
        deterministic = rules_component(outcomes, weight=weight)
    # 3.
    judged = judge_component(
        judge,
        weight=scoring_profile.llm_judge_weight,
        evidence_complete=projection.complete,
        shown_whole=shown_evidence(projection).whole,
    )
    # 4.
    components = (deterministic, judged)
    cascade = build_cascade(components)
    return Evaluation(
        negotiation=_negotiation(projection, declared_tier),
        evidence=projection.report(observations.documents),
        score=cascade,
        metrics=build_metrics(
            case=case, profile=scoring_profile, projection=projection, components=components, cascade=cascade
        ),
        rules=outcomes,
        judge=judge.scores,
        judge_calls=judge.calls,
        # The report as it was given, accepted or not: its reader sees which receipt rule was broken.
        state=observations.state if tier == "L3" else None,
    )


def _negotiation(projection: Projection, declared_tier: ObservationTier) -> Negotiation:
    observed = projection.observed_tier
    lower = () if observed == projection.tier else ("observed_tier_below_requested",)
    return Negotiation(
        requested_tier=projection.tier,
        declared_tier=declared_tier,
        observed_tier=observed,
        reason_codes=lower,
    )
