"""One engine for leases and records alike, set up so that a transaction is what it says.

SQLite: each transaction begins with `BEGIN IMMEDIATE`, so the first statement already holds the write lock
and what it reads is what it later changes; savepoints work, because the driver does not begin or commit on
its own; the write-ahead log with full synchronisation survives a kill and a power cut; a second process
waits for the lock instead of failing at once.

PostgreSQL, by psycopg 3: `READ COMMITTED`, whatever the server's default is. Rows that decide are locked with
`SELECT … FOR UPDATE` (which SQLite does not know and does not need), and what is read after a lock must be
what stands there then; a snapshot of the transaction's beginning would miss the write that it waited for.
Nothing waits for ever: there are bounds for connecting, for a lock, for a statement, for a transaction that
rests, and for a server that is not heard of. Settings in the URL's query come before ours.

    engine = open_engine("postgresql://controller:…@db.example/agentbeat?sslmode=verify-full")
    with engine.begin() as connection:
        ...

Other databases are refused: the isolation of runs rests on what these two do.
"""

from __future__ import annotations

import sqlite3
import time
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

__all__ = ["LOCK_WAIT_SECONDS", "begin_setup", "open_engine", "shown"]

#: How long a transaction waits for another's lock, or for a connection, before it gives up.
LOCK_WAIT_SECONDS: Final = 10
#: Between two tries where SQLite does not wait by itself.
_PAUSE_SECONDS: Final = 0.01
#: How long one statement may take …
_STATEMENT_SECONDS: Final = 30
#: … and a transaction may rest between two: a Controller that hangs does not hold its leases for ever.
_IDLE_SECONDS: Final = 60
#: Connections of one process to a PostgreSQL server, which by default takes a hundred in all.
_CONNECTIONS: Final = 20

_SQLITE: Final = frozenset({"sqlite", "sqlite+pysqlite"})
_POSTGRESQL: Final = frozenset({"postgresql", "postgresql+psycopg", "postgres"})

#: What libpq is told: seconds until a connection stands, and until a silent server is taken for gone.
_LIBPQ: Final = MappingProxyType(
    {
        "application_name": "agentbeat-controller",
        "connect_timeout": "5",
        "keepalives_idle": "15",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "30000",
    }
)
#: Members of a URL's query that may be shown; the others could hold a password or the path of a key.
_SHOWN: Final = frozenset({"host", "port", "sslmode", "target_session_attrs"})

#: The oldest PostgreSQL. What is asked of the server is there since 9.6; the driver wants 10.
_OLDEST: Final = 12

#: The advisory lock of `begin_setup`, the same in every version.
_SETUP_LOCK: Final = int.from_bytes(b"agntbeat")


def open_engine(url: str | URL) -> Engine:
    """An engine for a database URL; nothing is connected yet. `postgresql://` means psycopg 3.

    Raises:
        ValueError: the URL cannot be read, names another kind of database or driver, or a SQLite database in
            memory, which every connection would see as another one; or psycopg is not installed.
    """
    parsed = _read_url(url)
    if parsed.drivername in _SQLITE:
        return _sqlite_engine(parsed)
    if parsed.drivername in _POSTGRESQL:
        return _postgresql_engine(parsed.set(drivername="postgresql+psycopg"))
    if parsed.get_backend_name() in ("sqlite", "postgresql"):
        raise ValueError("the database URL names another driver (expected sqlite:// or postgresql://)")
    raise ValueError("the database URL names another kind of database (expected SQLite or PostgreSQL)")


def shown(url: URL) -> str:
    """A database URL as people and logs may see it: without its password, and without a query's secrets."""
    query = {name: value for name, value in url.query.items() if name in _SHOWN}
    return url.set(query=query).render_as_string()


def begin_setup(connection: Connection) -> None:
    """Let one process at a time create what is missing; held until the transaction ends.

    SQLite's transactions exclude each other anyway. In PostgreSQL two that create one table would collide.

    Raises:
        ValueError: a Controller cannot live in this database.
    """
    if connection.dialect.name != "postgresql":
        return
    version = int(connection.execute(text("SHOW server_version_num")).scalar_one()) // 10_000
    if version < _OLDEST:
        raise ValueError(f"the database server is PostgreSQL {version} (expected {_OLDEST} or newer)")
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SETUP_LOCK})
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise ValueError(f"the database has the encoding {encoding} (expected UTF8)")


def _read_url(url: str | URL) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):  # a port that is no number is a ValueError that repeats it
        raise ValueError(
            "the database URL cannot be read (expected such as sqlite:////path/to/file or "
            "postgresql://user:…@host/name, special characters of the secret written as %XX)"
        ) from None


def _sqlite_engine(url: URL) -> Engine:
    if url.database in (None, "", ":memory:") or (url.database or "").startswith("file:"):
        raise ValueError("a SQLite database must be a file: expected such as sqlite:////path/to/file")
    engine = create_engine(url, connect_args={"timeout": LOCK_WAIT_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _postgresql_engine(url: URL) -> Engine:
    if "@" in f"{url.host}{url.database}":
        # The rest of a password that has one; it would be asked for, and told, as the name of a host.
        raise ValueError("the database URL has two @ (expected the one in the password as %40)")
    try:
        return create_engine(
            url,
            isolation_level="READ COMMITTED",
            connect_args=_connect_args(url),
            pool_size=_CONNECTIONS,
            max_overflow=0,
            pool_timeout=LOCK_WAIT_SECONDS,
            pool_pre_ping=True,  # after a restart of the server the connections of before are replaced
        )
    except ImportError:
        raise ValueError(
            "the driver of PostgreSQL is not installed: pip install 'agentbeat-kit[postgres]'"
        ) from None


def _connect_args(url: URL) -> dict[str, Any]:
    bounds = {
        "lock_timeout": LOCK_WAIT_SECONDS,
        "statement_timeout": _STATEMENT_SECONDS,
        "idle_in_transaction_session_timeout": _IDLE_SECONDS,
    }
    options = [f"-c {name}={seconds * 1000:.0f}" for name, seconds in bounds.items()]
    given = url.query.get("options", ())
    # The server takes the last one of two settings.
    options += [given] if isinstance(given, str) else given
    ours = {name: value for name, value in _LIBPQ.items() if name not in url.query}
    return {**ours, "options": " ".join(options)}


def _prepare_sqlite(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # the driver must not begin or commit by itself
    _keep_write_ahead_log(connection)
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _keep_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Set a file's mode. For this alone SQLite does not wait: of two that start at once one would fail."""
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
