"""One trial of the suite: every check against one mutant, degenerate server or oddity, in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from agentbeat_conformance.mutants.base_controller import DEPLOYMENT
from agentbeat_conformance.mutants.base_target import TASKS
from agentbeat_conformance.mutants.registry import Kind, Mutant, MutantServer
from agentbeat_conformance.mutants.streams import listening
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.plans import Plan, make_plan
from agentbeat_conformance.requirements import Capability, Level, Requirement
from agentbeat_conformance.runner import Runner
from agentbeat_conformance.runs import Run
from agentbeat_conformance.sessions import Wire
from agentbeat_conformance.transcript_records import Subject
from agentbeat_conformance.wires import AsgiWire, SocketWire, marker

__all__ = ["Trial", "faults_of", "run_of", "try_mutant"]

#: How long a server may take for one answer, in seconds: enough for a busy machine, and short for one that
#: never answers.
PATIENCE: Final = 3.0
_HOST: Final = "127.0.0.1:1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How the suite judged one server.

    Attributes:
        failed: the ids of the MUST requirements that fail.
        warned: the ids of the SHOULD requirements that are not met.
        untried: the ids of those that could not run.
        errors: faults of the suite's own, by id.
        seconds: how long it took.
    """

    name: str
    kind: Kind
    verdict: Verdict
    failed: tuple[str, ...]
    warned: tuple[str, ...]
    untried: tuple[str, ...]
    errors: tuple[tuple[str, str], ...]
    seconds: float

    @property
    def caught(self) -> frozenset[str]:
        """Every requirement that is not met, as the suite says."""
        return frozenset(self.failed) | frozenset(self.warned)


async def try_mutant(mutant: Mutant, catalogue: Mapping[str, Requirement]) -> Trial:
    """Run every check of the mutant's tier on a new server of its kind."""
    begun = time.monotonic()
    run = await run_of(mutant, catalogue)

    def ids(outcome: Outcome) -> tuple[str, ...]:
        return tuple(result.requirement.id for result in run.results if result.outcome is outcome)

    return Trial(
        name=mutant.name,
        kind=mutant.kind,
        verdict=run.verdict,
        failed=ids(Outcome.FAIL),
        warned=ids(Outcome.WARN),
        untried=ids(Outcome.COULD_NOT_RUN),
        errors=tuple(
            (result.requirement.id, result.reason or "")
            for result in run.results
            if result.outcome is Outcome.ERROR
        ),
        seconds=time.monotonic() - begun,
    )


def faults_of(mutant: Mutant, trial: Trial, catalogue: Mapping[str, Requirement]) -> list[str]:
    """What the trial shows against the suite; empty when it did what the mutant is there for."""
    faults = [f"{id} failed itself: {reason}" for id, reason in trial.errors]
    if mutant.kind in ("target", "controller"):
        faults += [f"{id} does not catch it" for id in sorted(mutant.breaks - trial.caught)]
        further = set(trial.failed) - mutant.breaks - mutant.consequences
        faults += [f"{id} fails on it, which is no declared consequence" for id in sorted(further)]
        broken = [catalogue[id] for id in mutant.breaks if id in catalogue]
        if any(made.level is Level.MUST for made in broken) and trial.verdict is Verdict.CONFORMANT:
            faults.append("it is found conformant")
    elif mutant.kind == "degenerate" and trial.verdict is Verdict.CONFORMANT:
        faults.append("it is found conformant")
    elif mutant.kind == "oddity":
        faults += [f"{id} accuses it" for id in trial.failed]
        faults += [f"{id} could not run" for id in trial.untried]
        if trial.verdict is not Verdict.CONFORMANT and not trial.failed and not trial.untried:
            faults.append(f"its verdict is {trial.verdict}")
    return [f"{mutant.name}: {fault}" for fault in faults]


async def run_of(mutant: Mutant, catalogue: Mapping[str, Requirement]) -> Run:
    """The run of a new server of this kind."""
    server = mutant.make()
    async with _wire(mutant, server) as (wire, host):
        return await Runner(
            _plan(mutant, catalogue),
            _subject(mutant, server, host),
            wire=wire,
            secrets={"secret": mutant.secret} if mutant.secret else {},
            commands=_Commands(server),
            pause=server.pause if isinstance(server, _HasClock) else asyncio.sleep,
        ).run()


@runtime_checkable
class _HasClock(Protocol):
    """A server whose clock can be moved."""

    def pause(self, seconds: float) -> Awaitable[object]: ...


@runtime_checkable
class _HasBusinessPlane(Protocol):
    """A server that takes business writes."""

    async def write(self, canary: str, run_id: str) -> bool: ...


@runtime_checkable
class _Signs(Protocol):
    """A server that signs its receipts."""

    @property
    def verify_key(self) -> str: ...


class _Commands:
    """See `Commands`: what the suite would do by shell commands."""

    def __init__(self, server: MutantServer) -> None:
        self._server = server

    async def restart(self, *, scope: str) -> bool:  # noqa: ARG002 - the signature of Commands
        await self._server.restart()
        return True

    async def write(self, canary: str, *, run_id: str, scope: str) -> bool:  # noqa: ARG002 - as above
        return isinstance(self._server, _HasBusinessPlane) and await self._server.write(canary, run_id)


@asynccontextmanager
async def _wire(mutant: Mutant, server: MutantServer) -> AsyncIterator[tuple[Wire, str]]:
    """A wire to the server, and its authority."""
    if mutant.on_socket and server.stream is not None:
        async with listening(server.stream) as port:
            host = f"127.0.0.1:{port}"
            yield SocketWire(f"http://{host}", timeout=PATIENCE), host
    elif not mutant.on_socket and server.app is not None:
        async with AsgiWire(server.app, timeout=PATIENCE) as wire:
            yield wire, _HOST
    else:
        raise ValueError(f"mutant {mutant.name}: it does not make the kind of server that it says")


def _plan(mutant: Mutant, catalogue: Mapping[str, Requirement]) -> Plan:
    is_target = mutant.tier != "controller"
    capabilities = {Capability.RESTART, *(() if is_target else (Capability.WRITE,))}
    return make_plan(
        mutant.tier, catalogue=catalogue, capabilities=capabilities, tasks=len(TASKS) if is_target else 0
    )


def _subject(mutant: Mutant, server: MutantServer, host: str) -> Subject:
    url, options = f"http://{host}", {"host": host, "secret": marker() if mutant.secret else None}
    if mutant.tier != "controller":
        return Subject(kind="target", url=url, options={**options, "tasks": list(TASKS)})
    key = server.verify_key if isinstance(server, _Signs) else None
    options |= {"deployment_id": DEPLOYMENT, "verify_key": key}
    return Subject(kind="controller", url=url, options=options)
