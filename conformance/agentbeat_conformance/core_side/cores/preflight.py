"""May this run start, and with what? The preflight of the small Core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from agentbeat_protocol import Origin
from agentbeat_protocol.evaluation import (
    TIER_CHANNELS,
    Deployment,
    EvalRunRequest,
    ObservationTier,
    RegisteredController,
    Registry,
    Rule,
)
from agentbeat_protocol.state_receipts import BindingMode

__all__ = ["Peer", "RefusedError", "Run", "planned"]

Environment = Mapping[str, str | None]

_PHASES: Final = ("invoke", "evidence", "controller", "judge")
_INDEPENDENT: Final = "controller_not_independent"


class RefusedError(Exception):
    """The run may not start; the argument is the code."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is called, and with which secret."""

    base: str
    secret: str | None

    @property
    def authorization(self) -> dict[str, str]:
        """The header field for the secret."""
        return {} if self.secret is None else {"Authorization": f"Bearer {self.secret}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that may start."""

    run_id: str
    case_id: str
    tier: ObservationTier
    task: str
    target: Peer
    controller: Peer | None
    registered: RegisteredController | None
    judge: Peer | None
    judge_model: str
    seconds: Mapping[str, float]
    rules: tuple[Rule, ...]
    weights: tuple[Decimal, Decimal]
    deployment_profile_id: str
    binding_mode: BindingMode
    profile_id: str
    profile_digest: str

    @property
    def common(self) -> dict[str, Any]:
        """The members of every control request."""
        return {
            "schema_version": "state-controller-v1",
            "run_id": self.run_id,
            "case_id": self.case_id,
            "profile_id": self.profile_id,
        }


def planned(
    request: EvalRunRequest,
    registry: Registry,
    environment: Environment,
    *,
    overlooked: frozenset[str] = frozenset(),
) -> Run:
    """The run that the request asks for.

    Args:
        overlooked: the codes that a mutant does not refuse for.

    Raises:
        RefusedError: it may not start.
    """
    deployment = registry.deployment(request.target_profile.target_id, request.deployment_profile_id)
    if deployment is None:
        raise RefusedError("deployment_unknown")
    _check(request, deployment, overlooked)
    target = _peer(
        environment,
        deployment.endpoint.base_url_env,
        deployment.auth.value_env if deployment.auth else None,
        deployment.endpoint.allow_insecure_http or "insecure_http" in overlooked,
    )
    registered = deployment.state_controller
    controller = _controller(request, registered, environment)
    if controller and _shared(controller, target) and _INDEPENDENT not in overlooked:
        raise RefusedError(_INDEPENDENT)
    pinned = registered.profiles.get(request.case.scenario_id) if registered else None
    timeouts = request.timeouts.model_dump() if request.timeouts else {}
    judge_url = environment.get("AIBEAT_JUDGE_BASE_URL")
    return Run(
        run_id=request.run_id,
        case_id=request.case.case_id,
        tier=request.observation_tier,
        task=request.case.prompt,
        target=target,
        controller=controller,
        registered=registered,
        judge=Peer(judge_url, environment.get("AIBEAT_JUDGE_API_KEY")) if judge_url else None,
        judge_model=environment.get("AIBEAT_JUDGE_MODEL") or "",
        seconds={phase: float(timeouts.get(phase) or 30) for phase in _PHASES},
        rules=request.scoring_profile.rules,
        weights=(request.scoring_profile.deterministic_weight, request.scoring_profile.llm_judge_weight),
        deployment_profile_id=deployment.deployment_profile_id,
        binding_mode=deployment.environment_binding_mode,
        profile_id=pinned.profile_id if pinned else "none",
        profile_digest=pinned.profile_digest if pinned else "none",
    )


def _check(request: EvalRunRequest, deployment: Deployment, overlooked: frozenset[str]) -> None:
    tier, profile = request.observation_tier, request.scoring_profile
    plants = request.case.untrusted_input != "" and request.case.injection_point != "prompt"
    faults = {
        "target_profile_mismatch": request.target_profile != deployment.target_profile,
        "target_capability_mismatch": request.target_capability != deployment.target_capability,
        "case_tier_mismatch": request.case.observation_tier != tier,
        "scoring_profile_tier_mismatch": profile.observation_tier != tier,
        "capability_lacks_channels": not set(TIER_CHANNELS[tier])
        <= set(request.target_capability.evidence_channels),
        "scenario_not_allowed": request.case.scenario_id not in request.target_capability.scenario_allowlist,
        "weights_unsound": not profile.weights_are_sound(),
        "injection_needs_state_controller": plants and deployment.state_controller is None,
        "state_controller_missing": tier == "L3" and deployment.state_controller is None,
    }
    for code, fault in faults.items():
        if fault and code not in overlooked:
            raise RefusedError(code)


def _controller(
    request: EvalRunRequest,
    registered: RegisteredController | None,
    environment: Environment,
) -> Peer | None:
    if registered is None or request.observation_tier != "L3":
        return None
    return _peer(
        environment,
        registered.endpoint.base_url_env,
        registered.auth.value_env,
        registered.endpoint.allow_insecure_http,
    )


def _shared(controller: Peer, target: Peer) -> bool:
    """Whether Target and State Controller share an origin or a secret."""
    one_origin = Origin.parse(controller.base) == Origin.parse(target.base)
    return one_origin or controller.secret == target.secret


def _peer(environment: Environment, url: str, secret: str | None, insecure: bool) -> Peer:
    base = environment.get(url)
    held = environment.get(secret) if secret else None
    if not base or (secret and not held):
        raise RefusedError("variable_not_set")
    origin = Origin.parse(base)
    if origin.scheme == "http" and not origin.is_loopback and not insecure:
        raise RefusedError("insecure_http")
    return Peer(base, held)
