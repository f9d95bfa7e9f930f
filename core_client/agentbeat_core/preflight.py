"""May this run start? Pure checks over request, registry and environment; nothing is called.

`plan_run` goes through the checks in the order of `REFUSALS` and raises the first refusal, or returns a
`Plan` with everything resolved. What it decides beside the refusals:

- The task is the case's `prompt`. Where `injection_point` is `prompt`, a blank line and `untrusted_input`
  follow. It is the same at every tier.
- A non-empty `untrusted_input` with any other injection point is planted by the State Controller's reset, at
  the surface `untrusted_surface`.
- A registered Controller that pins a profile for the scenario prepares the environment at every tier. One
  that pins none takes no part, unless the tier is L3 or there is something to plant: then that is refused.
- Profile and capability are compared member by member as JSON; members that the specs do not name are
  ignored.

    plan = plan_run(request, TargetRegistry.from_environment())
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final

from agentbeat_core.endpoints import place_of, resolve_endpoint
from agentbeat_core.plans import ControllerPlan, Endpoint, Plan, Seconds
from agentbeat_core.refusals import RefusedError
from agentbeat_core.registry import TargetRegistry
from agentbeat_protocol import EVIDENCE_PATH, Injection, ProtocolError, canonical_json, resolve_evidence_ref
from agentbeat_protocol.evaluation import (
    TIER_CHANNELS,
    AgentCase,
    Deployment,
    EvalRunRequest,
    Negotiation,
    ObservationTier,
    PinnedProfile,
    PreflightRequest,
    RegisteredController,
    TargetCapability,
    TargetProfile,
    VerifyKey,
)
from agentbeat_protocol.invocations import MAX_TEXT_BYTES
from agentbeat_protocol.models import validated

__all__ = ["EXECUTION_ROUTE", "negotiate", "plan_run", "task_text"]

#: The one way in which this Core reaches a Target.
EXECUTION_ROUTE: Final = "python_core_business_http"

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
    _check_tiers(request)
    _check_capability(request)
    if not request.scoring_profile.weights_are_sound():
        message = "deterministic_weight and llm_judge_weight must be positive with the exact sum 1"
        raise RefusedError("weights_unsound", message, path="/scoring_profile")
    task = task_text(request.case)
    if (size := len(task.encode())) > MAX_TEXT_BYTES:
        message = f"the task has {size} bytes of UTF-8, a Target takes at most {MAX_TEXT_BYTES}"
        raise RefusedError("task_too_large", message, path="/case/prompt", rule="INV-3")
    # 3. Where the Target is, and where its evidence.
    target = _target_endpoint(deployment, registry)
    if request.observation_tier != "L1":
        _check_evidence_route(target, deployment)
    # 4. Who prepares the environment, and at L3 judges it.
    controller = _controller_plan(request, deployment, registry, target)
    requested = request.timeouts if isinstance(request, EvalRunRequest) else None
    return Plan(
        case=request.case,
        tier=request.observation_tier,
        scoring_profile=request.scoring_profile,
        deployment=deployment,
        task=task,
        target=target,
        run_path=deployment.endpoint.run_path,
        controller=controller,
        seconds=Seconds.resolve(requested, deployment.timeouts),
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


def task_text(case: AgentCase) -> str:
    """The text that the Agent is given, at every tier."""
    if case.injection_point == "prompt" and case.untrusted_input:
        return f"{case.prompt}\n\n{case.untrusted_input}"
    return case.prompt


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
    route = request.target_profile.execution_route
    if route != EXECUTION_ROUTE:
        message = f"this Core runs {EXECUTION_ROUTE} only"
        raise RefusedError("execution_route_unsupported", message, path="/target_profile/execution_route")


def _first_difference(
    asked: TargetProfile | TargetCapability, registered: TargetProfile | TargetCapability
) -> str | None:
    """The first member of the specs in which the two differ as JSON: `true` is not 1, and 1 is 1.0."""
    for member in type(asked).model_fields:
        sides = (model.model_dump(mode="json", include={member})[member] for model in (asked, registered))
        one, other = map(canonical_json, sides)
        if one != other:
            return member
    return None


# --- 2. What is asked -----------------------------------------------------------------------------------


def _check_tiers(request: Request) -> None:
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


# --- 4. Who prepares the environment --------------------------------------------------------------------


def _controller_plan(
    request: Request, deployment: Deployment, registry: TargetRegistry, target: Endpoint
) -> ControllerPlan | None:
    case, registered = request.case, deployment.state_controller
    plants = case.untrusted_input != "" and case.injection_point != "prompt"
    profile = registered.profiles.get(case.scenario_id) if registered else None
    if registered is None and plants:
        message = "register a State Controller: it plants untrusted_input where the Agent reads it"
        raise RefusedError("injection_needs_state_controller", message, path="/case/untrusted_input")
    if registered is None and request.observation_tier == "L3":
        message = "register a State Controller for this Deployment, or ask for L1 or L2"
        raise RefusedError("state_controller_missing", message, path="/observation_tier")
    if registered is None or (profile is None and not plants and request.observation_tier != "L3"):
        return None
    if profile is None:
        message = "the Deployment's state_controller.profiles does not pin this scenario"
        raise RefusedError("scenario_profile_not_pinned", message, path="/case/scenario_id")
    return _resolved_controller(case if plants else None, deployment, registered, profile, registry, target)


def _resolved_controller(
    planted: AgentCase | None,
    deployment: Deployment,
    registered: RegisteredController,
    profile: PinnedProfile,
    registry: TargetRegistry,
    target: Endpoint,
) -> ControllerPlan:
    injection = None if planted is None else _injection(planted)
    endpoint = resolve_endpoint(
        "controller",
        registry,
        url_variable=registered.endpoint.base_url_env,
        allow_insecure_http=registered.endpoint.allow_insecure_http,
        auth=registered.auth,
    )
    _check_independence(endpoint, target)
    _check_verify_key(registered.verify_key)
    return ControllerPlan(
        controller_id=registered.controller_id,
        endpoint=endpoint,
        profile=profile,
        binding_mode=deployment.environment_binding_mode,
        injection=injection,
        verify_key=registered.verify_key,
    )


def _injection(case: AgentCase) -> Injection:
    try:
        return validated(Injection, {"surface": case.untrusted_surface, "text": case.untrusted_input})
    except ProtocolError as error:
        member = "untrusted_surface" if error.path == "/surface" else "untrusted_input"
        message = f"{member}: got {error.got}, expected {error.expected}"
        raise RefusedError("injection_invalid", message, path=f"/case/{member}", rule=error.rule) from None


def _check_independence(controller: Endpoint, target: Endpoint) -> None:
    if place_of(controller.origin) == place_of(target.origin):
        raise RefusedError("controller_not_independent", "Target and State Controller have the same origin")
    if target.secret is not None and controller.secret == target.secret:
        raise RefusedError("controller_not_independent", "Target and State Controller have the same secret")


def _check_verify_key(key: VerifyKey | None) -> None:
    if key is None:
        return
    # 43 characters carry 258 bits; the two over must be zero, or one key has several spellings.
    raw = base64.urlsafe_b64decode(key.public_key + "=")
    if base64.urlsafe_b64encode(raw).decode().rstrip("=") != key.public_key:
        message = "state_controller.verify_key.public_key: expected the base64url of 32 bytes"
        raise RefusedError("verify_key_invalid", message)
