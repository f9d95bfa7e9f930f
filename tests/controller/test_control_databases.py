"""A database that is locked or full: 503, nothing half-written, and the same request works later."""

import logging
import sqlite3
import threading
import time

import pytest
from sqlalchemy import event

from agentbeat_controller import ControlPlane, Transactions, open_engine
from agentbeat_controller.control_plane import SetupError
from agentbeat_protocol import ProtocolError
from support.controllers import CONTROL_SECRET, DEPLOYMENTS, Run, code_of
from support.ledger import Ledger
from support.postgres import both_databases

STEPS = ("reset", "before", "after", "verify", "renew", "release")
DONE = {"reset": [], "after": ["reset", "before"], "verify": ["reset", "before", "after"]}


def set_on_connections(rig, pragma):
    """Set a pragma on every connection that is opened from now on."""
    rig.engine.dispose()
    event.listen(rig.engine, "connect", lambda connection, _: connection.execute(f"PRAGMA {pragma}"))


async def come_to(run, step):
    for done in DONE.get(step, ["reset"]):
        await run.through(done)


@pytest.mark.parametrize("step", STEPS)
async def test_a_locked_database_is_503_and_nothing_is_written(rig, step, caplog):
    """Another process keeps the lock for longer than one waits."""
    set_on_connections(rig, "busy_timeout = 30")
    async with rig.control() as client:
        run = Run(client)
        await come_to(run, step)
        rows = rig.rows()
        other = sqlite3.connect(rig.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refused = await run.post(step)
        other.rollback()
        other.close()
        assert code_of(refused) == (503, "controller_unavailable")
        assert refused.headers["Retry-After"] == "1"
        assert rig.rows() == rows
        await run.through(step)
    assert "database is locked" in caplog.text
    assert CONTROL_SECRET not in caplog.text


@pytest.mark.parametrize("step", ["reset", "before", "after", "verify"])
async def test_a_full_disk_is_503_and_nothing_is_half_written(rig, step):
    """The disk is full from one call on; when there is room again, that call does its work."""
    async with rig.control() as client, rig.business(run_id="run-a") as tools:
        run = Run(client, injection={"surface": "note", "text": "long " * 6_000})
        await come_to(run, step)
        if step == "after":
            await tools.post("/entries", json={"name": "cash", "amount": 90})
        rows = rig.rows()
        with rig.engine.begin() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        set_on_connections(rig, f"max_page_count = {pages}")
        assert code_of(await run.post(step)) == (503, "controller_unavailable")
        assert rig.rows() == rows
        set_on_connections(rig, "max_page_count = 1000000")
        await run.through(step)


async def test_a_full_disk_refuses_a_business_call_whole(rig):
    async with rig.control() as client, rig.business(run_id="run-a") as tools:
        await Run(client).through("reset", "before")
        rows = rig.rows()
        with rig.engine.begin() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        set_on_connections(rig, f"max_page_count = {pages}")
        long = {"name": "x" * 30_000, "amount": 1}
        assert code_of(await tools.post("/entries", json=long)) == (503, "controller_unavailable")
        assert rig.rows() == rows


@both_databases
def test_a_database_belongs_to_one_controller(rig):
    """Else the receipts of one run could carry two ids."""
    rows = rig.rows()
    stranger = ControlPlane(
        environment=Ledger(),
        transactions=Transactions(rig.engine),
        controller_id="another-controller",
        deployments=DEPLOYMENTS,
        signer=None,
    )
    with pytest.raises(SetupError, match="another controller id"):
        stranger.start()
    assert rig.rows() == rows


@both_databases
def test_a_deployment_keeps_its_environment_over_restarts(rig):
    rows = rig.rows()["deployments"]
    restarted = rig.restart()
    assert restarted.rows()["deployments"] == rows
    restarted.close()


def test_writers_are_let_in_in_the_order_in_which_they_came(rig):
    """One waits behind another, however fast the other comes back: nobody starves."""
    order, entered, leave = [], threading.Event(), threading.Event()

    def first():
        with rig.plane.book.transactions.begin():
            entered.set()
            leave.wait(10)

    def later(number, come):
        come.set()
        with rig.plane.book.transactions.begin():
            order.append(number)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert entered.wait(10)
    queue = rig.plane.book.transactions._queue
    for number in range(6):
        come = threading.Event()
        threads.append(threading.Thread(target=later, args=(number, come)))
        threads[-1].start()
        assert come.wait(10)
        while len(queue._waiting) <= number:
            time.sleep(0.001)
    leave.set()
    for thread in threads:
        thread.join(10)
    assert order == list(range(6))


def test_a_turn_that_does_not_come_is_given_up(tmp_path):
    """503 after the wait, and the queue is as if nobody had asked."""
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    transactions = Transactions(engine, wait_seconds=0.02)
    with transactions.begin(), pytest.raises(ProtocolError) as caught:
        transactions.run(lambda connection: None)
    assert caught.value.code == "controller_unavailable"
    assert transactions.run(lambda connection: "again") == "again"
    engine.dispose()


@both_databases
def test_work_that_met_another_transaction_is_begun_anew(rig):
    """Two racing inserts of one row: the second attempt sees the first one's row. A third is not needed."""
    attempts = []

    def work(connection):
        attempts.append(None)
        if len(attempts) == 1:
            connection.exec_driver_sql("INSERT INTO controller VALUES (1, 'x', 0)")
        return len(attempts)

    assert rig.plane.book.transactions.run(work) == 2


@both_databases
def test_work_that_always_meets_another_gives_up(rig, caplog):
    caplog.set_level(logging.ERROR)
    rows = rig.rows()
    with pytest.raises(ProtocolError) as caught:
        rig.plane.book.transactions.run(
            lambda connection: connection.exec_driver_sql("INSERT INTO controller VALUES (1, 'secret', 0)")
        )
    assert caught.value.code == "controller_unavailable"
    assert "secret" not in caplog.text
    assert rig.rows() == rows
