"""The engine's transactions: they lock at once, roll back whole, and survive being read from elsewhere."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from agentbeat_controller import databases
from agentbeat_controller.databases import begin_setup, open_engine, shown
from agentbeat_controller.tables import metadata
from support.postgres import Database


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr(databases, "LOCK_WAIT_SECONDS", 0.05)
    opened = open_engine(f"sqlite:///{tmp_path / 'a.db'}")
    yield opened
    opened.dispose()


def test_a_second_writer_waits_and_then_gives_up(engine: Engine) -> None:
    """A transaction holds the lock from its first moment, so what it read is still true when it writes."""
    with (
        engine.begin(),
        engine.connect() as second,
        pytest.raises(OperationalError, match="locked"),
    ):
        second.execute(text("SELECT 1"))
    with engine.begin() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1


def test_a_savepoint_rolls_back_alone(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (n INTEGER)"))
        connection.execute(text("INSERT INTO t VALUES (1)"))
        inner = connection.begin_nested()
        connection.execute(text("INSERT INTO t VALUES (2)"))
        inner.rollback()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT n FROM t")).scalars().all() == [1]


def test_a_table_is_made_inside_the_transaction(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE t (n INTEGER)"))
        connection.rollback()
    with engine.connect() as connection, pytest.raises(OperationalError, match="no such table"):
        connection.execute(text("SELECT * FROM t"))


def test_the_file_keeps_a_write_ahead_log_and_its_references(engine: Engine) -> None:
    with engine.connect() as connection:
        found = [
            connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert found == ["wal", 2, 1]


@pytest.fixture
def beginner(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another process that was first on the new file, and is at work on it."""
    holder = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    holder.execute("CREATE TABLE first (n INTEGER)")
    yield holder
    holder.close()


