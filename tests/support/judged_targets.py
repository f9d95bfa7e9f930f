"""The conformance suite on a Target of a test: in process, on a socket, with the requirements it names."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path
from typing import Any

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.mutants.base_target import SECRET, TASKS
from agentbeat_conformance.mutants.registry import Mutant
from agentbeat_conformance.mutants.streams import listening
from agentbeat_conformance.outcomes import Outcome
from agentbeat_conformance.plans import make_plan
from agentbeat_conformance.requirements import Capability, Tier
from agentbeat_conformance.runner import Runner
from agentbeat_conformance.runs import Run
from agentbeat_conformance.sessions import Commands, Wire
from agentbeat_conformance.transcript_records import Subject
from agentbeat_conformance.wires import AsgiWire, SocketWire, marker

__all__ = ["TargetProcess", "judge_app", "judge_mutant", "judge_url", "shown"]

TARGETS = Path(__file__).parents[1] / "conformance" / "targets"


async def judge_app(
    app: Any,
    *,
    secret: str | None = SECRET,
    tasks: Sequence[str] = TASKS,
    only: Collection[str] = (),
    prefix: str = "",
    budget: int | None = None,
) -> Run:
    """Judge an L2 application in this process; `only` and `budget` as in `make_plan`."""
    async with AsgiWire(app) as wire:
        return await _judged(wire, "target.example", "target-L2", secret, tasks, only, prefix, budget=budget)


async def judge_url(
    url: str, *, secret: str, tier: Tier, tasks: Sequence[str] = (), commands: Commands | None = None
) -> Run:
    """Judge a Target that listens at a URL."""
    return await _judged(SocketWire(url), url.removeprefix("http://"), tier, secret, tasks, commands=commands)


async def judge_mutant(mutant: Mutant, *, only: Collection[str] = ()) -> Run:
    """Judge a new server of the register, over the wire that it is for."""
    async with _reached(mutant) as (wire, host):
        return await _judged(wire, host, mutant.tier, mutant.secret, TASKS, only)


def shown(run: Run, *outcomes: Outcome) -> dict[str, str]:
    """The requirements with these outcomes, and what a reader would look at first."""
    return {
        result.requirement.id: result.findings[0].message if result.findings else result.reason or ""
        for result in run.results
        if result.outcome in outcomes
    }


@contextlib.asynccontextmanager
async def _reached(mutant: Mutant) -> AsyncIterator[tuple[Wire, str]]:
    server = mutant.make()
    if mutant.on_socket:
        assert server.stream is not None
        async with listening(server.stream) as port:
            yield SocketWire(f"http://127.0.0.1:{port}"), f"127.0.0.1:{port}"
    else:
        assert server.app is not None
        async with AsgiWire(server.app) as wire:
            yield wire, "target.example"


async def _judged(
    wire: Wire,
    host: str,
    tier: Tier,
    secret: str | None,
    tasks: Sequence[str],
    only: Collection[str] = (),
    prefix: str = "",
    commands: Commands | None = None,
    budget: int | None = None,
) -> Run:
    capabilities = {Capability.RESTART} if commands else set()
    plan = make_plan(
        tier,
        catalogue=load_catalogue(),
        only=only,
        tasks=len(tasks),
        capabilities=capabilities,
        budget=budget,
    )
    options = {"host": host, "prefix": prefix, "secret": secret and marker(), "tasks": list(tasks)}
    subject = Subject(kind="target", url=f"http://{host}{prefix}", options=options)
    secrets = {"secret": secret} if secret else {}
    return await Runner(plan, subject, wire=wire, secrets=secrets, commands=commands).run()


class TargetProcess:
    """A hand-written Target in a process of its own, which can be killed and started anew."""

    def __init__(self, name: str, folder: Path, *, secret: str) -> None:
        self._script = str(TARGETS / f"{name}.py")
        self._store = str(folder / "runs.sqlite3")
        self._secret = secret
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._process = self._started()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    async def restart(self, *, scope: str) -> bool:
        """See `Commands`: kill it, and start it on the same store."""
        self.kill()
        self._process = self._started()
        return True

    async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
        """See `Commands`: a Target has no such plane."""
        return False

    def kill(self) -> None:
        """`kill -9`."""
        self._process.kill()
        self._process.wait(timeout=10)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _started(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, self._script, "--port", str(self._port), "--store", self._store],
            env={**os.environ, "TARGET_SECRET": self._secret},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline().strip() == self.url, "the Target did not start"
        return process
