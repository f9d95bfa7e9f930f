"""The registry of the demo: each Target with its Deployment, and the State Controller that it works with.

It has the shape that anybody's registry has, and no secret or address in it: those are in the variables that
it names. The profile digests are the ones that the Controllers list when the demo starts. That is trust on
first use, fine for servers that the demo has started itself; a real registry is written by hand, or once, and
kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx

from agentbeat_core.demo.stage import CAST, Controller, Player, Stage
from agentbeat_protocol import CONTROL_PATH, Catalogue
from agentbeat_protocol.evaluation import TIER_CHANNELS
from agentbeat_protocol.models import validated
from agentbeat_protocol.strict_json import read_json

__all__ = ["deployment_document", "registry_document"]

_SECONDS: Final = 10.0


async def registry_document(stage: Stage, scenarios: tuple[str, ...]) -> dict[str, Any]:
    """The registry file's content.

    Args:
        scenarios: the scenarios that every Target takes; each is judged by the profile of the same name.

    Raises:
        KeyError: a Controller has no profile of that name.
    """
    profiles = {
        name: _pinned(await _catalogue(controller), scenarios)
        for name, controller in stage.controllers.items()
    }
    return {
        "schema_version": "agent-target-registry-v1",
        "targets": [
            {
                "target_id": player.target_id,
                "deployments": [
                    deployment_document(
                        player, stage.controllers[player.controller], profiles[player.controller]
                    )
                ],
            }
            for player in CAST
        ],
    }


def deployment_document(
    player: Player, controller: Controller, profiles: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """A Target's only Deployment, as the registry describes it.

    Args:
        profiles: scenario → the pinned profile.
    """
    secret_ref, endpoint_ref = f"{player.target_id}-secret", f"{player.target_id}-endpoint"
    return {
        "deployment_profile_id": player.deployment_id,
        "invocation_protocol": "target-invocation-v1",
        "environment_binding_mode": "catalog",
        "target_profile": {
            "schema_version": "target-profile-v1",
            "target_id": player.target_id,
            "connector_id": "business-http-json-v1",
            "endpoint_ref": endpoint_ref,
            "environment_ownership": "evaluator_owned",
            "management_mode": "externally_managed",
            "execution_route": "direct_target",
            "auth_secret_ref": secret_ref,
        },
        "target_capability": {
            "schema_version": "target-capability-v1",
            "target_id": player.target_id,
            "input_modes": ["text"],
            "environment_modes": ["catalog"],
            "scenario_allowlist": list(profiles),
            # The Target that serves L1 alone is registered like an L2 one, on purpose.
            "evidence_channels": list(TIER_CHANNELS["L2" if player.tier == "L1" else "L3"]),
            "instrumentation": "agentbeat-sdk",
            "state_verifier": "state-controller-v1",
        },
        "endpoint": {"endpoint_ref": endpoint_ref, "base_url_env": player.url_variable},
        "auth": {"secret_ref": secret_ref, "value_env": player.token_variable},
        "public_summary": {"agent": player.agent, "served_evidence": player.tier},
        "state_controller": {
            "controller_id": controller.controller_id,
            "endpoint": {"base_url_env": controller.url_variable},
            "auth": {
                "secret_ref": f"control-{controller.name}-secret",
                "value_env": controller.secret_variable,
            },
            "verify_key": {
                "key_id": controller.ready["signing_key_id"],
                "algorithm": "ed25519",
                "public_key": controller.ready["verify_key"],
            },
            "profiles": dict(profiles),
        },
        "timeouts": {"connect": 5, "invoke": 30, "evidence": 10, "controller": 10, "judge": 10},
    }


async def _catalogue(controller: Controller) -> Catalogue:
    headers = {"Authorization": f"Bearer {controller.control_secret()}"}
    async with httpx.AsyncClient(headers=headers, timeout=_SECONDS, trust_env=False) as client:
        answer = await client.get(f"{controller.control_url}{CONTROL_PATH}profiles")
        answer.raise_for_status()
    return validated(Catalogue, read_json(answer.content))


def _pinned(catalogue: Catalogue, scenarios: tuple[str, ...]) -> dict[str, dict[str, str]]:
    digests = {entry.profile_id: entry.profile_digest for entry in catalogue.profiles}
    return {scenario: {"profile_id": scenario, "profile_digest": digests[scenario]} for scenario in scenarios}
