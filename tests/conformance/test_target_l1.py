"""The checks of `target-L1` against servers that are right: nobody is accused, and few Agents are run."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from agentbeat_conformance.catalogues import load_catalogue
from agentbeat_conformance.judging import judge_async
from agentbeat_conformance.mutants.base_target import SECRET, BaseTarget, Recording
from agentbeat_conformance.mutants.streams import listening
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.plans import make_plan
from agentbeat_conformance.requirements import Capability
from agentbeat_conformance.runner import Runner
from agentbeat_conformance.runs import Run
from agentbeat_conformance.sessions import Wire
from agentbeat_conformance.transcript_records import Subject
from agentbeat_conformance.wires import AsgiWire, SocketWire, marker
from agentbeat_sdk.server import TargetServer
from agentbeat_sdk.server import listening as listening_socket
from support.targets import SECRET as SDK_SECRET
from support.targets import echo, make_target

CATALOGUE = load_catalogue()
L1 = [made for made in CATALOGUE.values() if made.tier == "target-L1"]
#: What a whole L1 run may cost the owner of a real Agent.
MOST_RUNS = 24


class Restarts:
    """Restarts a server in process."""

    def __init__(self, restart: Callable[[], Awaitable[None]]) -> None:
        self._restart = restart

    async def restart(self, *, scope: str) -> bool:
        await self._restart()
        return True

    async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
        return False


async def l1_run(
    wire: Wire,
    *,
    secret: str | None = SECRET,
    host: str = "127.0.0.1:1",
    restart: Callable[[], Awaitable[None]] | None = None,
    **options: object,
) -> Run:
    """Every check of L1 over the wire."""
    declared = {Capability.RESTART: restart, Capability.AUTH: secret, Capability.SOCKET: wire.has_sockets}
    capabilities = {capability for capability, is_there in declared.items() if is_there}
    plan = make_plan("target-L1", catalogue=CATALOGUE, capabilities=capabilities, **options)
    subject = Subject(
        kind="target",
        url=f"http://{host}",
        options={"host": host, "secret": marker() if secret else None, "tasks": []},
    )
    return await Runner(
        plan,
        subject,
        wire=wire,
        secrets={"secret": secret} if secret else {},
        commands=Restarts(restart) if restart else None,
        seed="0",
    ).run()


@asynccontextmanager
async def on_a_socket(server: BaseTarget) -> AsyncIterator[tuple[SocketWire, str]]:
    async with listening(server.stream) as port:
        yield SocketWire(f"http://127.0.0.1:{port}", timeout=10), f"127.0.0.1:{port}"


def ends(run: Run) -> dict[str, str]:
    """What is not a pass, by id, with what was found."""
    return {
        result.requirement.id: f"{result.outcome}: {result.reason or [f.message for f in result.findings]}"
        for result in run.results
        if result.outcome is not Outcome.PASS
    }


class Counting(BaseTarget):
    """The base Target; `runs` counts how often its Agent ran, `case_of` where."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[str] = []

    async def agent(self, recording: Recording) -> str:
        self.runs.append(recording.invocation.run_id)
        return await super().agent(recording)


async def test_the_base_target_is_conformant_in_process_and_every_check_passes() -> None:
    server = Counting()
    async with AsgiWire(server.app) as wire:
        run = await l1_run(wire, restart=server.restart)
    assert ends(run) == {
        made.id: "not_applicable: it is about bytes that only a real connection carries"
        for made in L1
        if Capability.SOCKET in made.needs
    }
    assert run.verdict is Verdict.CONFORMANT


async def test_the_base_target_is_conformant_on_a_connection_and_every_check_passes() -> None:
    server = Counting()
    async with on_a_socket(server) as (wire, host):
        run = await l1_run(wire, host=host, restart=server.restart)
    assert ends(run) == {}
    assert run.verdict is Verdict.CONFORMANT


async def test_a_target_without_a_secret_is_conformant_and_no_secret_is_asked_for() -> None:
    class Open(BaseTarget):
        secret = None

    async with AsgiWire(Open().app) as wire:
        run = await l1_run(wire, secret=None)
    assert run.verdict is Verdict.CONFORMANT
    assert not any(name == "Authorization" for made in run.exchanges for name, _ in made.request.fields)
    assert {result.requirement.id for result in run.results if result.outcome is Outcome.NOT_APPLICABLE} == {
        made.id for made in L1 if made.needs & {Capability.AUTH, Capability.SOCKET, Capability.RESTART}
    }


@pytest.mark.parametrize("tier", ["L1", "L2"])
async def test_the_sdks_target_is_conformant_and_every_check_passes(tier: str) -> None:
    target = make_target(echo, tier=tier)
    async with AsgiWire(target.app) as wire:
        run = await l1_run(wire, secret=SDK_SECRET)
    assert all("not_applicable" in end for end in ends(run).values()), ends(run)
    assert run.verdict is Verdict.CONFORMANT


