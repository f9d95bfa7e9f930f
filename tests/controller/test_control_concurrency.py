"""Requests that meet: granted once, answered alike, and never half."""

import asyncio
import contextlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentbeat_controller import store
from agentbeat_controller.store import Snapshot
from agentbeat_protocol import Instant, ProtocolError, SnapshotRequest, VerifyRequest, digest_bytes
from agentbeat_protocol.models import validated
from support.controllers import DEPLOYMENTS, Clock, Rig, Run, code_of, common, reset_request
from support.postgres import both_databases

pytestmark = both_databases

STATIC = {"binding_mode": "deployment_static"}


def race(count, work):
    """`work(number)` in `count` threads that start together; each result or refusal."""
    started = threading.Barrier(count)

    def one(number):
        started.wait(10)
        try:
            return work(number)
        except ProtocolError as error:
            return error

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))


def test_one_static_deployment_is_granted_once(rig):
    """CTL-6: sixteen runs ask at once; one gets it, fifteen are told to wait."""
    found = race(16, lambda number: rig.plane.reset(reset_request(f"r{number}", **STATIC)))
    granted = [answer for answer in found if isinstance(answer, bytes)]
    refused = [error for error in found if isinstance(error, ProtocolError)]
    assert len(granted) == 1
    assert {error.code for error in refused} == {"environment_busy"}
    assert len(rig.rows()["leases"]) == 1


def test_it_is_granted_once_by_two_controllers_on_one_database(rig):
    """Two processes, as far as the database can tell: nothing but it decides."""
    other = Rig(rig.database, clock=rig.clock)
    planes = [rig.plane, other.plane]
    found = race(8, lambda number: planes[number % 2].reset(reset_request(f"r{number}", **STATIC)))
    assert sum(isinstance(answer, bytes) for answer in found) == 1
    assert {error.code for error in found if isinstance(error, ProtocolError)} == {"environment_busy"}
    other.close()


@pytest.mark.parametrize("mode", ["catalog", "deployment_static"])
def test_the_same_reset_sent_many_times_at_once_has_one_answer(rig, mode):
    """CTL-2: none of them is told that the environment is busy with their own run."""
    found = race(12, lambda _: rig.plane.reset(reset_request(binding_mode=mode)))
    assert len(set(found)) == 1
    assert isinstance(found[0], bytes)
    rows = rig.rows()
    assert (len(rows["leases"]), len(rows["answers"]), len(rows["ledger_environments"])) == (1, 1, 1)


@pytest.mark.parametrize("count", [2, 6])
def test_controllers_that_start_at_once_on_an_empty_database_share_it(database, count):
    """The tables, the Controller's row and the Deployments' environments are made once."""
    rigs = race(count, lambda _: Rig(database))
    try:
        rows = [rig.rows() for rig in rigs]
        assert all(each == rows[0] for each in rows)
        assert len(rows[0]["deployments"]) == len(DEPLOYMENTS)
        assert rows[0]["leases"] == []
        with rigs[0].engine.begin() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM controller").scalar_one() == 1
    finally:
        for rig in rigs:
            rig.close()


def test_equal_states_that_are_kept_at_once_are_kept_once(rig):
    """Twelve runs of one profile: their snapshots before are twelve, and the content of all is one."""
    answers = [json.loads(rig.plane.reset(reset_request(f"r{number}"))) for number in range(12)]

    def before(number):
        body = {**common(f"r{number}"), "lease_id": answers[number]["lease_id"], "phase": "before"}
        return json.loads(rig.plane.snapshot(validated(SnapshotRequest, body)))

    found = race(12, before)
    assert len({answer["snapshot_ref"] for answer in found}) == 12
    assert len({answer["digest"] for answer in found}) == 1
    rows = rig.rows()
    assert (len(rows["snapshots"]), len(rows["contents"])) == (12, 1)


