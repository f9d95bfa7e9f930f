"""One engine for leases and records alike, set up so that a transaction is what it says.

SQLite: each transaction begins with `BEGIN IMMEDIATE`, so the first statement already holds the write lock
and what it reads is what it later changes; savepoints work, because the driver does not begin or commit on
its own; the write-ahead log with full synchronisation survives a kill and a power cut; a second process
waits for the lock instead of failing at once.

PostgreSQL (by URL): the driver's defaults. Rows that decide are locked with `SELECT … FOR UPDATE`, which
SQLite does not know and does not need.

    engine = open_engine("sqlite:////var/lib/agentbeat/controller.db")
    with engine.begin() as connection:
        ...
"""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

__all__ = ["LOCK_WAIT_SECONDS", "open_engine"]

#: How long a transaction waits for another process's write lock before it gives up.
LOCK_WAIT_SECONDS: Final = 10


def open_engine(url: str | URL) -> Engine:
    """An engine for a database URL; nothing is connected yet.

    Raises:
        ValueError: the URL cannot be read, or names a SQLite database in memory, which every connection
            would see as another one.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ValueError(
            "the database URL cannot be read (expected such as sqlite:////path/to/file)"
        ) from None
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed, pool_pre_ping=True)
    if parsed.database in (None, "", ":memory:") or (parsed.database or "").startswith("file:"):
        raise ValueError("a SQLite database must be a file: expected such as sqlite:////path/to/file")
    engine = create_engine(parsed, connect_args={"timeout": LOCK_WAIT_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # the driver must not begin or commit by itself
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
