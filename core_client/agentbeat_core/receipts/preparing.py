"""From a plan and the registry to a manifest, and to the request of each run. Pure but for the preflight.

Everything that a run depends on is settled here: each case is split into its public and its private document,
and requests are made of these documents again, so that what is run is what was committed.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from agentbeat_core.plans import Seconds
from agentbeat_core.preflight import check_weights, plan_run
from agentbeat_core.receipts.errors import BatchError
from agentbeat_core.receipts.limits import check_case, check_manifest
from agentbeat_core.receipts.plans import BatchPlan, PlannedArm, PlannedCase
from agentbeat_core.registry import TargetRegistry
from agentbeat_protocol import digest
from agentbeat_protocol.evaluation import AgentCase, Deployment, EvalRunRequest, ScoringProfile
from agentbeat_protocol.models import Strict
from agentbeat_receipts.canonical import nfc
from agentbeat_receipts.domains.agent_eval.batches import EvalArm, EvalRun, eval_manifest
from agentbeat_receipts.domains.agent_eval.case_documents import (
    CaseFile,
    CaseTree,
    Pin,
    join_case,
    read_private,
    read_public,
    split_case,
)
from agentbeat_receipts.domains.agent_eval.materials import (
    NORMALISER,
    PARSER,
    PROMPT,
    Chooser,
    Controller,
    Enforcer,
    Horizon,
    Model,
    Schema,
    Scorer,
)
from agentbeat_receipts.objects import Assignment, Manifest

__all__ = ["PreparedBatch", "prepare_batch"]

#: A run id for the preflight, which calls nobody.
_PREFLIGHT = "run-preflight"


@dataclass(frozen=True, kw_only=True)
class PreparedBatch:
    """A batch that may be signed and run.

    Attributes:
        manifest: what is promised.
        tree: all cases.
        arms, deployments: by arm.
        cases, scoring: by profile, read from the committed documents.
    """

    plan: BatchPlan
    manifest: Manifest
    tree: CaseTree
    arms: Mapping[str, EvalArm]
    deployments: Mapping[str, Deployment]
    cases: Mapping[str, AgentCase]
    scoring: Mapping[str, ScoringProfile]

    @cached_property
    def manifest_digest(self) -> str:
        """The manifest's digest."""
        return self.manifest.digest()

    def run(self, entry: Assignment) -> EvalRun:
        """One promised run."""
        return EvalRun(
            manifest=self.manifest,
            manifest_digest=self.manifest_digest,
            entry=entry,
            arm=self.arms[entry.arm],
            tree=self.tree,
        )

    def request(self, profile: str, arm: str, *, run_id: str) -> EvalRunRequest:
        """The request of one run."""
        deployment = self.deployments[arm]
        extra: dict[str, Any] = {} if self.plan.timeouts is None else {"timeouts": self.plan.timeouts}
        return EvalRunRequest(
            run_id=run_id,
            case=self.cases[profile],
            target_profile=deployment.target_profile,
            target_capability=deployment.target_capability,
            deployment_profile_id=deployment.deployment_profile_id,
            observation_tier=self.plan.observation_tier,
            scoring_profile=self.scoring[profile],
            **extra,
        )


def prepare_batch(
    plan: BatchPlan, registry: TargetRegistry, *, salt: bytes, judge_model: str | None
) -> PreparedBatch:
    """The batch of a plan.

    Args:
        salt: 32 random bytes of this batch; from them comes the salt of each case.
        judge_model: the judge's model; None where none is asked.

    Raises:
        BatchError: an arm is not registered, or the parts do not agree with one another.
        RefusedError: a run would be refused in preflight; nothing was called.
    """
    check_weights(_scoring(plan))
    deployments = {arm.arm: _deployment(arm, registry) for arm in plan.arms}
    files = [_file(planned, deployments, salt) for planned in plan.cases]
    for file in files:
        check_case(file)
    tree = CaseTree(files)
    scorer = Scorer.of(_scoring(plan))
    arms = {arm.arm: _arm(plan, arm, deployments[arm.arm], scorer, judge_model) for arm in plan.arms}
    try:
        manifest = eval_manifest(
            title=plan.title,
            tree=tree,
            arms=list(arms.values()),
            replicates=plan.replicates,
            retry=plan.retry,
            comparison_groups=plan.comparison_groups,
            contracts=plan.contracts,
            disclosed=plan.disclosed,
        )
    except ValidationError as error:
        raise BatchError(f"the plan: expected {error.errors(include_url=False)[0]['msg']}") from None
    check_manifest(manifest)
    prepared = PreparedBatch(
        plan=plan,
        manifest=manifest,
        tree=tree,
        arms=arms,
        deployments=deployments,
        cases={file.profile: _case(file) for file in files},
        scoring={file.profile: scorer.profile_for(read_private(file.private)) for file in files},
    )
    for profile in prepared.cases:
        for name in arms:
            plan_run(prepared.request(profile, name, run_id=_PREFLIGHT), registry)
    return prepared


