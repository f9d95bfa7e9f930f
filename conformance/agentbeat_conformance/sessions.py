"""A session: the wire, the record of everything that went over it, and the budget that it is held to.

Checks never touch the network. They ask a probe, the probe asks its session, and the session hands the
request to a wire: a socket, an ASGI application, or a transcript of an earlier session. The ids that a
session makes follow from its seed alone, so the same checks over the same answers ask the same questions:
that is what makes a verdict a pure function of a transcript.

An endpoint that cannot be reached has shown nothing: no check sees `Failure.UNREACHABLE`.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from agentbeat_conformance.exchanges import Exchange, Failure, Request
from agentbeat_conformance.requirements import CouldNotRun

__all__ = ["Commands", "Ids", "Session", "Wire"]


class Wire(Protocol):
    """Carries one request at a time and never raises for what the other side does."""

    @property
    def has_sockets(self) -> bool:
        """Whether requests that need a real connection can be carried."""
        ...

    async def exchange(self, request: Request, *, scope: str) -> Exchange:
        """Send `request` and wait for its answer or for what stands in its place.

        Args:
            scope: the check (or the shared control) that asks; a transcript keeps its exchanges by it.
        """
        ...


class Commands(Protocol):
    """What the suite cannot do over the endpoint itself, such as restarting it."""

    async def restart(self, *, scope: str) -> bool:
        """Restart the server (`--restart-command`); whether it came back."""
        ...

    async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
        """Write `canary` into the environment of this run (`--write-command`); whether it was accepted."""
        ...


@dataclass(frozen=True, slots=True)
class Ids:
    """A run and its case."""

    run_id: str
    case_id: str


@dataclass(kw_only=True)
class Session:
    """One run of the suite against one endpoint.

    Attributes:
        wire: what carries the requests.
        seed: 1–32 characters of `[a-z0-9]`, new for each live session; all ids follow from it.
        budget: how many more times a conformant Target may be made to run; None is unbounded.
        safe: whether to do without positive controls (`--safe`); the budget is then 0.
        scope: the check that is running; `control` while a shared control is made.
        exchanges: the transcript; while one is under way, a time-out stands at its index.
        reached: whether the endpoint gave any answer.
        commands: what restarts the server or writes to the environment; None where the user gave no command.
        pause: lets that many seconds go by; a replay does not wait.
    """

    wire: Wire
    seed: str
    budget: int | None = None
    safe: bool = False
    scope: str = "control"
    exchanges: list[Exchange] = field(default_factory=list)
    reached: bool = False
    commands: Commands | None = None
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep
    _made: dict[str, int] = field(default_factory=dict)

    async def send(self, request: Request, *, runs: int = 0) -> Exchange:
        """Send a request that makes a conformant Target run `runs` times, and record the exchange.

        Raises:
            CouldNotRun: the budget is used up and nothing is sent, or the endpoint cannot be reached.
        """
        if self.budget is not None:
            if runs > self.budget:
                raise CouldNotRun("the budget of invocations is used up (--budget, --safe)")
            self.budget -= runs
        # Requests may be under way side by side; the order in which they began is the one that repeats.
        index = len(self.exchanges)
        self.exchanges.append(Exchange(request=request, answer=None, failure=Failure.TIMEOUT, index=index))
        try:
            exchange = await self.wire.exchange(request, scope=self.scope)
        except Exception:
            # A wire raises before it sends anything: there was no exchange.
            if index == len(self.exchanges) - 1:
                self.exchanges.pop()
            raise
        exchange = self.exchanges[index] = dataclasses.replace(exchange, index=index)
        self.reached = self.reached or exchange.answer is not None
        if exchange.failure is Failure.UNREACHABLE:
            raise CouldNotRun("the endpoint could not be reached")
        return exchange

    async def restart(self) -> None:
        """Restart the server, and come back when it answers again.

        Raises:
            CouldNotRun: there is no way to, or it did not come back.
        """
        if self.commands is None:
            raise CouldNotRun("it needs a way to restart the server (--restart-command)")
        if not await self.commands.restart(scope=self.scope):
            raise CouldNotRun("the restart command failed, or the server did not come back")

    async def write(self, canary: str, *, run_id: str) -> None:
        """Write `canary` into the environment of a run, over its business plane.

        Raises:
            CouldNotRun: there is no way to, or it was not accepted.
        """
        if self.commands is None:
            raise CouldNotRun("it needs a way to write to the environment (--write-command)")
        if not await self.commands.write(canary, run_id=run_id, scope=self.scope):
            raise CouldNotRun("the write command failed")

    def ids(self) -> Ids:
        """A run id and a case id that nobody used; they follow from seed, scope and how many it made."""
        scope = self.scope.lower().replace(".", "-")
        number = self._made[scope] = self._made.get(scope, 0) + 1
        name = f"conf-{self.seed}-{scope}-{number}"
        return Ids(f"run-{name}", f"case-{name}")
