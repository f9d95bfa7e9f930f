"""Leases and the clock: renewed ends, clocks that jump or go back, restarts in between.

`test_control_leases` has what one process does with one clock; here time is at its worst.
"""

import pytest

from agentbeat_controller import store
from agentbeat_controller.timekeeping import NANOSECONDS
from support.controllers import Run, code_of
from support.postgres import both_databases

STATIC = {"binding_mode": "deployment_static"}
HOUR = 60 * 60
LEASE = 15 * 60


@both_databases
async def test_a_renewed_end_is_there_after_a_restart(rig):
    """To the nanosecond, and no earlier end counts any more."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset")
        assert (await run.post("renew", expires_at="2026-03-01T10:40:00.000000001Z")).status_code == 200
    rig.clock.advance(40 * 60)
    restarted = rig.restart()
    async with restarted.control() as client, restarted.business(run_id="run-a") as tools:
        run.client = client
        await run.through("before")
        assert (await tools.get("/entries")).status_code == 200
        restarted.clock.advance(1e-9)
        assert code_of(await tools.get("/entries")) == (409, "lease_expired")
        assert code_of(await run.post("after")) == (409, "lease_expired")
    restarted.close()


@both_databases
async def test_after_a_restart_with_a_clock_set_back_time_goes_on_from_what_was_kept(
    rig,
):
    """The new process knows the time that was last kept, and counts on from there at time's own pace."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset", "before")
    rig.clock.set_back(HOUR)
    restarted = rig.restart()
    async with restarted.control() as client:
        run.client = client
        health = (await client.get("/healthz")).json()
        assert health["active_leases"] == 1
        restarted.clock.advance(LEASE)
        assert code_of(await run.post("after")) == (409, "lease_expired")
        assert (await client.get("/healthz")).json()["active_leases"] == 0
    restarted.close()


@both_databases
@pytest.mark.parametrize("restarts", [False, True], ids=["one-process", "restart"])
async def test_a_clock_that_is_set_back_does_not_give_a_held_environment_away(rig, restarts):
    """Nor does it make the next run wait for longer than the lease would have lasted."""
    async with rig.control() as client:
        holder = Run(client, "a", **STATIC)
        await holder.through("reset", "before")
    rig.clock.set_back(HOUR)
    rig = rig.restart() if restarts else rig
    async with rig.control() as client:
        holder.client, second = client, Run(client, "b", **STATIC)
        rows = rig.rows()
        assert code_of(await second.post("reset")) == (409, "environment_busy")
        assert rig.rows() == rows
        rig.clock.advance(LEASE)
        await second.through("reset", "before")
        assert code_of(await holder.post("after")) == (409, "lease_expired")
    rig.close()


async def test_how_far_a_renewal_may_go_is_counted_on_the_controllers_own_time(rig):
    """A day from now, though the system's clock says an hour ago."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset")
        rig.clock.set_back(HOUR)
        too_far = await run.post("renew", expires_at="2026-03-02T10:00:00.000000001Z")
        assert code_of(too_far) == (400, "invalid_request")
        assert (await run.post("renew", expires_at="2026-03-02T10:00:00Z")).status_code == 200


@both_databases
async def test_a_renewal_does_not_wake_an_expired_lease(rig):
    """Not even one that was answered before; and its environment's records are gone."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset", "before")
        assert (await run.post("renew", expires_at="2026-03-01T10:20:00Z")).status_code == 200
        rig.clock.advance(20 * 60)
        for expires_at in ("2026-03-01T10:20:00Z", "2026-03-01T11:00:00Z"):
            assert code_of(await run.post("renew", expires_at=expires_at)) == (409, "lease_expired")
            rig.clock.set_back(10 * 60)
        rows = rig.rows()
        assert "'expired'" in rows["leases"][0]
        assert rows["ledger_entries"] == []
        assert code_of(await run.post("after")) == (409, "lease_expired")
        assert rig.rows() == rows


@both_databases
async def test_a_clock_that_jumps_ahead_ends_leases_and_one_that_jumps_back_again_does_not_undo_it(rig):
    """An expiry that a call has seen stays; of the others the later time is what counts from then on."""
    async with rig.control() as client:
        seen, unseen = Run(client, "a"), Run(client, "b")
        for run in (seen, unseen):
            await run.through("reset", "before")
        rig.clock.set_back(-HOUR)
        assert code_of(await seen.post("after")) == (409, "lease_expired")
        rig.clock.set_back(HOUR)
        for run in (seen, unseen):
            assert code_of(await run.post("after")) == (409, "lease_expired")


@both_databases
async def test_what_a_released_lease_was_answered_outlives_any_clock(rig):
    """A receipt is asked for again years later, and after a restart in the past."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset", "before", "after", "verify", "release")
        receipt = run.answers["verify"]["receipt"]
        rig.clock.advance(400 * 24 * HOUR)
        assert (await run.post("verify")).json()["receipt"] == receipt
    rig.clock.set_back(800 * 24 * HOUR)
    restarted = rig.restart()
    async with restarted.control() as client:
        run.client = client
        assert (await run.post("verify")).json()["receipt"] == receipt
    restarted.close()


@both_databases
def test_a_time_that_is_kept_is_never_behind_another_processs(rig):
    """The database has the latest that any of them gave out; the own clock's counts from there on."""
    book = rig.plane.book
    with rig.engine.begin() as connection:
        ahead = book.now(connection) + HOUR * NANOSECONDS
        assert store.raise_clock_floor(connection, ahead) == ahead
    with rig.engine.begin() as connection:
        assert book.tick(connection) == store.clock_floor(connection) == ahead
        assert book.now(connection) == ahead
        rig.clock.advance(7)
        assert book.tick(connection) == store.clock_floor(connection) == ahead + 7 * NANOSECONDS
