"""One transaction per call: all of it or nothing, and a clean refusal when the database does not answer.

In one process, SQLite's writers queue here, in the order in which they came: SQLite's own waiting is by
polling, which under load lets some callers wait for seconds. Databases with row locks need no such queue.

A connection may be lost while a commit is on its way; then nobody knows on which side of it. `run` begins
anew, so work that finds its own traces (a recorded answer) is done once. `begin` cannot, and says so.

    with transactions.begin() as connection:
        ...
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from agentbeat_controller.databases import LOCK_WAIT_SECONDS
from agentbeat_controller.queues import Queue
from agentbeat_controller.refusals import unavailable
from agentbeat_protocol import cut

__all__ = ["Transactions"]

_log = logging.getLogger("agentbeat.controller")

T = TypeVar("T")

#: SQLSTATEs of two transactions that met: serialisation failure, deadlock, a table made twice at once.
_MET: Final = frozenset({"40001", "40P01", "42P07"})
_ATTEMPTS: Final = 3
_LONGEST_CAUSE: Final = 200


class Transactions:
    """Opens transactions on one engine; safe to use from several threads."""

    def __init__(self, engine: Engine, *, wait_seconds: float = LOCK_WAIT_SECONDS) -> None:
        self._engine = engine
        self._wait_seconds = wait_seconds
        self._queue = Queue() if engine.dialect.name == "sqlite" else None

    @property
    def engine(self) -> Engine:
        """The engine that the transactions are opened on."""
        return self._engine

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction: leaving normally commits, leaving with an exception rolls back.

        Raises:
            ProtocolError: `controller_unavailable`: the database is locked, full or gone. Nothing changed,
                unless the message says that this is not known.
        """
        ending = False
        try:
            with self._open() as connection:
                yield connection
                ending = True
        except (DBAPIError, PoolTimeout) as error:
            raise _unavailable(error, unknown=ending and _lost(error)) from error

    def run(self, work: Callable[[Connection], T]) -> T:
        """`work` inside a transaction; begun anew when it met another one's or lost its connection.

        Args:
            work: may be called several times, each time in a transaction that knows nothing of the last.

        Raises:
            ProtocolError: as `begin`.
        """
        unknown = False
        for attempt in range(1, _ATTEMPTS + 1):
            ending = False
            try:
                with self._open() as connection:
                    result = work(connection)
                    ending = True
            except (DBAPIError, PoolTimeout) as error:
                unknown = unknown or (ending and _lost(error))
                if attempt == _ATTEMPTS or not (_met_another(error) or _lost(error)):
                    raise _unavailable(error, unknown=unknown) from error
            else:
                return result
        raise AssertionError("unreachable: the last attempt returns or raises")

    @contextmanager
    def _open(self) -> Iterator[Connection]:
        if self._queue is None:
            with self._engine.begin() as connection:
                yield connection
            return
        if not self._queue.enter(self._wait_seconds):
            raise unavailable()
        try:
            with self._engine.begin() as connection:
                yield connection
        finally:
            self._queue.leave()


def _met_another(error: Exception) -> bool:
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return isinstance(error, IntegrityError) or state in _MET


def _lost(error: Exception) -> bool:
    """Whether a connection that stood is gone; one that did not come about is another matter."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _unavailable(error: Exception, *, unknown: bool) -> Exception:
    # The driver's own words only, and of a server's only the first line: SQLAlchemy's would repeat the
    # statement's parameters, and PostgreSQL's details the values of a row.
    cause = getattr(error, "orig", None) or error
    words = getattr(getattr(cause, "diag", None), "message_primary", None) or str(cause)
    _log.error("the database did not answer: %s: %s", type(cause).__name__, cut(words, _LONGEST_CAUSE))
    return unavailable(unknown=unknown)
