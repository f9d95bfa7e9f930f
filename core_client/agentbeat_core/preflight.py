"""May this run start? Pure checks over request, registry and environment; nothing is called.

`plan_run` goes through the checks in the order of `REFUSALS` and raises the first refusal, or returns a
`Plan` with everything resolved. What it decides beside the refusals:

- The task is the case's `prompt`. Where `injection_point` is `prompt`, a blank line and `untrusted_input`
  follow. It is the same at every tier.
- Profile and capability are compared member by member as JSON; members that the specs do not name are
  ignored.

    plan = plan_run(request, TargetRegistry.from_environment())
"""

from __future__ import annotations

from collections.abc import Sequence

from agentbeat_core.endpoints import resolve_endpoint
from agentbeat_core.plans import Endpoint, Plan, Seconds
from agentbeat_core.preparation import controller_plan
from agentbeat_core.refusals import RefusedError
from agentbeat_core.registry import TargetRegistry
from agentbeat_protocol import EVIDENCE_PATH, ProtocolError, resolve_evidence_ref
from agentbeat_protocol.evaluation import (
    TIER_CHANNELS,
    Deployment,
    EvalRunRequest,
    Negotiation,
    ObservationTier,
    PreflightRequest,
    ScoreRequest,
    ScoringProfile,
    TargetCapability,
    TargetProfile,
)
from agentbeat_protocol.evaluation.paths import json_equal
from agentbeat_protocol.invocations import MAX_TEXT_BYTES
from agentbeat_protocol.scoring import task_text

__all__ = ["check_tiers", "check_weights", "negotiate", "plan_run"]

Request = EvalRunRequest | PreflightRequest


def plan_run(request: Request, registry: TargetRegistry) -> Plan:
    """The plan for a request that may run.

    Raises:
        RefusedError: with the first of `REFUSALS` that holds.
    """
    # 1. Who is asked: a registered Deployment, described as it is registered.
    deployment = _registered(request, registry)
    _check_description(request, deployment)
    # 2. What is asked: one tier, which the Target declares, of a scenario that it takes.
    check_tiers(request)
    _check_capability(request)
    check_weights(request.scoring_profile)
    task = task_text(request.case)
    if (size := len(task.encode())) > MAX_TEXT_BYTES:
        message = f"the task has {size} bytes of UTF-8, a Target takes at most {MAX_TEXT_BYTES}"
        raise RefusedError("task_too_large", message, path="/case/prompt", rule="INV-3")
    # 3. Where the Target is, and where its evidence.
    target = _target_endpoint(deployment, registry)
    if request.observation_tier != "L1":
        _check_evidence_route(target, deployment)
    # 4. Who prepares the environment, and at L3 judges it.
    controller = controller_plan(
        request.case, request.observation_tier, deployment=deployment, registry=registry, target=target
    )
    return Plan(
        case=request.case,
        tier=request.observation_tier,
        scoring_profile=request.scoring_profile,
        deployment=deployment,
        task=task,
        target=target,
        run_path=deployment.endpoint.run_path,
        controller=controller,
        seconds=Seconds.resolve(request.timeouts, deployment.timeouts),
        negotiation=negotiate(request),
    )


def negotiate(request: Request) -> Negotiation:
    """The requested and the declared tier; nothing has been observed yet.

    Raises:
        RefusedError: `capability_lacks_channels`, where the capability declares not even L1.
    """
    declared = _declared_tier(request.target_capability)
    if declared is None:
        raise _lacking(request, ("final_response",))
    return Negotiation(requested_tier=request.observation_tier, declared_tier=declared, observed_tier=None)


# --- 1. Who is asked ------------------------------------------------------------------------------------


def _registered(request: Request, registry: TargetRegistry) -> Deployment:
    target_id = request.target_profile.target_id
    if all(target.target_id != target_id for target in registry.registry.targets):
        message = "the registry has no such target_id"
        raise RefusedError("target_unknown", message, path="/target_profile/target_id")
    deployment = registry.registry.deployment(target_id, request.deployment_profile_id)
    if deployment is None:
        message = "the registered Target has no such deployment_profile_id"
        raise RefusedError("deployment_unknown", message, path="/deployment_profile_id")
    return deployment


