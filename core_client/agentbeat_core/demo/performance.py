"""The demo's work: every case is evaluated against the servers that are up.

Cases run side by side: in `catalog` mode each run has an environment of its own, so none disturbs another.
Which case stops a State Controller says so itself; that Controller serves this one run alone.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_core.core import Core
from agentbeat_core.demo.case_set import DemoCase, scenario_titles
from agentbeat_core.demo.outcomes import differences, outcome_of
from agentbeat_core.demo.output import OutputFolder
from agentbeat_core.demo.progress import Progress
from agentbeat_core.demo.registration import registry_document
from agentbeat_core.demo.stage import CAST, Stage, controller_child
from agentbeat_core.demo.supervision import Supervisor
from agentbeat_core.demo.table import Row
from agentbeat_core.judge.client import judge_from_environment
from agentbeat_core.registry import TargetRegistry
from agentbeat_core.runs import PhaseName
from agentbeat_protocol.evaluation import Deployment, EvalRunResponse, read_eval_run_request

__all__ = ["Performed", "perform", "row_of"]

#: How many runs are under way at once.
_AT_ONCE: Final = 6

_PLAYERS: Final = {player.name: player for player in CAST}


@dataclass(frozen=True, kw_only=True)
class Performed:
    """A case that was run, its result and its row."""

    case: DemoCase
    run_id: str
    response: EvalRunResponse
    row: Row


async def perform(
    cases: Sequence[DemoCase],
    *,
    stage: Stage,
    supervisor: Supervisor,
    folder: OutputFolder,
    progress: Progress,
) -> list[Performed]:
    """Run every case and write its files; the results in the order of the cases."""
    document = await registry_document(stage, tuple(scenario_titles()))
    folder.write_registry(document)
    registry = TargetRegistry.read(json.dumps(document).encode(), environ=stage.environ)
    progress.runs(len(cases))
    room = asyncio.Semaphore(_AT_ONCE)
    async with Core(registry, judge=judge_from_environment(stage.environ)) as core:

        async def one(case: DemoCase) -> Performed:
            async with room:
                request, run_id = _request(case, registry)
                folder.write_request(case.name, request)
                response = await core.evaluate(
                    read_eval_run_request(json.dumps(request).encode()),
                    on_phase=_on_phase(case, supervisor, progress),
                )
                folder.write_result(case.name, response)
                performed = Performed(case=case, run_id=run_id, response=response, row=row_of(case, response))
                progress.done(case.name, _word(performed))
                return performed

        # Whoever loses its Controller has to wait for it in vain: the others run meanwhile.
        order = sorted(range(len(cases)), key=lambda index: not cases[index].stops_controller)
        ended = await asyncio.gather(*(one(cases[index]) for index in order))
        return [
            performed for _, performed in sorted(zip(order, ended, strict=True), key=lambda pair: pair[0])
        ]


def _request(case: DemoCase, registry: TargetRegistry) -> tuple[dict[str, Any], str]:
    run_id = f"run-demo-{case.name}-{secrets.token_hex(4)}"
    return case.request(_deployment(case, registry), run_id=run_id), run_id


def _deployment(case: DemoCase, registry: TargetRegistry) -> Deployment:
    player = _PLAYERS[case.player]
    deployment = registry.registry.deployment(player.target_id, player.deployment_id)
    if deployment is None:
        raise LookupError(f"the registry has no {player.deployment_id}")
    return deployment


def _on_phase(case: DemoCase, supervisor: Supervisor, progress: Progress) -> Callable[[PhaseName], None]:
    def tell(phase: PhaseName) -> None:
        progress.phase(case.name, phase)
        if case.stops_controller and phase == "snapshot_after":
            # The Agent has answered, and nobody has seen yet what it did to the state.
            supervisor.child(controller_child(_PLAYERS[case.player].controller)).kill()

    return tell


def row_of(case: DemoCase, response: EvalRunResponse) -> Row:
    """The row of a case that ended with this response."""
    outcome = outcome_of(response)
    surprises = differences(case.expect, outcome)
    if surprises and response.failure is not None:
        surprises += (response.failure.message,)
    return Row(
        name=case.name,
        case=scenario_titles()[case.scenario],
        note=case.note,
        agent=_PLAYERS[case.player].agent,
        tier=case.tier,
        outcome=outcome,
        surprises=surprises,
    )


def _word(performed: Performed) -> str:
    outcome = performed.row.outcome
    word = outcome.failure or f"overall {outcome.overall}"
    return f"{word}, not as expected" if performed.row.surprises else word
