"""The work: every run is evaluated, several at a time, against the servers that are up."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from agentbeat_core.agentdojo.cases import registry_document, request_document
from agentbeat_core.agentdojo.plays import Play
from agentbeat_core.agentdojo.stage import Stage, deployment_id, target_id
from agentbeat_core.agentdojo.tally import Seen, seen_in
from agentbeat_core.core import Core
from agentbeat_core.demo.progress import Progress
from agentbeat_core.registry import TargetRegistry
from agentbeat_protocol.evaluation import EvalRunResponse, read_eval_run_request

__all__ = ["perform"]


async def perform(
    plays: Sequence[Play],
    *,
    stage: Stage,
    at_once: int,
    progress: Progress,
    on_response: Callable[[Play, EvalRunResponse], None] | None = None,
) -> list[Seen]:
    """Evaluate every run; what came of each, in the order of the plan.

    Args:
        at_once: how many runs are under way at once.
        on_response: told each response as it comes.
    """
    document = registry_document(stage, plays)
    registry = TargetRegistry.read(json.dumps(document).encode(), environ=stage.environ)
    described = {agent: _described(registry, agent) for agent in stage.agents}
    progress.runs(len(plays))
    room = asyncio.Semaphore(at_once)
    async with Core(registry) as core:

        async def one(play: Play) -> Seen:
            async with room:
                run_id = f"run-agentdojo-{secrets.token_hex(8)}"
                request = request_document(play, described[play.agent], run_id=run_id)
                response = await core.evaluate(read_eval_run_request(json.dumps(request).encode()))
                if on_response is not None:
                    on_response(play, response)
                seen = seen_in(play, response)
                progress.done(play.name, "; ".join(seen.problems) or "as expected")
                return seen

        return await asyncio.gather(*(one(play) for play in plays))


def _described(registry: TargetRegistry, agent: str) -> dict[str, Any]:
    deployment = registry.registry.deployment(target_id(agent), deployment_id(agent))
    if deployment is None:
        raise LookupError(f"the registry has no {deployment_id(agent)}")
    return deployment.model_dump(
        mode="json", include={"target_profile", "target_capability"}, exclude_none=True
    )