@pytest.mark.parametrize("first", ["commits", "rolls back"])
def test_a_content_that_another_transaction_is_keeping_is_kept_once_however_that_ends(rig, first):
    """The second waits for the first: it finds its content, or keeps its own, and neither is begun anew."""
    leases = [json.loads(rig.plane.reset(reset_request(name)))["lease_id"] for name in ("a", "b")]
    content = b'{"cash":100}'
    kept, done, tries = threading.Event(), threading.Event(), []

    def keep(connection, number):
        tries.append(number)
        taken = Snapshot(
            snapshot_ref=f"snapshot-{number}", digest=digest_bytes(content), taken_at=number, content=content
        )
        store.add_snapshot(connection, leases[number], "before", taken)

    def second():
        assert kept.wait(10)
        rig.plane.book.transactions.run(lambda connection: keep(connection, 1))
        done.set()

    thread = threading.Thread(target=second)
    thread.start()
    with contextlib.suppress(RuntimeError), rig.plane.book.transactions.begin() as connection:
        keep(connection, 0)
        kept.set()
        assert not done.wait(0.1)
        if first == "rolls back":
            raise RuntimeError(first)
    thread.join(10)
    assert sorted(tries) == [0, 1]
    rows = rig.rows()
    assert len(rows["contents"]) == 1
    assert len(rows["snapshots"]) == (2 if first == "commits" else 1)


async def test_times_never_go_back_between_two_controllers_whose_clocks_differ(rig):
    """RCP-3: one is an hour behind; each takes over what the other has given out, leases' ends too."""
    behind = Rig(rig.database, clock=Clock("2026-03-01T09:00:00Z"))
    async with rig.control() as ahead_client, behind.control() as behind_client:
        run = Run(ahead_client)
        for step, client in (
            ("reset", ahead_client),
            ("before", behind_client),
            ("after", ahead_client),
            ("verify", behind_client),
        ):
            run.client = client
            await run.through(step)
        receipt = run.answers["verify"]["receipt"]
        texts = (receipt["before"]["taken_at"], receipt["after"]["taken_at"], receipt["issued_at"])
        times = [Instant.parse(text) for text in texts]
        assert times == sorted(times)
        assert times[0] >= Instant.parse("2026-03-01T10:00:00Z")
        rig.clock.advance(14 * 60)
        other = Run(ahead_client, "other")
        await other.through("reset")
        rig.clock.advance(60)
        await other.through("before")  # tells the database that the first run's lease is over
        assert code_of(await run.post("release")) == (409, "lease_expired")
    behind.close()


def test_different_resets_of_one_run_are_one_lease_and_conflicts(rig):
    found = race(8, lambda number: rig.plane.reset(reset_request(attempt_nonce=f"{number:032x}")))
    assert sum(isinstance(answer, bytes) for answer in found) == 1
    assert {error.code for error in found if isinstance(error, ProtocolError)} == {"binding_conflict"}
    assert len(rig.rows()["leases"]) == 1


async def test_verify_sent_many_times_at_once_gives_one_receipt(rig):
    """CTL-10: never two receipts for one run; different responses are conflicts with the first."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset", "before", "after")
    requests = [
        validated(VerifyRequest, run.body("verify", final_response=f"Answer {number % 2}"))
        for number in range(12)
    ]
    found = await asyncio.to_thread(race, 12, lambda number: rig.plane.verify(requests[number]))
    answers = [answer for answer in found if isinstance(answer, bytes)]
    assert len(answers) == 6
    assert len(set(answers)) == 1
    assert {error.code for error in found if isinstance(error, ProtocolError)} == {"binding_conflict"}
    assert len(rig.rows()["receipts"]) == 1


async def test_many_catalogue_runs_at_once_do_not_leak(rig):
    """Twenty-four runs over both planes at once: each after snapshot has its own canary and no other."""

    async def lead(client, number):
        run = Run(client, f"r{number}")
        await run.through("reset", "before")
        async with rig.business(run_id=f"run-r{number}") as tools:
            for count in range(3):
                answer = await tools.post("/entries", json={"name": f"canary-{number}", "amount": count})
                assert answer.status_code == 200
        await run.through("after", "verify")
        state = json.loads((await client.get(run.snapshot_path("after"))).content)
        await run.through("release")
        return state

    async with rig.control() as client:
        states = await asyncio.gather(*(lead(client, number) for number in range(24)))
    for number, state in enumerate(states):
        assert state["entries"] == {"cash": 100, "stock": 40, f"canary-{number}": 2}
        assert state["calls"] == [f"canary-{number}={count}" for count in range(3)]
    rows = rig.rows()
    assert (len(rows["receipts"]), len(rows["ledger_environments"])) == (24, 0)