async def test_the_sdks_target_is_conformant_on_a_port_of_its_own_and_every_check_passes() -> None:
    target = make_target(echo, tier="L1")
    started: queue.Queue[str] = queue.Queue()
    with listening_socket("127.0.0.1", 0) as listener:
        target.app.open()
        server = TargetServer(target.app, started.put)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            url = await asyncio.to_thread(started.get, timeout=10)
            run = await l1_run(SocketWire(url), secret=SDK_SECRET, host=url.removeprefix("http://"))
        finally:
            server.stop()
            await asyncio.to_thread(thread.join, 10)
            target.app.close()
    assert all("not_applicable" in end for end in ends(run).values()), ends(run)
    assert run.verdict is Verdict.CONFORMANT


# --- What a run costs


async def test_the_agent_runs_no_more_often_than_the_plan_says() -> None:
    server = Counting()
    async with AsgiWire(server.app) as wire:
        run = await l1_run(wire, restart=server.restart)
    assert len(server.runs) <= run.plan.invocations <= MOST_RUNS
    assert len(set(server.runs)) == len(server.runs)


async def test_each_check_runs_the_agent_no_more_often_than_it_says() -> None:
    server = Counting()
    async with AsgiWire(server.app) as wire:
        await l1_run(wire, restart=server.restart)
    # The scope stands in every id: `run-conf-<seed>-<scope>-<number>`.
    made = Counter(
        run_id.split("-", 3)[3].rpartition("-")[0] for run_id in server.runs if "000" not in run_id
    )
    assert made.pop("control") == 1
    declared = {each.id.lower().replace(".", "-"): each.invocations for each in L1}
    assert {scope: count for scope, count in made.items() if count > declared[scope]} == {}


async def test_a_lenient_target_runs_its_agent_once_for_each_should_at_the_most() -> None:
    """It takes all that only a SHOULD refuses, so it is conformant; the plan's number holds for it too."""
    from agentbeat_conformance.mutants import targets_strictness as strictness

    class Lenient(Counting, strictness.IgnoresCorrelation, strictness.TakesNaN):
        forgives = frozenset(
            {"J-DUPKEY", "J-NONFINITE", "J-SYNTAX", "J-BOM", "J-UTF8", "J-SURROGATE", "J-SIZE"}
        )

        def leniently(self, raw: bytes) -> object:
            import json

            if b"metadata" not in raw or b"/*" in raw or b"'" in raw:
                raise ValueError("no JSON")
            return json.loads(raw.decode("utf-8-sig", "replace"))

    server = Lenient()
    async with AsgiWire(server.app) as wire:
        run = await l1_run(wire, restart=server.restart)
    assert run.verdict is Verdict.CONFORMANT, ends(run)
    assert run.count(Outcome.WARN) >= 7
    assert len(server.runs) <= run.plan.invocations


async def test_a_target_that_accepts_what_is_wrong_is_not_asked_for_more_of_it() -> None:
    class Careless(Counting):
        def check_metadata(self, metadata: object) -> None:
            pass

    server = Careless()
    async with AsgiWire(server.app) as wire:
        await l1_run(wire, only=["INV-5.a"])
    assert len(server.runs) == 2, "the control and the first of 23 overrides"


async def test_safe_runs_no_agent_and_is_incomplete() -> None:
    server = Counting()
    async with on_a_socket(server) as (wire, host):
        run = await l1_run(wire, host=host, safe=True)
    assert server.runs == []
    assert run.verdict is Verdict.INCOMPLETE
    assert run.count(Outcome.FAIL) == 0
    # What needs no Agent is still shown.
    assert run.count(Outcome.PASS) > len(L1) // 2


async def test_the_budget_is_kept_and_what_it_does_not_reach_could_not_run() -> None:
    server = Counting()
    async with AsgiWire(server.app) as wire:
        run = await l1_run(wire, budget=3)
    assert len(server.runs) <= 3
    assert run.verdict is Verdict.INCOMPLETE
    assert run.count(Outcome.FAIL) == 0


# --- The verdict is a function of the transcript


async def test_a_transcript_is_judged_as_the_run_was() -> None:
    class Faulty(BaseTarget):
        """Accepts replays, also of two at once."""

        def is_claimed(self, run_id: str) -> bool:
            return False

    async with on_a_socket(Faulty()) as (wire, host):
        run = await l1_run(wire, host=host)
    again = await judge_async(run.transcript)
    assert run.verdict is Verdict.NOT_CONFORMANT
    assert ends(again) == ends(run)
    assert again.verdict is run.verdict


async def test_no_request_or_finding_holds_the_secret() -> None:
    async with AsgiWire(BaseTarget().app) as wire:
        run = await l1_run(wire)
    assert not any(SECRET.encode()[:-1] in made.request.raw for made in run.exchanges)


# --- A server that keeps the suite waiting


async def test_a_target_that_never_answers_is_given_up_soon_and_has_shown_nothing() -> None:
    class Mute(BaseTarget):
        async def answer(self, asked: object) -> object:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    async with AsgiWire(Mute().app, timeout=0.01) as wire:
        run = await l1_run(wire)
    # Reachability, health and the control: nothing else is worth a wait.
    assert len(run.exchanges) == 3
    assert run.verdict is Verdict.NOTHING_TESTED
