"""Who prepares the environment of a run, and at L3 judges it: the registered State Controller, if any.

- A non-empty `untrusted_input` with an injection point other than `prompt` is planted by the Controller's
  reset, at the surface `untrusted_surface`.
- A Controller that pins a profile for the scenario prepares the environment at every tier. One that pins none
  takes no part, unless the tier is L3 or there is something to plant: then that is refused.
- It is independent of the Target: another origin, another secret.
"""

from __future__ import annotations

import base64

from agentbeat_core.endpoints import place_of, resolve_endpoint
from agentbeat_core.plans import ControllerPlan, Endpoint
from agentbeat_core.refusals import RefusedError
from agentbeat_core.registry import TargetRegistry
from agentbeat_protocol import Injection, ProtocolError
from agentbeat_protocol.evaluation import (
    AgentCase,
    Deployment,
    ObservationTier,
    PinnedProfile,
    RegisteredController,
    VerifyKey,
)
from agentbeat_protocol.models import validated
from agentbeat_protocol.scoring import planted_injection

__all__ = ["controller_plan"]


def controller_plan(
    case: AgentCase,
    tier: ObservationTier,
    *,
    deployment: Deployment,
    registry: TargetRegistry,
    target: Endpoint,
) -> ControllerPlan | None:
    """The State Controller's part in the run; None when it has none.

    Raises:
        RefusedError: the run needs a Controller, or more of one, than is registered.
    """
    registered = deployment.state_controller
    planted = planted_injection(case)
    plants = planted is not None
    profile = registered.profiles.get(case.scenario_id) if registered else None
    if registered is None and plants:
        message = "register a State Controller: it plants untrusted_input where the Agent reads it"
        raise RefusedError("injection_needs_state_controller", message, path="/case/untrusted_input")
    if registered is None and tier == "L3":
        message = "register a State Controller for this Deployment, or ask for L1 or L2"
        raise RefusedError("state_controller_missing", message, path="/observation_tier")
    if registered is None or (profile is None and not plants and tier != "L3"):
        return None
    if profile is None:
        message = "the Deployment's state_controller.profiles does not pin this scenario"
        raise RefusedError("scenario_profile_not_pinned", message, path="/case/scenario_id")
    return _resolved_controller(planted, deployment, registered, profile, registry, target)


def _resolved_controller(
    planted: dict[str, str] | None,
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


def _injection(planted: dict[str, str]) -> Injection:
    try:
        return validated(Injection, planted)
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
