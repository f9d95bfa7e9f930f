"""The plan of a batch, `eval-batch-plan-v1`: cases, arms, replicates, and what is claimed of them.

    {"schema_version": "eval-batch-plan-v1", "title": "…", "observation_tier": "L2",
     "cases": [{"case": {…agent-case-only-v1…}, "rules": [{…}]}],
     "scoring_profile": {"profile_id": "…", "score_scope": "…",
                         "deterministic_weight": 0.7, "llm_judge_weight": 0.3},
     "arms": [{"arm": "plain", "target_id": "…", "deployment_profile_id": "…"},
              {"arm": "guarded", "target_id": "…", "deployment_profile_id": "…",
               "guardrails": {"output-filter": ["final_response"]}}],
     "replicates": 2,
     "contracts": [{"contract": "fewer-attacks", "claim": "C1", "outcome": "attack_success",
                    "levels": ["plain", "guarded"], "direction": "decreasing",
                    "threshold": {"pair": [1, 10]}}]}

An arm is a registered Deployment; what it has guardrails for are its treatment flags. A threshold or margin
is an integer or an exact ratio: this one says *falls by more than ten points*. A contract may leave out the
members that have one choice, or a plain default: the exact bootstrap, no limit of the variance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from agentbeat_protocol.evaluation import (
    MAX_EVAL_BYTES,
    AgentCase,
    MetricPolicy,
    ObservationTier,
    Rule,
    Timeouts,
    read_exact_json,
)
from agentbeat_protocol.identifiers import EntityId
from agentbeat_protocol.models import Array, ExactDecimal, Name, NotNull, Strict, rule_error, validated
from agentbeat_receipts.domains.agent_eval import DOMAIN
from agentbeat_receipts.objects import ComparisonGroup, Contract, RetryPolicy
from agentbeat_receipts.objects.base import Id, Positive, SetOf, SomeOf, Text

__all__ = ["CONTRACT_DEFAULTS", "BatchPlan", "PlannedArm", "PlannedCase", "PlannedScoring", "read_batch_plan"]

#: What every contract says alike, unless it says otherwise.
_ANALYSIS: Final = {
    "nesting": "replicates_in_cells_in_profiles",
    "pairing": "within_profile",
    "estimator": "exact",
    "seed": None,
    "draws": None,
    "input_order": "manifest",
    "interval": "ceil_rank",
}
#: What a contract for a claim may leave out, and what it then says.
CONTRACT_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "C1": {**_ANALYSIS, "estimand": "strongest_minus_weakest"},
    "C3": {**_ANALYSIS, "estimand": "mean_contrast", "max_variance": None},
}
#: What public receipts disclose unless the plan says otherwise: everything that can be summed at any tier.
_DISCLOSED: Final = tuple(claim for claim in DOMAIN.claims if claim != "guardrail_fidelity")
#: A profile's name is the case's id, and has to fit a manifest.
_LONGEST_PROFILE: Final = 128


class PlannedCase(Strict):
    """A case, and the rules that it is scored by at L1 and L2."""

    case: AgentCase
    rules: Array[Rule] = ()


class PlannedScoring(Strict):
    """The scoring profile of all cases, without rules."""

    profile_id: Name
    score_scope: Name
    deterministic_weight: ExactDecimal
    llm_judge_weight: ExactDecimal
    metric_policy: MetricPolicy = Field(default_factory=MetricPolicy)


class PlannedArm(Strict):
    """A condition: a registered Deployment, and what guards it."""

    arm: Id
    target_id: EntityId
    deployment_profile_id: Name
    #: Guardrails by treatment flag, with the stages at which each decides.
    guardrails: dict[Id, SomeOf[Id]] = Field(default_factory=dict)


class BatchPlan(Strict):
    """Every case under every arm, so many times."""

    schema_version: Literal["eval-batch-plan-v1"]
    title: Text
    observation_tier: ObservationTier
    cases: Annotated[Array[PlannedCase], Field(min_length=1)]
    scoring_profile: PlannedScoring
    arms: Annotated[Array[PlannedArm], Field(min_length=1)]
    replicates: Positive = 1
    #: Retries are for what provably did not start the Agent, unless the plan says otherwise.
    retry: RetryPolicy = Field(
        default_factory=lambda: RetryPolicy(
            max_attempts=3,
            retry_on=("environment_busy", "target_busy", "target_unreachable"),
        )
    )
    comparison_groups: Array[ComparisonGroup] = ()
    contracts: Array[Contract] = ()
    disclosed: SetOf[Id] = _DISCLOSED
    timeouts: Annotated[Timeouts | None, NotNull] = None

    @field_validator("contracts", mode="before")
    @classmethod
    def _whole_contracts(cls, contracts: Any) -> Any:
        if not isinstance(contracts, list):
            return contracts
        return [
            {**CONTRACT_DEFAULTS.get(str(each.get("claim")), {}), **each} if isinstance(each, dict) else each
            for each in contracts
        ]

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        ids = [planned.case.case_id for planned in self.cases]
        if len(set(ids)) < len(ids):
            raise rule_error("X-PLAN", "each case once")
        if any(len(case_id) > _LONGEST_PROFILE for case_id in ids):
            raise rule_error("X-PLAN", f"case ids of at most {_LONGEST_PROFILE} characters")
        if any(planned.case.observation_tier != self.observation_tier for planned in self.cases):
            raise rule_error("X-PLAN", "cases of the plan's observation_tier")
        if not set(self.disclosed) <= set(DOMAIN.claims):
            raise rule_error("X-PLAN", f"disclosed values among {', '.join(DOMAIN.claims)}")
        return self


def read_batch_plan(raw: bytes) -> BatchPlan:
    """The plan that a file holds.

    Raises:
        ProtocolError: it has another shape, or does not agree with itself.
    """
    return validated(BatchPlan, read_exact_json(raw, max_bytes=MAX_EVAL_BYTES))
