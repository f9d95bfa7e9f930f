"""Sixty-four environments at once on one State Controller: what it costs above the environment's own work.

A run is reset, both snapshots and verify, each run on its own desk. Its time is that of the four calls
together, over loopback HTTP, without what lies between them. Beside it stands the desk's own work for the
same run, in this process, without a control plane or a wire: its records written, its state read three times,
its checks, on the same kind of database with the same commits, and with as many runs at once. What is above
that is leases, order, recorded answers, canonical snapshots, digests, the signed receipt, and HTTP. The last
column is the processor time of a run, its release included, in the process that does the work.

one by one    a run at a time: the floor
open at once  64 leases are open all the time, and Agents work for some seconds between the snapshots
in step       64 runs make the same call at the same instant, and then the next. No Agents do that; it tells
              how many calls one process gets done, because each waits for about half of the others
"""

from __future__ import annotations

import asyncio
import random
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx

from agentbeat_controller import ControllerLimits, Transactions, open_engine
from agentbeat_controller.environments.desk import DeskEnvironment
from benchmarks.controllers import DEPLOYMENT, PROFILE, Controller, controller
from benchmarks.measuring import percentile, print_table

__all__ = ["run"]

ENVIRONMENTS = 64
ALONE = 200
WARM_UP = 5
ROUNDS = 3
#: Seconds of an Agent's work, from and to.
WORK = (4.0, 8.0)

Call = Callable[[], Awaitable[object]]
#: The four calls of a run, and what ends it, which is not measured.
Calls = tuple[tuple[Call, Call, Call, Call], Call]


class Place(Protocol):
    """Where runs are led."""

    def calls(self, number: int) -> Calls:
        """The calls of a new run."""

    def processor_seconds(self) -> float:
        """The processor time, so far, of the process that does the work."""


@dataclass(frozen=True)
class Measured:
    """Seconds: those of every run's four calls, and the processor's of a run."""

    taken: list[float]
    processor: float


def run() -> None:
    """Measure and print."""
    rows: list[tuple[str, ...]] = []
    for title, lead in (("one by one", one_by_one), ("open at once", open_at_once), ("in step", in_step)):
        own = asyncio.run(_led(own_work, lead))
        through = asyncio.run(_led(over_http, lead))
        rows += _rows(title, own, through)
    print_table(
        f"State Controller on SQLite, {ENVIRONMENTS} desks: reset, two snapshots, verify",
        ("", "p50 ms", "p95 ms", "p50 ratio", "p95 ratio", "processor ms"),
        rows,
    )


def _rows(title: str, own: Measured, through: Measured) -> list[tuple[str, ...]]:
    def row(name: str, p50: float, p95: float, processor: float, *ratios: str) -> tuple[str, ...]:
        times = [f"{seconds * 1000:.1f}" for seconds in (p50, p95, processor)]
        return (f"{title}, {name}", *times[:2], *(ratios or ("", "")), times[2])

    low, high = (percentile(own.taken, share) for share in (0.5, 0.95))
    p50, p95 = (percentile(through.taken, share) for share in (0.5, 0.95))
    return [
        row("the desk's own work", low, high, own.processor, "1.0", "1.0"),
        row("through the Controller", p50, p95, through.processor, f"{p50 / low:.1f}", f"{p95 / high:.1f}"),
        row("above its own work", p50 - low, p95 - high, through.processor - own.processor),
    ]


# How runs are led; each gives the seconds of every run's four calls


async def one_by_one(place: Place) -> list[float]:
    """One run after the other."""
    taken = []
    for number in range(ALONE):
        calls, end = place.calls(number)
        taken.append(sum([await _timed(call) for call in calls]))
        await end()
    return taken


async def open_at_once(place: Place) -> list[float]:
    """As many leases as there are environments, all the time; their Agents take some seconds each."""
    chance = random.Random(1)
    works = [[chance.uniform(*WORK) for _ in range(ROUNDS)] for _ in range(ENVIRONMENTS)]

    async def lead(worker: int) -> list[float]:
        await asyncio.sleep(WORK[1] * worker / ENVIRONMENTS)
        taken = []
        for lap, work in enumerate(works[worker]):
            (reset, before, after, verify), end = place.calls(worker * ROUNDS + lap)
            seconds = await _timed(reset) + await _timed(before)
            await asyncio.sleep(work)
            taken.append(seconds + await _timed(after) + await _timed(verify))
            await end()
        return taken

    laps = await asyncio.gather(*(lead(worker) for worker in range(ENVIRONMENTS)))
    return [seconds for lap in laps for seconds in lap]


async def in_step(place: Place) -> list[float]:
    """All runs make the same call at once, and the next one when the last of them has its answer."""
    taken = []
    for lap in range(ROUNDS):
        runs = [place.calls(lap * ENVIRONMENTS + number) for number in range(ENVIRONMENTS)]
        steps = [await asyncio.gather(*(_timed(calls[step]) for calls, _ in runs)) for step in range(4)]
        taken += [sum(each) for each in zip(*steps, strict=True)]
        await asyncio.gather(*(end() for _, end in runs))
    return taken


