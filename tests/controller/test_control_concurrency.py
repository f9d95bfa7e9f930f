"""Requests that meet: granted once, answered alike, and never half."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

from agentbeat_protocol import ProtocolError, VerifyRequest
from agentbeat_protocol.models import validated
from support.controllers import Rig, Run, reset_request
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


def test_the_same_reset_sent_many_times_at_once_has_one_answer(rig):
    found = race(12, lambda _: rig.plane.reset(reset_request()))
    assert len(set(found)) == 1
    assert isinstance(found[0], bytes)
    rows = rig.rows()
    assert (len(rows["leases"]), len(rows["answers"]), len(rows["ledger_environments"])) == (1, 1, 1)


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
