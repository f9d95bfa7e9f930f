"""The conformance suite run against a State Controller, and what came of it."""

from __future__ import annotations

import asyncio

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.mutants.base_controller import DEPLOYMENT
from agentbeat_conformance.mutants.registry import SECRET
from agentbeat_conformance.outcomes import Outcome
from agentbeat_conformance.plans import make_plan
from agentbeat_conformance.requirements import Capability
from agentbeat_conformance.runner import Runner
from agentbeat_conformance.transcript_records import Subject
from agentbeat_conformance.wires import marker

CATALOGUE = {id: made for id, made in load_catalogue().items() if made.tier == "controller"}


class Doing:
    """`Commands` made of two functions; without one it cannot be done."""

    def __init__(self, *, restart=None, write=None):
        self._restart, self._write = restart, write

    async def restart(self, *, scope):
        await self._restart()
        return True

    async def write(self, canary, *, run_id, scope):
        return await self._write(canary, run_id)


async def controller_run(
    wire,
    *,
    secret=SECRET,
    deployment=DEPLOYMENT,
    restart=None,
    write=None,
    pause=asyncio.sleep,
    only=(),
    seed="0",
    **options,
):
    """Every check of the tier `controller` over the wire; `options` are the probe's."""
    declared = {Capability.RESTART: restart, Capability.WRITE: write}
    plan = make_plan(
        "controller",
        catalogue=CATALOGUE,
        capabilities={capability for capability, how in declared.items() if how},
        only=only,
    )
    told = {"host": "127.0.0.1:1", "secret": marker(), "deployment_id": deployment, **options}
    return await Runner(
        plan,
        Subject(kind="controller", url="http://127.0.0.1:1", options=told),
        wire=wire,
        secrets={"secret": secret},
        commands=Doing(restart=restart, write=write) if restart or write else None,
        seed=seed,
        pause=pause,
    ).run()


async def run_of_server(server, wire, **options):
    """The run against one of the suite's own servers, with everything that it can do."""
    told = {
        "restart": server.restart,
        "write": server.write,
        "pause": server.pause,
        "verify_key": server.verify_key,
    }
    return await controller_run(wire, **told | options)


def ends(run):
    """What is not a pass, by id, with what was found."""
    return {
        result.requirement.id: f"{result.outcome}: {result.reason or [f.message for f in result.findings]}"
        for result in run.results
        if result.outcome is not Outcome.PASS
    }


def result_of(run, id):
    """One result."""
    return next(result for result in run.results if result.requirement.id == id)
