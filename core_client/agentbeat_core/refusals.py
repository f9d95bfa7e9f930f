"""Why Core does not start a run: every refusal has one code, listed here in the order of the checks.

The order is fixed, and the first check that fails is the one that is reported. Nothing is called before all
have passed. `agentbeat preflight` answers with the same codes.

>>> refusal = RefusedError("scenario_not_allowed", "not in scenario_allowlist", path="/case/scenario_id")
>>> refusal.failure.code, next(iter(REFUSALS))
('scenario_not_allowed', 'registry_not_configured')
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_protocol.evaluation import Failure

__all__ = ["REFUSALS", "RefusedError"]

#: Code → what it means. The order is the order in which they are looked for.
REFUSALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # The registry file.
        "registry_not_configured": "AIBEAT_AGENT_TARGET_REGISTRY names no file",
        "registry_unreadable": "the registry file cannot be read",
        "registry_invalid": "the registry file is not an agent-target-registry-v1",
        # Who is asked.
        "target_unknown": "the registry has no Target of this target_id",
        "deployment_unknown": "the Target has no Deployment of this deployment_profile_id",
        "target_profile_mismatch": "the request's target_profile is not the registered one",
        "target_capability_mismatch": "the request's target_capability is not the registered one",
        # What is asked.
        "case_tier_mismatch": "case and request name different observation tiers",
        "scoring_profile_tier_mismatch": "scoring profile and request name different observation tiers",
        "capability_lacks_channels": "the capability does not declare every channel of the tier",
        "scenario_not_allowed": "the scenario is not in the capability's scenario_allowlist",
        "weights_unsound": "the weights are not both positive with the exact sum 1",
        "task_too_large": "the task is longer than a Target has to take (INV-3)",
        # Where the Target is.
        "target_url_not_set": "the variable that holds the Target's URL is not set",
        "target_url_invalid": "the Target's URL is ambiguous, or more than origin and path",
        "target_insecure_http": "plain HTTP to another machine, without allow_insecure_http",
        "evidence_route_unknown": "run_path is not the protocol's route, so no evidence route follows",
        "target_secret_not_set": "the variable that holds the Target's secret is not set",
        "target_secret_invalid": "the Target's secret cannot be sent in a header",
        # Who prepares and judges the environment.
        "injection_needs_state_controller": "the untrusted input needs a State Controller to reach the Agent",
        "state_controller_missing": "L3 needs a State Controller, and none is registered",
        "scenario_profile_not_pinned": "the State Controller has no pinned profile for the scenario",
        "injection_invalid": "the untrusted input has no surface, or more than 32,768 characters",
        "controller_url_not_set": "the variable that holds the Controller's URL is not set",
        "controller_url_invalid": "the Controller's URL is ambiguous, or more than origin and path",
        "controller_insecure_http": "plain HTTP to another machine, without allow_insecure_http",
        "controller_secret_not_set": "the variable that holds the Controller's secret is not set",
        "controller_secret_invalid": "the Controller's secret cannot be sent in a header",
        "controller_not_independent": "the State Controller shares origin or secret with the Target",
        "verify_key_invalid": "the registered verify key is no Ed25519 public key",
    }
)


class RefusedError(Exception):
    """A run that does not start.

    Args:
        code: one of `REFUSALS`.
        message: what was found and what to do, safe to print.
        path: RFC 6901 pointer into the request, where the request is at fault.
        rule: the rule of the protocol that was broken, where one was.
    """

    def __init__(self, code: str, message: str, *, path: str | None = None, rule: str | None = None) -> None:
        if code not in REFUSALS:
            raise ValueError(f"got the refusal {code}, expected one of REFUSALS")
        self.failure = Failure(code=code, message=message, path=path, rule=rule)
        super().__init__(f"{code}: {message}")
