"""A PostgreSQL server that goes away, is full, or makes one wait: always an answer, and nothing half-kept."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import event

from support.controllers import Run, code_of
from support.postgres import PASSWORD
from support.postgres_faults import DONE, STEPS, UNAVAILABLE, Points, refused_and_unchanged


@pytest.fixture
def database(postgres):
    return postgres.url


# A connection that is lost


@STEPS
async def test_a_control_call_whose_connection_is_lost_at_any_point_is_done_once(rig, postgres, step):
    """It is begun anew on another connection: 200, and the same request has the same answer."""
    points, at = Points(rig, postgres), 0
    async with rig.control() as client:
        while True:  # until a call comes to its end before its session does
            at += 1
            run = Run(client, f"r{at}")
            for done in DONE[step]:
                await run.through(done)
            points.arm(at)
            answer = await run.post(step)
            assert answer.status_code == 200
            at_its_end = points.passed < at
            points.arm(0)
            assert (await run.post(step)).content == answer.content
            if at_its_end:
                break
    assert at > 5
    rows = rig.rows()
    assert len(rows["leases"]) == at
    assert len(rows["answers"]) == at * (len(DONE[step]) + 1)
    assert len(rows["snapshots"]) == at * sum(done in ("before", "after") for done in (*DONE[step], step))
    assert len(rows["receipts"]) == (at if step == "verify" else 0)


async def test_a_business_call_whose_connection_is_lost_is_503_and_left_no_trace(rig, postgres):
    """At each of its statements and at its commit; it is not begun anew, because it could have been kept."""
    async with rig.control() as client, rig.business(run_id="run-a") as tools:
        await Run(client).through("reset", "before")
        rows, points, at = rig.rows(), Points(rig, postgres), 0
        while True:
            at += 1
            points.arm(at)
            answer = await tools.post("/entries", json={"name": "cash", "amount": 90})
            if answer.status_code == 200:
                break
            points.arm(0)
            assert code_of(answer) == UNAVAILABLE
            assert rig.rows() == rows
        assert at > 5
        assert answer.json() == {"cash": 90, "stock": 40}


def lost_after_commit(rig, monkeypatch):
    """The next commit is kept by the server, and its answer does not come."""
    commit, lost = rig.engine.dialect.do_commit, []

    def do_commit(connection):
        commit(connection)
        if not lost:
            lost.append(True)
            connection.dbapi_connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(rig.engine.dialect, "do_commit", do_commit)
    return lost


@STEPS
async def test_a_control_call_that_was_kept_and_not_answered_is_answered_from_what_was_kept(
    rig, monkeypatch, step
):
    async with rig.control() as client:
        run = Run(client)
        for done in DONE[step]:
            await run.through(done)
        lost = lost_after_commit(rig, monkeypatch)
        answer = await run.post(step)
        assert (answer.status_code, lost) == (200, [True])
        assert (await run.post(step)).content == answer.content
    assert len(rig.rows()["leases"]) == 1


async def test_a_business_call_that_was_kept_and_not_answered_does_not_say_that_nothing_changed(
    rig, monkeypatch
):
    async with rig.control() as client, rig.business(run_id="run-a") as tools:
        await Run(client).through("reset", "before")
        lost_after_commit(rig, monkeypatch)
        refused = await tools.post("/entries", json={"name": "cash", "amount": 90})
        assert code_of(refused) == UNAVAILABLE
        assert "not known" in refused.json()["error"]["message"]
        assert "nothing has changed" not in refused.json()["error"]["message"]
        assert (await tools.get("/entries")).json() == {"cash": 90, "stock": 40}


@STEPS
async def test_a_server_that_ends_every_session_is_503(rig, postgres, step):
    """Three attempts, then the caller is told; later the same request does its work."""
    async with rig.control() as client:
        run = Run(client)
        for done in DONE[step]:
            await run.through(done)
        ends = []

        def end(*_):
            if ends:
                postgres.terminate()

        event.listen(rig.engine, "before_cursor_execute", end)
        rows = rig.rows()
        ends.append(True)
        refused = await run.post(step)
        ends.clear()
        assert code_of(refused) == UNAVAILABLE
        assert "nothing has changed" in refused.json()["error"]["message"]
        assert rig.rows() == rows
        await run.through(step)


async def test_a_server_that_is_down_is_503_on_both_planes_until_it_is_up_again(
    rig, postgres_cluster, caplog
):
    """The connections of before its restart are replaced, and every lease is as it was."""
    async with rig.control() as client, rig.business(run_id="run-a") as tools:
        run = Run(client)
        await run.through("reset", "before")
        rows = rig.rows()
        postgres_cluster.stop()
        try:
            assert code_of(await client.get("/healthz")) == UNAVAILABLE
            assert code_of(await tools.get("/entries")) == UNAVAILABLE
            for step in ("reset", "after", "renew", "release"):
                assert code_of(await run.post(step)) == UNAVAILABLE
        finally:
            postgres_cluster.start()
        assert rig.rows() == rows
        assert (await client.get("/healthz")).json()["active_leases"] == 1
        assert (await tools.get("/entries")).status_code == 200
        await run.through("reset", "after", "verify", "release")
    assert "the database did not answer" in caplog.text
    assert PASSWORD not in caplog.text


async def test_after_a_restart_between_two_calls_the_next_one_is_answered(rig, postgres_cluster):
    """On either plane: a connection that rested meanwhile is looked at before it is used."""
    async with rig.control() as client, rig.business(run_id="run-a") as tools:
        await Run(client).through("reset", "before")
        postgres_cluster.stop()
        postgres_cluster.start()
        assert (await tools.get("/entries")).status_code == 200


async def test_a_server_that_takes_no_more_connections_is_503(rig, postgres, caplog):
    rows = rig.rows()
    rig.engine.dispose()
    postgres.query(f"ALTER DATABASE {postgres.name} CONNECTION LIMIT 0")
    async with rig.control() as client:
        run = Run(client)
        assert code_of(await run.post("reset")) == UNAVAILABLE
        postgres.query(f"ALTER DATABASE {postgres.name} CONNECTION LIMIT -1")
        assert rig.rows() == rows
        await run.through("reset")
    assert "too many connections" in caplog.text
    assert PASSWORD not in caplog.text


async def test_a_server_that_may_only_be_read_is_503(rig, postgres):
    """A standby that has not been promoted."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset")
        rig.engine.dispose()
        postgres.query(f"ALTER DATABASE {postgres.name} SET default_transaction_read_only = on")
        await refused_and_unchanged(rig, run, "before")


def test_more_callers_than_connections_wait_their_turn(rig):
    """Sixty threads on twenty connections: each is answered."""
    with ThreadPoolExecutor(60) as threads:
        found = list(threads.map(lambda _: rig.plane.health().status, range(240)))
    assert found == ["ok"] * 240
