"""The default store: one SQLite file, which several processes on one machine may share.

- A claim is one INSERT, so SQLite's own lock decides between threads and processes.
- WAL with `synchronous=FULL`: a commit is on the disk before it returns. A claim survives `kill -9` and a
  power cut. The log is made long at once: what makes a file longer waits for the disk twice.
- One connection with a lock: SQLite writes one at a time anyway, and a read takes microseconds.
- The calls of a `group` are one transaction, which waits for the disk once.
- The file is made readable by its owner only, for evidence may hold what the Agent saw.
- WAL needs a local disk; a network share is not for this store.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agentbeat_sdk.stores.run_store import StoreError

__all__ = ["SQLiteStore"]

#: Marks a file as ours ("ABRN"), and the layout of its table.
_APPLICATION_ID: Final = 0x4142524E
_LAYOUT: Final = 1

#: How long the write-ahead log gets before SQLite begins it anew: 1,000 pages with their heads.
_LOG_BYTES: Final = 1_000 * (4_096 + 24)

_TABLE: Final = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY NOT NULL,
    case_id TEXT NOT NULL,
    claimed_at TEXT NOT NULL,
    finished_at TEXT,
    document BLOB
)
"""


class SQLiteStore:
    """A `GroupingStore` in a file.

    Args:
        path: the file; it is made on first use, its folder must be there.
        busy_timeout: seconds to wait while another process writes, before a `StoreError`.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_timeout: float = 10.0) -> None:
        if os.fspath(path) in ("", ":memory:"):
            raise ValueError("path: expected a file; MemoryStore keeps runs in memory")
        # A later change of the working directory must not lead to another file.
        self.path = Path(path).absolute()
        self._busy_timeout = busy_timeout
        # The calls in a group take it again, in the thread that holds it.
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def __str__(self) -> str:
        return str(self.path)

    @property
    def blocking(self) -> bool:
        """True: a commit waits for the disk."""
        return True

    def open(self) -> None:
        """Open the file, and make it when it is not there.

        Raises:
            StoreError: it cannot be opened, or is no store of ours.
        """
        with self._session():
            pass

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def claim(self, run_id: str, case_id: str) -> bool:
        """Take `run_id` for good; True for the first caller only, of all processes that share the file."""
        with self._session() as connection:
            cursor = connection.execute(
                "INSERT INTO runs (run_id, case_id, claimed_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (run_id, case_id, _now()),
            )
            return cursor.rowcount == 1

    def is_claimed(self, run_id: str) -> bool:
        """Whether `run_id` is claimed or finished."""
        with self._session() as connection:
            row = connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            return row is not None

    def finish(self, run_id: str, document: bytes | None) -> None:
        """End a claimed run and keep its document, if it has one."""
        with self._session() as connection:
            cursor = connection.execute(
                "UPDATE runs SET finished_at = ?, document = ? WHERE run_id = ? AND finished_at IS NULL",
                (_now(), document, run_id),
            )
            if cursor.rowcount != 1:
                raise StoreError(f"{run_id} is not claimed, or is finished already")

    def document(self, run_id: str) -> bytes | None:
        """The very bytes given to `finish`, or None."""
        with self._session() as connection:
            row = connection.execute("SELECT document FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            return None if row is None else row[0]

    @contextmanager
    def group(self) -> Iterator[None]:
        """A block whose calls, made in this thread, are one transaction."""
        with self._session() as connection, _transaction(connection, "BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one caller at a time; outside of a group each statement is a transaction."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = _connect(self.path, self._busy_timeout)
                yield self._connection
            except sqlite3.Error as error:
                raise StoreError(f"{self.path}: {error}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _connect(path: Path, busy_timeout: float) -> sqlite3.Connection:
    """A connection to a file that holds our table."""
    try:
        # Only a new file: closing a descriptor would drop the locks of another connection of this process.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    connection = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, path, time.monotonic() + busy_timeout)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, deadline: float) -> None:
    """Make the file a store of this layout; one that is anything else is refused unchanged."""
    with _transaction(connection, "BEGIN"):
        _is_ours(connection, path)
    connection.execute("PRAGMA synchronous = FULL")
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError:
            # SQLite does not wait by itself while another process makes the same change.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    with _transaction(connection, "BEGIN IMMEDIATE"):
        if not _is_ours(connection, path):
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_LAYOUT}")
    _lengthen_log(connection, path)


def _lengthen_log(connection: sqlite3.Connection, path: Path) -> None:
    """Make the write-ahead log as long as it gets, so that every commit writes over what is there.

    A row that does not fit into the cache goes into the log before its transaction ends. Undone, it is in
    nobody's view of the file, and leaves the log as long as it has made it.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size >= _LOG_BYTES:
        return
    (usual,) = connection.execute("PRAGMA cache_size").fetchone()
    connection.execute("PRAGMA cache_size = 10")
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("INSERT INTO runs VALUES ('', '', '', NULL, zeroblob(?))", (_LOG_BYTES,))
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute(f"PRAGMA cache_size = {usual}")


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """One view of the file for several statements, kept as a whole or not at all."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is a store already; False when it is empty.

    Raises:
        StoreError: it is something else.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if (application, layout, tables) == (0, 0, 0):
        return False
    if (application, layout) != (_APPLICATION_ID, _LAYOUT):
        raise StoreError(f"{path}: got another program's database or another version's, expected a run store")
    return True
