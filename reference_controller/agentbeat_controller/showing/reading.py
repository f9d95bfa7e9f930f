"""What the database keeps of one run, read in one transaction that can write nothing.

No Controller is needed, and one that works on the same database is not held up: SQLite's file is opened
read-only, PostgreSQL is asked for a read-only transaction, and either shows one instant.

    with opened("sqlite:////var/lib/agentbeat/controller.db") as connection:
        kept = read_run(connection, "run-1")
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, func, inspect, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from agentbeat_controller import store
from agentbeat_controller.databases import open_engine, shown
from agentbeat_controller.injections import injection_of
from agentbeat_controller.leases import Lease
from agentbeat_controller.store import Snapshot
from agentbeat_controller.tables import injections, leases, receipts
from agentbeat_protocol import Injection, StateReceipt, VerifyAnswer, cut, read_json

__all__ = ["RunRecord", "ShowError", "opened", "read_run"]

#: How many runs an error names that says which ones there are.
_NAMED: Final = 5


class ShowError(Exception):
    """There is nothing to show; the message says what there is instead."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """Everything that is kept of a run.

    Args:
        injection: in words; None where nothing was planted, or by a Controller that kept the digest alone.
        verified: the answer to verify.
        receipt: as it is stored, beside the copy in `verified`.
    """

    lease: Lease
    injection: Injection | None
    before: Snapshot | None
    after: Snapshot | None
    verified: VerifyAnswer | None
    receipt: StateReceipt | None


@contextmanager
def opened(url: str | URL) -> Iterator[Connection]:
    """A read-only connection to a Controller's database, inside one transaction.

    Raises:
        ShowError: the database cannot be opened, does not answer, or is no Controller's.
    """
    try:
        engine = _readonly(url)
    except ValueError as error:
        raise ShowError(str(error)) from None
    try:
        with engine.connect() as connection, connection.begin():
            if not inspect(connection).has_table(leases.name):
                raise ShowError(f"{_told(engine)}: no Controller has used this database")
            yield connection
    except SQLAlchemyError as error:
        raise ShowError(f"{_told(engine)}: {_reason(error)}") from None
    finally:
        engine.dispose()


def read_run(connection: Connection, run_id: str) -> RunRecord:
    """What is kept of a run.

    Raises:
        ShowError: the database does not know the run.
    """
    lease = store.lease_of_run(connection, run_id)
    if lease is None:
        raise ShowError(f"no run {cut(run_id)} in this database; {_known(connection)}")
    kept_texts = inspect(connection).has_table(injections.name)
    answer = store.answer_of(connection, lease.lease_id, "verify")
    receipt = connection.execute(
        select(receipts.c.body).where(receipts.c.lease_id == lease.lease_id)
    ).scalar_one_or_none()
    return RunRecord(
        lease=lease,
        injection=injection_of(connection, lease.lease_id) if kept_texts else None,
        before=store.snapshot_of(connection, lease.lease_id, "before"),
        after=store.snapshot_of(connection, lease.lease_id, "after"),
        verified=None if answer is None else VerifyAnswer.model_validate(_json(answer.body)),
        receipt=None if receipt is None else StateReceipt.model_validate(_json(bytes(receipt))),
    )


def _json(raw: bytes) -> object:
    return read_json(raw, max_bytes=max(1, len(raw)))


def _known(connection: Connection) -> str:
    count = connection.execute(select(func.count()).select_from(leases)).scalar_one()
    if not count:
        return "it has none yet"
    query = select(leases.c.run_id).order_by(leases.c.expires_at.desc(), leases.c.run_id).limit(_NAMED)
    names = ", ".join(cut(name) for name in connection.execute(query).scalars())
    return f"it has {count}, the latest: {names}" if count > _NAMED else f"it has {names}"


def _readonly(url: str | URL) -> Engine:
    engine = open_engine(url)
    if engine.dialect.name != "sqlite":
        return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    path = Path(engine.url.database or "").absolute()
    engine.dispose()
    if not path.is_file():
        raise ValueError(f"{cut(str(path), 200)}: no such file")

    def connect() -> sqlite3.Connection:
        # SQLite would create what is not there; in this mode it changes nothing either.
        return sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )

    reading = create_engine(engine.url, creator=connect)
    event.listen(reading, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return reading


def _told(engine: Engine) -> str:
    return cut(engine.url.database or "", 200) if engine.dialect.name == "sqlite" else shown(engine.url)


def _reason(error: SQLAlchemyError) -> str:
    """The driver's own words, on one line; SQLAlchemy's would repeat the statement."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return cut(" ".join(str(cause).split()) or type(cause).__name__, 200)
