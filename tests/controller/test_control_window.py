"""CTL-12 and CTL-4: the business window, and what a call may find when it races with a snapshot."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentbeat_protocol import ProtocolError, SnapshotRequest
from agentbeat_protocol.models import validated
from support.controllers import Run, code_of
from support.ledger import write
from support.postgres import both_databases

pytestmark = both_databases

STATIC = {"binding_mode": "deployment_static"}
MODES = pytest.mark.parametrize("mode", ["deployment_static", "catalog"])


async def call(rig, mode, *, amount=90):
    """A business write of run a, as its Deployment reaches it."""
    async with rig.business(run_id="run-a" if mode == "catalog" else None) as tools:
        return await tools.post("/entries", json={"name": "cash", "amount": amount})


@MODES
@pytest.mark.parametrize(
    ("done", "is_open"),
    [
        (("reset",), False),
        (("reset", "before"), True),
        (("reset", "before", "after"), False),
        (("reset", "before", "after", "verify"), False),
        (("reset", "release"), False),
        (("reset", "before", "release"), False),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
async def test_with_snapshots_the_window_is_between_them(rig, mode, done, is_open):
    """A call outside it is 409 `environment_closed`, and no row has changed, no line of a log either."""
    async with rig.control() as client:
        await Run(client, binding_mode=mode).through(*done)
    rows = rig.rows()
    response = await call(rig, mode)
    if is_open:
        assert response.json() == {"cash": 90, "stock": 40}
        return
    assert code_of(response) == (409, "environment_closed")
    assert rig.rows() == rows


@MODES
async def test_without_snapshots_the_window_is_from_reset_to_release(rig, mode):
    async with rig.control() as client:
        run = Run(client, snapshots=False, binding_mode=mode)
        await run.through("reset")
        assert (await call(rig, mode)).status_code == 200
        await run.through("release")
    rows = rig.rows()
    assert code_of(await call(rig, mode)) == (409, "environment_closed")
    assert rig.rows() == rows


async def test_a_deployment_that_no_run_holds_is_closed(rig):
    rows = rig.rows()
    assert code_of(await call(rig, "deployment_static")) == (409, "environment_closed")
    assert rig.rows() == rows


async def test_a_run_in_catalog_is_reached_by_its_header_only(rig):
    """Without it the Deployment's one environment is meant, and nobody holds that."""
    async with rig.control() as client, rig.business() as tools:
        await Run(client).through("reset", "before")
        assert code_of(await tools.get("/entries")) == (409, "environment_closed")


@pytest.mark.parametrize("run_id", ["run-unknown", "run-b"])
@MODES
async def test_a_run_of_nobody_or_of_another_deployment_is_404(rig, mode, run_id):
    """CTL-6: and that run, open as it is, has seen nothing."""
    async with rig.control() as client, rig.business("deployment-a", run_id) as tools:
        await Run(client, "a", binding_mode=mode).through("reset", "before")
        await Run(client, "b", binding_mode=mode, deployment_profile_id="deployment-b").through(
            "reset", "before"
        )
        rows = rig.rows()
        assert code_of(await tools.post("/entries", json={"name": "cash", "amount": 1})) == (404, "not_found")
        assert rig.rows() == rows


async def test_a_late_call_of_an_earlier_run_does_not_reach_the_one_that_holds_the_environment(rig):
    """In `deployment_static` the header, where it is sent, names the run that is meant."""
    async with rig.control() as client, rig.business(run_id="run-a") as late:
        first = Run(client, "a", **STATIC)
        await first.through("reset", "before", "after", "release")
        await Run(client, "b", **STATIC).through("reset", "before")
        rows = rig.rows()
        assert code_of(await late.post("/entries", json={"name": "cash", "amount": 1})) == (
            409,
            "environment_closed",
        )
        assert rig.rows() == rows


def snapshot(rig, run, phase):
    """The content of a snapshot, taken in this thread."""
    answer = json.loads(rig.plane.snapshot(validated(SnapshotRequest, run.body(phase))))
    return json.loads(rig.plane.snapshot_content(answer["snapshot_ref"]))


async def test_a_call_that_was_let_in_first_is_wholly_in_the_after_snapshot(rig):
    """Snapshot after waits for it, though it stays in its transaction between two writes."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset", "before")
    inside, leave, taken = threading.Event(), threading.Event(), threading.Event()

    def business():
        with rig.door.enter("deployment-a", "run-a") as entry:
            write(entry, "cash", 1)
            inside.set()
            assert leave.wait(10)
            write(entry, "stock", 2)

    def after():
        assert inside.wait(10)
        state = snapshot(rig, run, "after")
        taken.set()
        return state

    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(business), threads.submit(after)]
        assert await asyncio.to_thread(inside.wait, 10)
        assert not await asyncio.to_thread(taken.wait, 0.1)
        leave.set()
        state = calls[1].result(10)
        calls[0].result(10)
    assert (state["entries"], state["calls"]) == ({"cash": 1, "stock": 2}, ["cash=1", "stock=2"])


async def test_a_call_that_fails_half_way_leaves_nothing(rig):
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset", "before")

    def fails_half_way():
        with rig.door.enter("deployment-a", "run-a") as entry:
            write(entry, "cash", 1)
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        fails_half_way()
    assert snapshot(rig, run, "after")["entries"] == {"cash": 100, "stock": 40}


async def test_writers_that_race_with_snapshot_after_are_in_it_or_refused(rig):
    """Eight threads write as fast as they can: every accepted write is in the snapshot, no refused one is."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset", "before")
    accepted, refused = [], []
    started = threading.Barrier(9)

    def writer(number):
        started.wait(10)
        for count in range(1_000):
            text = f"w{number}={count}"
            try:
                with rig.door.enter("deployment-a", "run-a") as entry:
                    write(entry, f"w{number}", count)
            except ProtocolError as error:
                refused.append((text, error.code))
                return
            accepted.append(text)

    with ThreadPoolExecutor(9) as threads:
        writers = [threads.submit(writer, number) for number in range(8)]
        started.wait(10)
        while len(accepted) < 40:
            await asyncio.sleep(0.005)
        state = await asyncio.to_thread(snapshot, rig, run, "after")
        for each in writers:
            each.result(30)
    assert sorted(state["calls"]) == sorted(accepted)
    assert not {text for text, _ in refused} & set(state["calls"])
    assert [code for _, code in refused] == ["environment_closed"] * 8
    last = {text.split("=")[0]: int(text.split("=")[1]) for text in state["calls"]}
    assert {name: state["entries"][name] for name in last} == last
