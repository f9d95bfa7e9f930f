"""The desk's whole state: written in one go, read in one go, as plain JSON.

    {"schema_version": "support-desk-state-v1", "profile_id": …, "opened_at": …,
     "records": {"customers": {"CUS-1": {…}}, "orders": {…}, …}, "calls": […]}

Nothing of the environment stands outside it: every column of every table is in `records`, and a test holds
the tables to that. Neither the environment's id nor the time of day is in it, so two resets of one profile
have equal states (CTL-3) and equal calls end in equal states.

The queries are plain: rows are ordered and compared in Python, because databases sort text differently. They
are built once: to build one costs more than to execute it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Select, bindparam, delete, insert, select

from agentbeat_controller.environments import calls

from .tables import RECORD_TABLES, environments, metadata

__all__ = ["STATE_VERSION", "Records", "create_tables", "drop", "read_state", "write_state"]

STATE_VERSION: Final = "support-desk-state-v1"

#: Table name to row id to the row's columns.
Records = Mapping[str, Mapping[str, Mapping[str, Any]]]

_OWN: Final = bindparam("environment_id", type_=environments.c.environment_id.type)
_ENVIRONMENT: Final = select(environments).where(environments.c.environment_id == _OWN)
_ADD_ENVIRONMENT: Final = insert(environments)
#: By the table's name: an environment's rows, each with its id first.
_ROWS: Final[Mapping[str, Select[Any]]] = {
    name: select(*(column for column in table.c if column.name != "environment_id")).where(
        table.c.environment_id == _OWN
    )
    for name, table in RECORD_TABLES.items()
}
_ADD_ROWS: Final = {name: insert(table) for name, table in RECORD_TABLES.items()}
#: Rows go before those that they refer to.
_DROPS: Final = tuple(
    delete(table).where(table.c.environment_id == _OWN)
    for table in (*reversed(list(RECORD_TABLES.values())), environments)
)


def create_tables(connection: Connection) -> None:
    """Create the desk's tables and the log's where they are missing."""
    metadata.create_all(connection)
    calls.create_tables(connection)


def write_state(
    connection: Connection, environment_id: str, *, profile_id: str, opened_at: str, records: Records
) -> None:
    """Replace all that the environment holds by these records and an empty log."""
    drop(connection, environment_id)
    environment = {"environment_id": environment_id, "profile_id": profile_id, "opened_at": opened_at}
    connection.execute(_ADD_ENVIRONMENT, environment)
    for name, add in _ADD_ROWS.items():
        rows = [
            {"environment_id": environment_id, "id": row_id, **row}
            for row_id, row in records.get(name, {}).items()
        ]
        if rows:
            connection.execute(add, rows)


def read_state(connection: Connection, environment_id: str) -> dict[str, Any]:
    """Every record and the log.

    Raises:
        LookupError: no such environment.
    """
    own = {"environment_id": environment_id}
    row = connection.execute(_ENVIRONMENT, own).one_or_none()
    if row is None:
        raise LookupError("no such environment")
    return {
        "schema_version": STATE_VERSION,
        "profile_id": row.profile_id,
        "opened_at": row.opened_at,
        "records": {name: _by_id(connection.execute(query, own)) for name, query in _ROWS.items()},
        "calls": calls.read(connection, environment_id),
    }


def drop(connection: Connection, environment_id: str) -> None:
    """Delete everything that the environment holds."""
    for statement in _DROPS:
        connection.execute(statement, {"environment_id": environment_id})
    calls.drop(connection, environment_id)


def _by_id(found: CursorResult[Any]) -> dict[str, dict[str, Any]]:
    _, *columns = found.keys()
    rows = sorted(found, key=lambda row: str(row[0]))
    return {row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows}