def test_who_comes_second_to_a_new_file_waits_for_the_first(
    engine: Engine, beginner: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if beginner.in_transaction:
            beginner.execute("COMMIT")

    monkeypatch.setattr("agentbeat_controller.databases.time.sleep", sleep)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM first")).scalar_one() == 0
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    assert waited


def test_who_comes_second_to_a_new_file_does_not_wait_for_ever(
    engine: Engine, beginner: sqlite3.Connection
) -> None:
    with pytest.raises(OperationalError, match="locked"):
        engine.connect()
    beginner.execute("COMMIT")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM first")).scalar_one() == 0


# PostgreSQL


@pytest.fixture
def postgresql(postgres: Database) -> Iterator[Engine]:
    opened = open_engine(postgres.url)
    yield opened
    opened.dispose()


def setting(engine: Engine, name: str) -> object:
    with engine.begin() as connection:
        return connection.execute(text(f"SHOW {name}")).scalar_one()


def test_postgresql_is_reached_with_psycopg_3_however_the_url_begins(postgres: Database) -> None:
    """The password has characters that a URL must escape; the server gets it as it is."""
    for begins in ("postgresql", "postgresql+psycopg", "postgres"):
        engine = open_engine(postgres.url.replace("postgresql", begins, 1))
        assert engine.driver == "psycopg"
        assert setting(engine, "application_name") == "agentbeat-controller"
        engine.dispose()


def test_nothing_in_postgresql_waits_for_ever(postgresql: Engine) -> None:
    names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    assert [setting(postgresql, name) for name in names] == ["10s", "30s", "1min"]


def test_settings_of_the_url_come_before_ours(postgres: Database) -> None:
    engine = open_engine(
        postgres.with_options(lock_timeout="70ms", work_mem="5MB") + "&application_name=mine"
    )
    names = ("lock_timeout", "statement_timeout", "work_mem", "application_name")
    assert [setting(engine, name) for name in names] == ["70ms", "30s", "5MB", "mine"]
    engine.dispose()


@pytest.mark.parametrize("level", ["repeatable read", "serializable", "read uncommitted"])
def test_what_is_read_after_a_lock_is_what_stands_there_then(postgres: Database, level: str) -> None:
    """A server whose default is a snapshot of the transaction's beginning would hide the write that the
    lock waited for: the level is ours, not the server's."""
    postgres.query(f"ALTER DATABASE {postgres.name} SET default_transaction_isolation = '{level}'")
    engine = open_engine(postgres.url)
    assert setting(engine, "default_transaction_isolation") == level
    assert setting(engine, "transaction_isolation") == "read committed"
    engine.dispose()


def test_a_server_that_is_too_old_is_refused(postgresql: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentbeat_controller.databases._OLDEST", 99)
    with (
        pytest.raises(ValueError, match=r"is PostgreSQL \d+ \(expected 99 or newer\)"),
        postgresql.begin() as own,
    ):
        begin_setup(own)


def test_a_database_that_cannot_hold_every_text_is_refused(postgres: Database) -> None:
    latin = replace(postgres, name="latin")
    postgres.query("CREATE DATABASE latin OWNER controller ENCODING 'LATIN1' TEMPLATE template0")
    engine = open_engine(latin.url)
    with pytest.raises(ValueError, match="encoding LATIN1"), engine.begin() as connection:
        begin_setup(connection)
    engine.dispose()
    postgres.query("DROP DATABASE latin")


def test_one_process_at_a_time_sets_up_a_database(postgres: Database, postgresql: Engine) -> None:
    """The second waits until the first has committed."""
    impatient = open_engine(postgres.with_options(lock_timeout="50ms"))
    with postgresql.begin() as first:
        begin_setup(first)
        with pytest.raises(OperationalError, match="lock timeout"), impatient.begin() as second:
            begin_setup(second)
    with impatient.begin() as second:
        begin_setup(second)
    impatient.dispose()


# URLs


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://u:sword-fish@h/db", "another kind of database"),
        ("postgresql+psycopg2://u:sword-fish@h/db", "another driver"),
        ("postgresql+asyncpg://u:sword-fish@h/db", "another driver"),
        ("sqlite+aiosqlite:////x", "another driver"),
        ("postgresql://u:a@sword-fish@h/db", "%40"),
        ("postgresql://u:a@sword/fish@h/db", "%40"),
        ("postgresql://u:a@b:sword-fish@h/db", "cannot be read"),
        ("postgresql://u:sword-fish@h:x/db", "cannot be read"),
    ],
)
def test_a_url_that_cannot_be_meant_is_refused_without_its_password(url: str, said: str) -> None:
    """A part of a password that has an @ would else be told as the name of a host or a port."""
    with pytest.raises(ValueError, match=said) as refused:
        open_engine(url)
    assert "fish" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
        ("postgresql://u:secret@h:1/db", "postgresql://u:***@h:1/db"),
        (
            "postgresql://u@h/db?password=secret&sslkey=secret&options=secret&sslmode=require",
            "postgresql://u@h/db?sslmode=require",
        ),
        ("postgresql:///db?host=/run/x&passfile=/secret", "postgresql:///db?host=%2Frun%2Fx"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(url: str, expected: str) -> None:
    assert shown(make_url(url)) == expected


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:a?mode=memory&uri=true"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must be a file"):
        open_engine(url)


def test_a_url_that_cannot_be_read_is_refused_without_repeating_it() -> None:
    with pytest.raises(ValueError, match="cannot be read") as refused:
        open_engine("my-password-not-a-url")
    assert "password" not in str(refused.value)


# The guide


def test_the_guide_says_what_the_engine_does(postgresql: Engine) -> None:
    """docs/controller.md: the bounds, the parts of a URL that are shown, and the tables."""
    guide = (Path(__file__).parents[2] / "docs" / "controller.md").read_text(encoding="utf-8")
    for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
        with postgresql.begin() as connection:
            query = text("SELECT setting::integer / 1000 FROM pg_settings WHERE name = :name")
            seconds = connection.execute(query, {"name": name}).scalar_one()
        assert f"| {seconds} s | `options=-c%20{name}%3D{seconds}s` |" in guide
    assert f"at most {postgresql.pool.size()} connections" in guide  # type: ignore[attr-defined]
    assert "only `host`, `port`, `sslmode` and\n`target_session_attrs`" in guide
    tables = guide[guide.index("| table |") :]
    told = set(re.findall(r"`(\w+)`[,| ]", tables)) - {"deployment_static"}
    assert told == set(metadata.tables)