async def _timed(call: Call) -> float:
    start = time.perf_counter()
    await call()
    return time.perf_counter() - start


async def _led(where: Callable[[], Any], lead: Callable[[Place], Awaitable[list[float]]]) -> Measured:
    async with where() as place:
        await _warm_up(place)
        start = place.processor_seconds()
        taken = await lead(place)
        return Measured(taken, (place.processor_seconds() - start) / len(taken))


async def _warm_up(place: Place) -> None:
    """What is loaded and compiled at the first calls."""
    for number in range(WARM_UP):
        calls, end = place.calls(-1 - number)
        for call in (*calls, end):
            await call()


# Where runs are led


@asynccontextmanager
async def own_work() -> AsyncIterator[Place]:
    """The desk in this process."""
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(f"sqlite:///{Path(folder) / 'desk.db'}")
        threads = ThreadPoolExecutor(ControllerLimits().control_threads)
        try:
            yield _OwnWork(Transactions(engine), threads)
        finally:
            threads.shutdown()
            engine.dispose()


class _OwnWork:
    def __init__(self, transactions: Transactions, threads: ThreadPoolExecutor) -> None:
        self._transactions, self._threads = transactions, threads
        self._desk = DeskEnvironment()
        self._profile = self._desk.profiles[PROFILE]
        transactions.run(self._desk.create_tables)

    def calls(self, number: int) -> Calls:
        """The desk's part of each step."""
        desk, profile, name = self._desk, self._profile, f"env-{number}"
        states: list[Any] = []

        def reset() -> None:
            def work(connection: Any) -> None:
                desk.reset(connection, name, profile, injection=None)
                desk.state(connection, name)

            self._transactions.run(work)

        def snapshot() -> None:
            states.append(self._transactions.run(lambda connection: desk.state(connection, name)))

        def verify() -> None:
            desk.checks(profile, states[0], states[1], final_response="Done.")

        def end() -> None:
            self._transactions.run(lambda connection: desk.drop(connection, name))

        reset_, before, after, verify_, end_ = map(self._call, (reset, snapshot, snapshot, verify, end))
        return (reset_, before, after, verify_), end_

    def processor_seconds(self) -> float:
        """This process's."""
        return time.process_time()

    def _call(self, work: Callable[[], None]) -> Call:
        async def call() -> None:
            await asyncio.get_running_loop().run_in_executor(self._threads, work)

        return call


@asynccontextmanager
async def over_http() -> AsyncIterator[Place]:
    """A Controller in a process of its own."""
    with controller() as served:
        # One client for each environment: to find a free connection among many takes the client time.
        clients = [_client(served) for _ in range(ENVIRONMENTS)]
        try:
            catalogue = (await clients[0].get("/v1/environment/profiles")).json()["profiles"]
            digests = {entry["profile_id"]: entry["profile_digest"] for entry in catalogue}
            yield _OverHttp(served, clients, digests[PROFILE])
        finally:
            for client in clients:
                await client.aclose()


def _client(served: Controller) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=served.url, headers=served.headers, timeout=60, trust_env=False, verify=False
    )


class _OverHttp:
    def __init__(self, served: Controller, clients: list[httpx.AsyncClient], profile_digest: str) -> None:
        self._served, self._clients, self._profile_digest = served, clients, profile_digest

    def processor_seconds(self) -> float:
        """The Controller's."""
        return self._served.processor_seconds()

    def calls(self, number: int) -> Calls:
        """Core's calls."""
        client = self._clients[number % len(self._clients)]
        lease: dict[str, str] = {}
        taken: dict[str, dict[str, str]] = {}

        async def post(path: str, **members: Any) -> dict[str, Any]:
            common = {
                "schema_version": "state-controller-v1",
                "run_id": f"run-bench-{number}",
                "case_id": "case-bench-001",
                "profile_id": PROFILE,
            }
            answer = await client.post(f"/v1/environment/{path}", json={**common, **lease, **members})
            found: dict[str, Any] = answer.raise_for_status().json()
            return found

        async def reset() -> None:
            answer = await post(
                "reset",
                deployment_profile_id=DEPLOYMENT,
                profile_digest=self._profile_digest,
                binding_mode="catalog",
                attempt_nonce=secrets.token_hex(16),
                snapshots=True,
            )
            lease["lease_id"] = answer["lease_id"]

        async def snapshot(phase: str) -> None:
            answer = await post("snapshot", phase=phase)
            taken[phase] = {"ref": answer["snapshot_ref"], "digest": answer["digest"]}

        async def verify() -> None:
            await post("verify", final_response="Done.", **taken)

        async def end() -> None:
            await post("release")

        return (reset, lambda: snapshot("before"), lambda: snapshot("after"), verify), end
