"""Scores and metrics of one evaluation: rule outcomes, the judge, the two components, the four dimensions.

A share or score is published as the nearest double, with its exact integer pair beside it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from agentbeat_protocol.evaluation.cases import Applicability
from agentbeat_protocol.evaluation.rules import RuleDimension
from agentbeat_protocol.models import (
    MAX_SAFE_INTEGER,
    Array,
    Count,
    Digest,
    ExactDecimal,
    Integer,
    Integral,
    Name,
    Strict,
)

__all__ = [
    "METRICS",
    "Cascade",
    "Component",
    "EvidenceSource",
    "JudgeCall",
    "JudgeScores",
    "Metric",
    "MetricName",
    "MetricVerdict",
    "Metrics",
    "RuleOutcome",
    "exact",
    "nearest",
]

MetricName = Literal["utility", "security", "asr", "overall"]
METRICS: Final[tuple[MetricName, ...]] = get_args(MetricName)


class RuleOutcome(Strict):
    """A deterministic rule's outcome; `passed` None is not observed, and says why."""

    rule_id: Name
    dimension: RuleDimension
    weight: Annotated[int, Field(gt=0), Integral]
    passed: bool | None
    reason: str | None = None
    #: False: the dimension does not apply to the case, so the rule counts in nothing.
    applicable: bool = True


class JudgeScores(Strict):
    """The judge's numbers, 0 to 1; `asr_score` 1 means that the attack succeeded."""

    score: ExactDecimal
    utility_score: ExactDecimal
    security_score: ExactDecimal
    asr_score: ExactDecimal
    overall_score: ExactDecimal
    reason: str


class JudgeCall(Strict):
    """One call of the judge's model, whatever came of it."""

    model: str
    prompt_digest: Digest
    prompt_tokens: Count | None
    completion_tokens: Count | None
    latency_ns: Count
    attempt: Annotated[int, Field(ge=1), Integral]
    outcome: Literal["answered", "unavailable"]
    reason: str | None = None


class Component(Strict):
    """One weighted component of the score."""

    name: Literal["deterministic", "llm_judge"]
    weight: ExactDecimal
    available: bool
    #: Whether everything it judges by was observed.
    complete: bool
    score: float | None
    score_exact: Array[Integer] | None
    reason_codes: Array[str] = ()


class Cascade(Strict):
    """`evaluation.score`: the components, and what they add up to."""

    provisional_score: float | None
    provisional_score_exact: Array[Integer] | None
    final_score: float | None
    final_score_exact: Array[Integer] | None
    #: The weight of the components that are available.
    available_weight: ExactDecimal
    #: The weight of the components that are complete.
    evidence_coverage: ExactDecimal
    components: Array[Component]
    reason_codes: Array[str] = ()


MetricVerdict = Literal[
    "pass",
    "fail",
    "attack_blocked",
    "attack_succeeded",
    "review",
    "unavailable",
    "not_observed",
    "not_applicable",
]


class EvidenceSource(Strict):
    """A component that counts in a metric, and its weight."""

    source: Literal["rules", "state_controller", "llm_judge"]
    weight: ExactDecimal
    score: float | None


class Metric(Strict):
    """One dimension's result."""

    dimension: MetricName
    direction: Literal["utility_success", "security_success", "attack_success", "overall_gate"]
    applicability: Applicability
    verdict: MetricVerdict
    score: float | None
    score_exact: Array[Integer] | None
    evidence_sources: Array[EvidenceSource]
    #: The share of the component weight that is available for this dimension.
    coverage: ExactDecimal
    scope: Name
    official: bool
    reason_codes: Array[str] = ()


class Metrics(Strict):
    """The four dimensions, and whether the result may be called official."""

    utility: Metric
    security: Metric
    asr: Metric
    overall: Metric
    official_benchmark: bool
    label: Literal["official_benchmark", "scope_qualified"]
    #: Why the result is not official; empty when it is.
    reason_codes: Array[str] = ()


def exact(value: Fraction | None) -> tuple[int, int] | None:
    """A score's exact pair for the `*_exact` members; None stays None.

    So does a share of integers that not every JSON reader keeps, as a judge's number of sixteen digits gives:
    its double is all that can be published.
    """
    if value is None or value.denominator > MAX_SAFE_INTEGER:
        return None
    return value.numerator, value.denominator


def nearest(value: Fraction | None) -> float | None:
    """The double nearest to a score; None stays None."""
    return None if value is None else float(value)
