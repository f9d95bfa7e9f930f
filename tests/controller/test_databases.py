"""The engine's transactions: they lock at once, roll back whole, and survive being read from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from agentbeat_controller import databases
from agentbeat_controller.databases import open_engine


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


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:a?mode=memory&uri=true"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must be a file"):
        open_engine(url)


def test_a_url_that_cannot_be_read_is_refused_without_repeating_it() -> None:
    with pytest.raises(ValueError, match="cannot be read") as refused:
        open_engine("my-password-not-a-url")
    assert "password" not in str(refused.value)
