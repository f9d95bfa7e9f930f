"""Showing reads: nothing is written, nobody is held up, and a database that is none is named."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_controller.showing.reading import ShowError, opened, read_run
from support.controllers import Rig
from support.postgres import both_databases
from support.shown_runs import play, shown, url_of

WHOLE = ("reset", "before", "after", "verify")


@pytest.fixture
def rig(database):
    with closing(Rig(database, environment=DeskEnvironment())) as rig:
        yield rig


@both_databases
async def test_either_database_shows_the_same(rig):
    await play(rig, *WHOLE)
    view = shown(rig)
    assert len(view.changes) == 4
    assert {finding.holds for finding in view.findings} == {True}


@both_databases
async def test_a_reader_cannot_write(rig):
    await play(rig, "reset")
    rows = rig.rows()
    for statement in (
        "DELETE FROM leases",
        "UPDATE leases SET status = 'released'",
        "CREATE TABLE x (a INT)",
    ):
        with pytest.raises((DBAPIError, ShowError)), opened(url_of(rig)) as connection:
            connection.exec_driver_sql(statement)
    assert rig.rows() == rows


@both_databases
async def test_a_controller_that_writes_is_not_held_up_and_shows_one_instant(rig):
    """A writer in the middle of a transaction holds up no reader, and a reader no writer."""
    await play(rig, *WHOLE)
    with rig.engine.begin() as writing:
        writing.exec_driver_sql("UPDATE leases SET case_id = 'case-half-way'")
        assert shown(rig).lease.case_id == "case-a"
    with opened(url_of(rig)) as reading:
        before = read_run(reading, "run-a").lease
        done = threading.Thread(target=lambda: _rename(rig))
        done.start()
        done.join(10)
        assert not done.is_alive()
        assert read_run(reading, "run-a").lease == before
    assert shown(rig).lease.case_id == "case-renamed"


def _rename(rig):
    with rig.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE leases SET case_id = 'case-renamed'")


async def test_a_closed_database_stays_as_it_is_to_the_byte(rig):
    await play(rig, *WHOLE)
    rig.close()
    before = hashlib.sha256(rig.database.read_bytes()).hexdigest()
    shown(rig)
    assert hashlib.sha256(rig.database.read_bytes()).hexdigest() == before


#: Run in a process of its own, which ends as a killed Controller does.
WRITE_AND_DIE = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("UPDATE leases SET case_id = 'case-in-the-log'")
os.kill(os.getpid(), 9)
"""


async def test_what_a_killed_controller_left_in_its_log_is_read(rig):
    """The write-ahead log that nobody has folded in yet."""
    await play(rig, *WHOLE)
    rig.close()
    ended = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(rig.database)], timeout=30)
    assert ended.returncode == -9
    assert Path(f"{rig.database}-wal").stat().st_size > 0
    assert shown(rig).lease.case_id == "case-in-the-log"


def said_by(url):
    with pytest.raises(ShowError) as caught, opened(url):
        pass
    return str(caught.value)


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    path = tmp_path / "none.db"
    assert said_by(f"sqlite:///{path}") == f"{path}: no such file"
    assert said_by(f"sqlite:///{tmp_path}") == f"{tmp_path}: no such file"
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_controllers_database_says_so(tmp_path):
    other, text = tmp_path / "a?b #%20.db", tmp_path / "text.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE a (b)")
    text.write_text("These are notes, and no database.\n" * 100)
    url = f"sqlite:///{other}".replace("?", "%3F")
    assert "no such file" in said_by(url) or "no Controller has used this database" in said_by(url)
    plain = tmp_path / "plain #%.db"
    other.rename(plain)
    assert said_by(f"sqlite:///{plain}") == f"{plain}: no Controller has used this database"
    assert "file is not a database" in said_by(f"sqlite:///{text}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "cannot be read"),
        ("sqlite://", "must be a file"),
        ("mysql://u:pass-word@x/y", "expected SQLite or PostgreSQL"),
    ],
)
def test_a_url_that_cannot_be_meant_is_an_error_without_its_password(url, said):
    assert said in said_by(url)
    assert "pass-word" not in said_by(url)


def test_a_server_that_does_not_answer_is_named_without_its_password():
    found = said_by("postgresql://reader:pass-word@127.0.0.1:1/agentbeat")
    assert "127.0.0.1" in found
    assert "refused" in found
    assert "pass-word" not in found
    assert "\n" not in found
