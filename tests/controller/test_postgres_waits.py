"""PostgreSQL makes one wait, or ends one of two transactions that met: an answer, and nothing half-kept."""

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from agentbeat_controller import store
from agentbeat_protocol import ProtocolError, SnapshotRequest
from agentbeat_protocol.models import validated
from support.controllers import Rig, Run, code_of
from support.ledger import Ledger, write
from support.postgres_faults import DONE, UNAVAILABLE, refused_and_unchanged


@pytest.fixture
def database(postgres):
    return postgres.url


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


def test_a_time_that_another_transaction_gave_out_meanwhile_is_taken_over(rig):
    """The one that looked at the clock first comes to keep its time last: it keeps the later one."""
    with rig.engine.begin() as slow:
        seen = rig.plane.book.now(slow)
        with rig.engine.begin() as quick:
            assert store.raise_clock_floor(quick, seen + 100) == seen + 100
        assert store.raise_clock_floor(slow, seen) == seen + 100


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
    assert len(tries) > 2  # the one that is begun anew may come first again, and meet the other once more
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