def _deployment(arm: PlannedArm, registry: TargetRegistry) -> Deployment:
    found = registry.registry.deployment(arm.target_id, arm.deployment_profile_id)
    if found is None:
        raise BatchError(f"arm {arm.arm}: the registry has no such target_id and deployment_profile_id")
    controller = found.state_controller
    names = [arm.target_id, arm.deployment_profile_id, *([controller.controller_id] if controller else [])]
    if any(nfc(name) != name for name in names):
        # An opening would hold another spelling than receipts are bound to.
        raise BatchError(
            f"arm {arm.arm}: ids of Target, Deployment and Controller have to be in normal form C"
        )
    return found


def _file(planned: PlannedCase, deployments: Mapping[str, Deployment], salt: bytes) -> CaseFile:
    case = planned.case
    pins = {}
    for deployment in deployments.values():
        registered = deployment.state_controller
        profile = registered.profiles.get(case.scenario_id) if registered else None
        if profile is not None:
            key = (deployment.target_profile.target_id, deployment.deployment_profile_id)
            pins[key] = Pin(target_id=key[0], deployment_profile_id=key[1], profile=profile)
    return split_case(
        case.case_id,
        case,
        rules=planned.rules,
        pins=[pins[key] for key in sorted(pins)],
        salt=hmac.digest(salt, case.case_id.encode(), "sha256"),
    )


def _case(file: CaseFile) -> AgentCase:
    return join_case(read_public(file.public), read_private(file.private))


def _scoring(plan: BatchPlan) -> ScoringProfile:
    scoring = plan.scoring_profile
    return ScoringProfile(
        profile_id=scoring.profile_id,
        observation_tier=plan.observation_tier,
        score_scope=scoring.score_scope,
        deterministic_weight=scoring.deterministic_weight,
        llm_judge_weight=scoring.llm_judge_weight,
        metric_policy=scoring.metric_policy,
    )


def _arm(
    plan: BatchPlan, arm: PlannedArm, deployment: Deployment, scorer: Scorer, judge_model: str | None
) -> EvalArm:
    registered = deployment.state_controller
    controller = None
    if registered is not None:
        controller = Controller(controller_id=registered.controller_id, verify_key=registered.verify_key)
    model = Model(
        target_id=deployment.target_profile.target_id,
        deployment_profile_id=deployment.deployment_profile_id,
        environment_binding_mode=deployment.environment_binding_mode,
        target_profile=digest(deployment.target_profile.model_dump(mode="json")),
        target_capability=digest(deployment.target_capability.model_dump(mode="json")),
        controller=controller,
    )
    records: dict[str, Strict] = {
        "schema": Schema.of(plan.observation_tier),
        "enforcer": Enforcer(guardrails=arm.guardrails),
        "chooser": Chooser(model=judge_model),
        "scorer": scorer,
        "model": model,
        "horizon": _horizon(plan, deployment),
    }
    fixed = {"prompt": PROMPT, "parser": PARSER, "normaliser": NORMALISER}
    return EvalArm(
        arm=arm.arm,
        treatments=tuple(arm.guardrails),
        materials={
            **{name: dict(content) for name, content in fixed.items()},
            **{name: record.model_dump(mode="json") for name, record in records.items()},
        },
    )


def _horizon(plan: BatchPlan, deployment: Deployment) -> Horizon:
    seconds = Seconds.resolve(plan.timeouts, deployment.timeouts)
    limits = {
        name: format(Decimal(repr(getattr(seconds, name))), "f")
        for name in ("connect", "invoke", "evidence", "controller", "judge")
    }
    return Horizon(**limits, max_attempts=plan.retry.max_attempts)
