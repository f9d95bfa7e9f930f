"""The ordered log of business calls, kept by the Controller itself (CTL-8).

One line per call that came through the door: its place, operation, arguments, HTTP status and error code.
Lines are only ever added. The log is part of the environment's state, so the after snapshot holds it; it has
no time of day, so equal calls give equal logs. It is bounded, because a snapshot is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
)

from agentbeat_protocol import canonical_json, read_json

__all__ = [
    "MAX_CALLS",
    "MAX_LOG_BYTES",
    "LoggedCall",
    "append",
    "create_tables",
    "drop",
    "next_sequence",
    "read",
]

#: Calls that one environment takes between two resets.
MAX_CALLS: Final = 1_000
#: Bytes of canonical arguments that its log holds: a snapshot stays well below what Core reads (EVD-15).
MAX_LOG_BYTES: Final = 4 * 1024 * 1024

_metadata = MetaData()
_calls = Table(
    "business_calls",
    _metadata,
    Column("environment_id", String(128), primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("operation", String(64), nullable=False),
    Column("arguments", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("status", Integer, nullable=False),
    Column("error", String(64)),
)


@dataclass(frozen=True, kw_only=True)
class LoggedCall:
    """One line: `arguments` None could not be read, `error` None means that nothing was refused."""

    sequence: int
    operation: str
    arguments: dict[str, Any] | None
    status: int
    error: str | None


def create_tables(connection: Connection) -> None:
    """Create the log's table where it is missing."""
    _metadata.create_all(connection)


def next_sequence(connection: Connection, environment_id: str) -> int | None:
    """The place of the next call, from 1; None when the log has reached one of its bounds."""
    query = select(func.count(), func.coalesce(func.sum(_calls.c.size), 0)).where(
        _calls.c.environment_id == environment_id
    )
    count, size = connection.execute(query).one()
    return None if count >= MAX_CALLS or int(size) >= MAX_LOG_BYTES else int(count) + 1


def append(connection: Connection, environment_id: str, call: LoggedCall) -> None:
    """Add a line. A line that stands there already is an error of the database: no line is replaced."""
    arguments = canonical_json(call.arguments)
    row = asdict(call) | {"arguments": arguments.decode(), "size": len(arguments)}
    connection.execute(insert(_calls).values(environment_id=environment_id, **row))


def read(connection: Connection, environment_id: str) -> list[dict[str, Any]]:
    """The log as plain JSON, in order."""
    rows = connection.execute(
        select(_calls).where(_calls.c.environment_id == environment_id).order_by(_calls.c.sequence)
    )
    return [
        {
            "sequence": row.sequence,
            "operation": row.operation,
            "arguments": read_json(row.arguments.encode()),
            "status": row.status,
            "error": row.error,
        }
        for row in rows
    ]


def drop(connection: Connection, environment_id: str) -> None:
    """Forget an environment's log."""
    connection.execute(delete(_calls).where(_calls.c.environment_id == environment_id))