def _check_description(request: Request, deployment: Deployment) -> None:
    described = (
        ("target_profile", request.target_profile, deployment.target_profile),
        ("target_capability", request.target_capability, deployment.target_capability),
    )
    for name, asked, registered in described:
        member = _first_difference(asked, registered)
        if member is not None:
            message = f"{member} differs from the registered {name}"
            raise RefusedError(f"{name}_mismatch", message, path=f"/{name}/{member}")


def _first_difference(
    asked: TargetProfile | TargetCapability, registered: TargetProfile | TargetCapability
) -> str | None:
    """The first member of the specs in which the two differ as JSON: `true` is not 1, and 1 is 1.0."""
    for member in type(asked).model_fields:
        sides = (model.model_dump(mode="json", include={member})[member] for model in (asked, registered))
        if not json_equal(*sides):
            return member
    return None


# --- 2. What is asked -----------------------------------------------------------------------------------


def check_tiers(request: Request | ScoreRequest) -> None:
    """Case, scoring profile and request name one observation tier.

    Raises:
        RefusedError: `case_tier_mismatch` or `scoring_profile_tier_mismatch`.
    """
    tier = request.observation_tier
    for code, path, named in (
        ("case_tier_mismatch", "/case/observation_tier", request.case.observation_tier),
        (
            "scoring_profile_tier_mismatch",
            "/scoring_profile/observation_tier",
            request.scoring_profile.observation_tier,
        ),
    ):
        if named != tier:
            raise RefusedError(code, f"names {named}, the request asks for {tier}", path=path)


def check_weights(profile: ScoringProfile) -> None:
    """Both weights are positive, with the exact decimal sum 1.

    Raises:
        RefusedError: `weights_unsound`.
    """
    if not profile.weights_are_sound():
        message = "deterministic_weight and llm_judge_weight must be positive with the exact sum 1"
        raise RefusedError("weights_unsound", message, path="/scoring_profile")


def _check_capability(request: Request) -> None:
    capability = request.target_capability
    lacking = [c for c in TIER_CHANNELS[request.observation_tier] if c not in capability.evidence_channels]
    if lacking:
        raise _lacking(request, lacking)
    if request.case.scenario_id not in capability.scenario_allowlist:
        message = "the case's scenario is not in the Target's scenario_allowlist"
        raise RefusedError("scenario_not_allowed", message, path="/case/scenario_id")


def _lacking(request: Request, channels: Sequence[str]) -> RefusedError:
    message = f"{request.observation_tier} needs {', '.join(channels)}, which the capability does not declare"
    return RefusedError("capability_lacks_channels", message, path="/target_capability/evidence_channels")


def _declared_tier(capability: TargetCapability) -> ObservationTier | None:
    """The highest tier all of whose channels the capability declares."""
    declared: ObservationTier | None = None
    for tier, channels in TIER_CHANNELS.items():
        if set(channels) <= set(capability.evidence_channels):
            declared = tier
    return declared


# --- 3. Where the Target is -----------------------------------------------------------------------------


def _target_endpoint(deployment: Deployment, registry: TargetRegistry) -> Endpoint:
    endpoint = deployment.endpoint
    return resolve_endpoint(
        "target",
        registry,
        url_variable=endpoint.base_url_env,
        allow_insecure_http=endpoint.allow_insecure_http,
        auth=deployment.auth,
    )


def _check_evidence_route(target: Endpoint, deployment: Deployment) -> None:
    """EVD-9: the evidence is read from the registered base, which follows from the invocation URL."""
    url, run_id = target.base + deployment.endpoint.run_path, "run-preflight"
    try:
        resolve_evidence_ref(url, EVIDENCE_PATH + run_id, run_id=run_id)
    except ProtocolError as error:
        message = f"run_path: expected {error.expected}"
        raise RefusedError("evidence_route_unknown", message, rule=error.rule) from None
