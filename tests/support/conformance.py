"""Small checks and servers for the tests of the suite's engine: a catalogue of their own, not the suite's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.mutants.base_target import SECRET, BaseTarget
from agentbeat_conformance.plans import Plan, make_plan
from agentbeat_conformance.requirements import (
    Capability,
    CouldNotRun,
    Finding,
    Findings,
    Level,
    Requirement,
    Tier,
)
from agentbeat_conformance.runner import Runner
from agentbeat_conformance.runs import Run
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.transcript_records import Subject
from agentbeat_conformance.wires import AsgiWire, marker

__all__ = [
    "CHECKS",
    "HOST",
    "SECRET",
    "catalogue_of",
    "made",
    "plan_of",
    "run_on",
    "subject",
    "unlike_a_target",
]

HOST = "127.0.0.1:1"


def made(
    id: str,
    check: Callable[[Any], Awaitable[Findings]],
    *,
    level: Level = Level.MUST,
    tier: Tier = "target-L1",
    needs: Iterable[Capability] = (),
    invocations: int = 0,
    since: str = "1.0",
    until: str | None = None,
    text: str = "It holds.",
) -> Requirement:
    """A requirement for this check, in no register."""
    return Requirement(
        id=id,
        level=level,
        tier=tier,
        section="A section",
        text=text,
        needs=frozenset(needs),
        permits=frozenset({"200"}),
        kills=frozenset({"a-mutant"}),
        invocations=invocations,
        check=check,
        since=since,
        until=until,
    )


def catalogue_of(*requirements: Requirement) -> dict[str, Requirement]:
    """A catalogue of these, in this order."""
    return {requirement.id: requirement for requirement in requirements}


async def is_healthy(target: TargetProbe) -> Findings:
    """The health route answers 200."""
    return list(permitted(await target.health(), {"200"}, "health"))


async def accepts(target: TargetProbe) -> Findings:
    """The control was accepted."""
    control = await target.control()
    return list(permitted(control, {"200"}, "an invocation"))


async def refuses_a_stranger(target: TargetProbe) -> Findings:
    """Another secret, and none, are refused."""
    await target.control()
    findings: list[Finding] = []
    for what, secret in {"no secret": None, "a near miss": (target.secret or "")[:-1]}.items():
        findings += permitted(await target.post(secret=secret), {"401"}, what)
    return findings


async def refuses_a_repeat(target: TargetProbe) -> Findings:
    """A run id is taken once."""
    ids = target.session.ids()
    first = await target.invoke(ids=ids)
    if first.status != 200:
        raise CouldNotRun("the first one was not accepted")
    return list(permitted(await target.post(ids=ids), {"409"}, "the same run id again"))


async def needs_a_socket(target: TargetProbe) -> Findings:
    """Never run in process."""
    raise AssertionError(target)


#: A small catalogue over a Target: two MUSTs, a SHOULD, a check that runs the Agent, one for sockets.
CHECKS: Mapping[str, Requirement] = catalogue_of(
    made("HLT-1.a", is_healthy),
    made("INV-1.a", accepts),
    made("INV-2.a", refuses_a_stranger, needs={Capability.AUTH}),
    made("INV-4.a", refuses_a_repeat, level=Level.SHOULD, invocations=1),
    made("INV-7.a", needs_a_socket, needs={Capability.SOCKET}),
)


def subject(*, secret: str | None = marker(), tasks: Iterable[str] = (), host: str = HOST) -> Subject:
    """A Target at this host."""
    options = {"host": host, "secret": secret, "tasks": list(tasks)}
    return Subject(kind="target", url=f"http://{host}", options=options)


def plan_of(catalogue: Mapping[str, Requirement] = CHECKS, **options: Any) -> Plan:
    """A plan of `target-L1` over this catalogue."""
    return make_plan("target-L1", catalogue=catalogue, **options)


async def run_on(
    app: Any = None,
    catalogue: Mapping[str, Requirement] = CHECKS,
    *,
    plan: Plan | None = None,
    secret: str | None = SECRET,
    **options: Any,
) -> Run:
    """A run of the catalogue on an application in this process, the correct Target by default."""
    async with AsgiWire(app or BaseTarget().serve) as wire:
        runner = Runner(
            plan or plan_of(catalogue),
            subject(secret=None if secret is None else marker()),
            wire=wire,
            secrets={} if secret is None else {"secret": secret},
            **options,
        )
        return await runner.run()


def unlike_a_target(status: int = 200, body: bytes = b"", *, fields: Iterable[tuple[str, str]] = ()) -> Any:
    """An application that answers everything alike."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        head = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    return app
