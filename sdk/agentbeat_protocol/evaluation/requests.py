"""What Core is asked: `eval-run`, `preflight` and `score`.

`eval-run` has the public shape. The schema versions of the other two are ours.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field, StringConstraints, field_validator

from agentbeat_protocol.evaluation.cases import (
    AgentCase,
    ObservationTier,
    TargetCapability,
    TargetProfile,
)
from agentbeat_protocol.evaluation.numbers import read_exact_json
from agentbeat_protocol.evaluation.rules import MetricPolicy, Rule
from agentbeat_protocol.identifiers import RunId
from agentbeat_protocol.models import (
    Array,
    ExactDecimal,
    JSONObject,
    Name,
    NotNull,
    Public,
    Strict,
    rule_error,
    validated,
)

__all__ = [
    "MAX_EVAL_BYTES",
    "EvalRunRequest",
    "PreflightRequest",
    "ScoreRequest",
    "ScoringProfile",
    "Timeouts",
    "read_eval_run_request",
    "read_preflight_request",
    "read_score_request",
]

#: Where Core stops reading one of its own requests, in bytes: a score request holds an evidence document.
MAX_EVAL_BYTES = 32 * 1024 * 1024

RequestT = TypeVar("RequestT", bound=BaseModel)

Seconds = Annotated[Annotated[ExactDecimal, Field(gt=0, le=86_400)] | None, NotNull]


class ScoringProfile(Public):
    """How components become a score. `rules` and `metric_policy` are ours."""

    profile_id: Name
    observation_tier: ObservationTier
    score_scope: Name
    deterministic_weight: ExactDecimal
    llm_judge_weight: ExactDecimal
    rules: Array[Rule] = ()
    metric_policy: MetricPolicy = Field(default_factory=MetricPolicy)

    @field_validator("rules")
    @classmethod
    def _rule_ids_are_unique(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        if len({rule.rule_id for rule in rules}) < len(rules):
            raise rule_error("S-UNIQUE", "each rule_id once")
        return rules

    def weights_are_sound(self) -> bool:
        """Whether both weights are positive and their exact decimal sum is 1."""
        # Adding decimals would round to the context's 28 digits.
        weights = [Fraction(weight) for weight in (self.deterministic_weight, self.llm_judge_weight)]
        return all(weight > 0 for weight in weights) and sum(weights) == 1


class Timeouts(Strict):
    """How long Core waits in each phase, in seconds. What is absent is the registry's or Core's own."""

    connect: Seconds = None
    invoke: Seconds = None
    evidence: Seconds = None
    controller: Seconds = None
    judge: Seconds = None


class _Bound(BaseModel):
    """What both requests bind together; whether members beyond are kept or refused is theirs to say."""

    case: AgentCase
    target_profile: TargetProfile
    target_capability: TargetCapability
    deployment_profile_id: Name
    observation_tier: ObservationTier
    scoring_profile: ScoringProfile
    timeouts: Annotated[Timeouts | None, NotNull] = None


class EvalRunRequest(_Bound, Public):
    """Run one case once on one Deployment and score it."""

    schema_version: Literal["eval-run-request-v1"] = "eval-run-request-v1"
    run_id: RunId


class PreflightRequest(_Bound, Strict):
    """Would this case run on this Deployment? Nothing is called. An `eval-run` request without its run id."""

    schema_version: Literal["agent-preflight-v1"]


class ScoreRequest(Strict):
    """Score what was already observed, without running the Agent again."""

    schema_version: Literal["agent-score-v1"]
    run_id: RunId
    case: AgentCase
    observation_tier: ObservationTier
    scoring_profile: ScoringProfile
    #: The Agent's final response, unless it is missing.
    final_response: Annotated[Annotated[str, StringConstraints(min_length=1)] | None, NotNull] = None
    #: The evidence document, as JSON; its digest is taken over the canonical form, where it has one.
    evidence: Annotated[JSONObject | None, NotNull] = None
    #: The State Controller's verify answer and what it must be bound to; ours to check, never the Agent's.
    state: Annotated[JSONObject | None, NotNull] = None


def read_eval_run_request(raw: bytes) -> EvalRunRequest:
    """An `eval-run` request.

    Raises:
        ProtocolError: the request has another shape.
    """
    return _read(EvalRunRequest, raw)


def read_preflight_request(raw: bytes) -> PreflightRequest:
    """A `preflight` request.

    Raises:
        ProtocolError: the request has another shape.
    """
    return _read(PreflightRequest, raw)


def read_score_request(raw: bytes) -> ScoreRequest:
    """A `score` request.

    Raises:
        ProtocolError: the request has another shape.
    """
    return _read(ScoreRequest, raw)


def _read(model: type[RequestT], raw: bytes) -> RequestT:
    return validated(model, read_exact_json(raw, max_bytes=MAX_EVAL_BYTES))
