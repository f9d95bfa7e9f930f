"""How a check talks to a Target: requests that are right but for the one thing in question.

Three things are shared by all checks of a session. `control` is an invocation with nothing wrong about it:
without one that is answered 200 no refusal means anything. `traced` is an invocation with the user's task,
followed by the read of its evidence; `plain` is the same for the control.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_conformance.exchanges import Exchange, Request
from agentbeat_conformance.requirements import Capability, CouldNotRun
from agentbeat_conformance.sessions import Ids, Session
from agentbeat_protocol import (
    CASE_ID_HEADER,
    EVIDENCE_PATH,
    HEALTH_PATH,
    INVOCATION_PATH,
    RUN_ID_HEADER,
)

__all__ = ["KEEP", "TargetProbe", "Traced"]

#: What the suite asks when no task was given: any Agent can answer it, and it changes nothing.
PLAIN_TASK: Final = "Reply with one short sentence that says that you are ready. Change nothing."


class _Keep:
    """Stands for: leave this part of the request as it should be."""


KEEP: Final = _Keep()


@dataclass(frozen=True, slots=True)
class Traced:
    """A run of the user's task, and its evidence."""

    ids: Ids
    invocation: Exchange
    evidence: Exchange


class _NotMade(Exchange):
    """The control that `--safe` leaves out: a check that looks at it could not run."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return super().__getattribute__(name)
        raise CouldNotRun("it looks at the positive control, which is not made (--safe)")


def _not_made() -> Exchange:
    return _NotMade(request=Request(raw=b"", method="", target="", fields=()), answer=None)


class TargetProbe:
    """Talks to one Target.

    Args:
        session: records and bounds what is sent.
        host: the Host of every request, `127.0.0.1:8080`.
        prefix: the path before `/v1/…`, empty at the root.
        secret: the bearer secret; None for a Target without one.
        tasks: the user's tasks that make the Agent use tools.
        scheme: `http` or `https`; with it `host` is the origin that an `evidence_ref` is held to.
    """

    def __init__(
        self,
        session: Session,
        *,
        host: str,
        prefix: str = "",
        secret: str | None,
        tasks: tuple[str, ...] = (),
        scheme: str = "http",
    ) -> None:
        self.session = session
        self.scheme = scheme
        self.host = host
        self.prefix = prefix
        self.secret = secret
        self.tasks = tasks
        self._seen: Exchange | None = None
        self._control: tuple[Ids, Exchange] | None = None
        self._plain: Traced | None = None
        self._traced: dict[int, Traced] = {}

    async def capabilities(self) -> frozenset[Capability]:
        """What the probe was given, as far as requirements need it."""
        given = {Capability.AUTH: self.secret is not None, Capability.TASK: bool(self.tasks)}
        return frozenset(capability for capability, there in given.items() if there)

    @property
    def registered_url(self) -> str:
        """The invocation URL, as Core's registry would name it."""
        return f"{self.scheme}://{self.host}{self.prefix}{INVOCATION_PATH}"

    # --- What the checks share

    async def seen(self) -> Exchange:
        """The shared read of the health route, without a secret, whatever came of it."""
        if self._seen is None:
            with self._sharing("health"):
                self._seen = await self.health()
        return self._seen

    async def control(self) -> Exchange:
        """The shared invocation with nothing wrong about it, answered 200.

        With `--safe` it is not made: a check may then go on without it, but not look at it.

        Raises:
            CouldNotRun: it was not.
        """
        if self.session.safe:
            return _not_made()
        return (await self._controlled())[1]

    async def plain(self) -> Traced:
        """The shared control as a run, and the read of its evidence.

        Raises:
            CouldNotRun: the control was not answered 200.
        """
        ids, invocation = await self._controlled()
        if self._plain is None:
            with self._sharing("control"):
                self._plain = Traced(ids, invocation, await self.evidence(ids.run_id))
        return self._plain

    async def traced(self, task: int = 0) -> Traced:
        """The shared run of the user's task with that number, and the read of its evidence.

        Raises:
            CouldNotRun: there is no such task, or the invocation was not answered 200.
        """
        if task >= len(self.tasks):
            raise CouldNotRun(f"it needs {task + 1} tasks that make the Agent use tools (--task)")
        if task not in self._traced:
            with self._sharing(f"traced-{task}"):
                ids = self.session.ids()
                invocation = await self.invoke(self.tasks[task], ids=ids)
                self._traced[task] = Traced(ids, invocation, await self.evidence(ids.run_id))
        traced = self._traced[task]
        if traced.invocation.status != 200:
            raise CouldNotRun(f"the task was answered {traced.invocation.outcome}, not 200")
        return traced

    async def invoked(self) -> tuple[Ids, Exchange]:
        """The ids and the exchange of the shared control, whatever came of it.

        Raises:
            CouldNotRun: it is not made (`--safe`), or nothing can be reached.
        """
        if self._control is None:
            with self._sharing("control"):
                ids = self.session.ids()
                self._control = ids, await self.invoke(ids=ids)
        return self._control

    async def _controlled(self) -> tuple[Ids, Exchange]:
        ids, exchange = await self.invoked()
        if exchange.status != 200:
            raise CouldNotRun(f"the positive control was answered {exchange.outcome}, not 200")
        return ids, exchange

    @contextmanager
    def _sharing(self, scope: str) -> Iterator[None]:
        """Ask on behalf of all checks, whichever comes first."""
        asking, self.session.scope = self.session.scope, scope
        try:
            yield
        finally:
            self.session.scope = asking

    # --- Requests

    async def invoke(self, text: str = PLAIN_TASK, *, ids: Ids | None = None) -> Exchange:
        """An invocation as it should be: a conformant Target runs its Agent."""
        return await self.post(ids=ids, changes={"input": {"text": text}}, runs=1)

    async def post(
        self,
        *,
        ids: Ids | None = None,
        changes: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        secret: str | _Keep | None = KEEP,
        fields: Mapping[str, str | None] | None = None,
        extra: Iterable[tuple[str, str]] = (),
        runs: int = 0,
        seconds: float | None = None,
    ) -> Exchange:
        """An invocation that is right but for what is given.

        Args:
            changes: members of the body to set; the value `...` leaves the member out.
            body: the exact body instead.
            secret: another secret, or None for no Authorization.
            fields: header fields to set by name; None leaves the field out.
            extra: further header fields, also repeated ones.
            runs: how often a conformant Target runs its Agent for it.
        """
        request = self.request(
            ids=ids, changes=changes, body=body, secret=secret, fields=fields, extra=extra, seconds=seconds
        )
        return await self.session.send(request, runs=runs)

    def request(
        self,
        *,
        ids: Ids | None = None,
        changes: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        secret: str | _Keep | None = KEEP,
        fields: Mapping[str, str | None] | None = None,
        extra: Iterable[tuple[str, str]] = (),
        seconds: float | None = None,
    ) -> Request:
        """The request of `post`, to be altered further before it is sent."""
        ids = ids or self.session.ids()
        head: dict[str, str | None] = {
            **dict(self.authorization(secret)),
            "Content-Type": "application/json",
            RUN_ID_HEADER: ids.run_id,
            CASE_ID_HEADER: ids.case_id,
            **(fields or {}),
        }
        return Request.build(
            "POST",
            self.prefix + INVOCATION_PATH,
            host=self.host,
            fields=[*((name, value) for name, value in head.items() if value is not None), *extra],
            body=self.invocation(ids, changes) if body is None else body,
            seconds=seconds,
        )

    def invocation(self, ids: Ids, changes: Mapping[str, Any] | None = None) -> bytes:
        """The body of an invocation with some members changed; `...` leaves one out."""
        members: dict[str, Any] = {
            "schema_version": "target-invocation-v1",
            "run_id": ids.run_id,
            "case_id": ids.case_id,
            "input": {"text": PLAIN_TASK},
            "metadata": {},
            **(changes or {}),
        }
        kept = {name: value for name, value in members.items() if value is not ...}
        return json.dumps(kept, ensure_ascii=False).encode("utf-8", "surrogatepass")

    async def evidence(self, run_id: str, *, secret: str | _Keep | None = KEEP) -> Exchange:
        """A read of the run's evidence."""
        return await self.get(EVIDENCE_PATH + run_id, secret=secret)

    async def health(self, *, secret: str | _Keep | None = None) -> Exchange:
        """A read of the health route, without a secret unless one is given."""
        return await self.get(HEALTH_PATH, secret=secret)

    async def get(self, path: str, *, secret: str | _Keep | None = KEEP) -> Exchange:
        """A GET of a path below the prefix."""
        request = Request.build("GET", self.prefix + path, host=self.host, fields=self.authorization(secret))
        return await self.session.send(request)

    def authorization(self, secret: str | _Keep | None = KEEP) -> list[tuple[str, str]]:
        """The Authorization field for a secret; none for None."""
        chosen = self.secret if isinstance(secret, _Keep) else secret
        return [] if chosen is None else [("Authorization", f"Bearer {chosen}")]
