"""A PostgreSQL server that goes away, is full, or makes one wait: always an answer, and nothing half-kept."""

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import event, text

from agentbeat_protocol import ProtocolError, SnapshotRequest
from agentbeat_protocol.models import validated
from support.controllers import Rig, Run, code_of
from support.ledger import Ledger, write
from support.postgres import PASSWORD

DONE = {
    "reset": [],
    "before": ["reset"],
    "after": ["reset", "before"],
    "verify": ["reset", "before", "after"],
    "renew": ["reset"],
    "release": ["reset", "before"],
}
STEPS = pytest.mark.parametrize("step", DONE)
UNAVAILABLE = (503, "controller_unavailable")


@pytest.fixture
def database(postgres):
    return postgres.url


class Points:
    """Ends a Controller's session at one statement, or the commit, of the next call: the `at`-th, from 1."""

    def __init__(self, rig, postgres):
        self.at, self.passed, self._postgres = 0, 0, postgres
        event.listen(rig.engine, "before_cursor_execute", self._pass)
        event.listen(rig.engine, "commit", self._pass)

    def _pass(self, *_):
        self.passed += 1
        if self.passed == self.at:
            self._postgres.terminate()

    def arm(self, at):
        self.at, self.passed = at, 0


async def refused_and_unchanged(rig, run, step):
    """The step is 503 with Retry-After, and every row is as it was."""
    rows = rig.rows()
    refused = await run.post(step)
    assert code_of(refused) == UNAVAILABLE
    assert refused.headers["Retry-After"] == "1"
    assert rig.rows() == rows
    return refused.json()["error"]["message"]


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


# Waiting


@pytest.fixture
def impatient(rig, postgres):
    """A second Controller on the database, which waits a short while only."""
    other = Rig(
        postgres.with_options(
            lock_timeout="100ms", statement_timeout="400ms", idle_in_transaction_session_timeout="150ms"
        ),
        clock=rig.clock,
    )
    yield other
    other.close()


@pytest.mark.parametrize(
    ("step", "locks"),
    [
        ("reset", "SELECT * FROM deployments FOR UPDATE"),
        ("reset", "SELECT * FROM controller FOR UPDATE"),
        ("before", "SELECT * FROM leases FOR UPDATE"),
        ("after", "SELECT * FROM controller FOR UPDATE"),
        ("verify", "SELECT * FROM leases FOR UPDATE"),
        ("verify", "SELECT * FROM controller FOR UPDATE"),
        ("renew", "SELECT * FROM leases FOR UPDATE"),
        ("release", "LOCK TABLE ledger_entries"),
    ],
)
async def test_a_lock_that_is_not_given_up_is_503_after_a_while(impatient, step, locks):
    """Whoever holds it: the call changes nothing, and works once the lock is gone."""
    async with impatient.control() as client:
        run = Run(client, binding_mode="deployment_static")
        for done in DONE[step]:
            await run.through(done)
        impatient.clock.advance(1)
        with impatient.engine.connect() as holder:
            holder.execute(text("SET idle_in_transaction_session_timeout = 0"))
            holder.execute(text(locks))
            refused = await run.post(step)
            holder.rollback()
            holder.execute(text("RESET idle_in_transaction_session_timeout"))
        assert code_of(refused) == UNAVAILABLE
        rows = impatient.rows()
        assert len(rows["answers"]) == len(DONE[step])
        await run.through(step)


async def test_a_business_call_that_waits_too_long_is_503(rig, impatient):
    async with rig.control() as client, impatient.business(run_id="run-a") as tools:
        await Run(client).through("reset", "before")
        rows = rig.rows()
        with rig.door.enter("deployment-a", "run-a"):
            assert code_of(await tools.post("/entries", json={"name": "cash", "amount": 1})) == UNAVAILABLE
        assert rig.rows() == rows
        assert (await tools.get("/entries")).status_code == 200


class SlowLedger(Ledger):
    """Its state takes longer than a statement may."""

    def state(self, connection, environment_id):
        connection.execute(text("SELECT pg_sleep(30)"))


async def test_a_statement_that_takes_too_long_is_503(rig, impatient):
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset")
    slow = impatient.restart(environment=SlowLedger())
    async with slow.control() as client:
        run.client = client
        await refused_and_unchanged(slow, run, "before")
    slow.close()


async def test_a_controller_that_hangs_does_not_hold_a_lease_for_ever(rig, impatient):
    """Its transaction rests too long and is ended by the server: its business call is 503 and left nothing,
    and the other Controller's snapshot, which waited for it, has nothing of it."""
    async with rig.control() as client:
        run = Run(client)
        await run.through("reset", "before")
    inside = threading.Event()
    taken = threading.Event()

    def hangs():
        with impatient.door.enter("deployment-a", "run-a") as entry:
            write(entry, "cash", 1)
            inside.set()
            assert taken.wait(10)
            write(entry, "stock", 1)

    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(hangs)
        assert inside.wait(10)
        answer = json.loads(rig.plane.snapshot(validated(SnapshotRequest, run.body("after"))))
        taken.set()
        with pytest.raises(ProtocolError) as refused:
            call.result(10)
    assert refused.value.code == "controller_unavailable"
    state = json.loads(rig.plane.snapshot_content(answer["snapshot_ref"]))
    assert (state["entries"], state["calls"]) == ({"cash": 100, "stock": 40}, [])


# Transactions that meet


def test_of_two_transactions_in_a_deadlock_both_come_to_their_end(rig):
    """The server ends one, which is begun anew."""
    with rig.engine.begin() as connection:
        connection.execute(text("CREATE TABLE pairs (n INTEGER PRIMARY KEY, hits INTEGER NOT NULL)"))
        connection.execute(text("INSERT INTO pairs VALUES (0, 0), (1, 0)"))
    both, tries = threading.Barrier(2), []

    def hit(connection, n):
        connection.execute(text("UPDATE pairs SET hits = hits + 1 WHERE n = :n"), {"n": n})

    def cross(first):
        def work(connection):
            tries.append(first)
            hit(connection, first)
            if len(tries) <= 2:
                both.wait(10)
            hit(connection, 1 - first)

        rig.plane.book.transactions.run(work)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(cross, (0, 1)))
    assert len(tries) == 3
    with rig.engine.begin() as connection:
        assert connection.execute(text("SELECT hits FROM pairs")).scalars().all() == [2, 2]


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_a_transaction_that_cannot_be_serialised_is_begun_anew_three_times_at_most(rig, state):
    tries = []
    fails = text(f"DO $$ BEGIN RAISE EXCEPTION 'met' USING ERRCODE = '{state}'; END $$")

    def work(connection, until):
        tries.append(None)
        if len(tries) < until:
            connection.execute(fails)
        return len(tries)

    assert rig.plane.book.transactions.run(lambda connection: work(connection, 3)) == 3
    tries.clear()
    with pytest.raises(ProtocolError) as refused:
        rig.plane.book.transactions.run(lambda connection: work(connection, 9))
    assert (refused.value.code, len(tries)) == ("controller_unavailable", 3)


def test_an_error_of_another_kind_is_not_tried_again_and_tells_no_value(rig, caplog):
    caplog.set_level(logging.ERROR)
    tries = []

    def work(connection):
        tries.append(None)
        connection.execute(text("INSERT INTO ledger_entries VALUES ('e', :name, 1)"), {"name": "secret" * 40})

    with pytest.raises(ProtocolError, match="nothing has changed"):
        rig.plane.book.transactions.run(work)
    assert len(tries) == 1
    assert "StringDataRightTruncation" in caplog.text
    assert "secret" not in caplog.text
