"""Rows of one environment: the only place where the desk's operations touch the database.

Each query names the call's environment. Numbers of new rows follow the highest one that stands there, and
their time is the call's place in the log: equal calls leave equal rows, whatever the time of day.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Table, insert, select, update

from agentbeat_controller.environments.operations import Call, Refusal

from .tables import emails, environments, messages, refunds

__all__ = ["change", "find", "number", "row", "write"]

Row = Mapping[str, Any]

#: The prefix of new rows' ids, and the number of the first one in an empty table.
_NUMBERING: Final[Mapping[str, tuple[str, int]]] = {
    refunds.name: ("REF", 501),
    messages.name: ("MSG", 1),
    emails.name: ("EML", 1),
}


def number(row_id: str) -> int:
    """The number in an id, to sort by: `ORD-1003` is 1003."""
    return int(row_id.rpartition("-")[2])


def find(call: Call, table: Table, **where: str) -> list[Row]:
    """The rows whose columns have these values, by number."""
    query = select(table).where(table.c.environment_id == call.environment_id)
    for column, value in where.items():
        query = query.where(table.c[column] == value)
    found = [
        {str(name): value for name, value in each.items()}
        for each in call.connection.execute(query).mappings()
    ]
    return sorted(found, key=lambda each: number(each["id"]))


def row(call: Call, table: Table, row_id: str) -> Row:
    """One row.

    Raises:
        Refusal: `not_found`.
    """
    found = find(call, table, id=row_id)
    if not found:
        raise Refusal("not_found", f"no such {table.name.removeprefix('desk_').removesuffix('s')}")
    return found[0]


def write(call: Call, table: Table, **columns: Any) -> Row:
    """Add a row under the next number, with the call's time as `created_at`."""
    prefix, first = _NUMBERING[table.name]
    highest = max((number(found["id"]) for found in find(call, table)), default=first - 1)
    added = {"id": f"{prefix}-{highest + 1}", **columns, "created_at": _now(call)}
    call.connection.execute(insert(table).values(environment_id=call.environment_id, **added))
    return added


def change(call: Call, table: Table, row_id: str, **columns: Any) -> Row:
    """Set columns of one row and read it back."""
    call.connection.execute(
        update(table)
        .where(table.c.environment_id == call.environment_id, table.c.id == row_id)
        .values(**columns)
    )
    return row(call, table, row_id)


def _now(call: Call) -> str:
    """The call's time: one second after the environment's opening for each call so far."""
    query = select(environments.c.opened_at).where(environments.c.environment_id == call.environment_id)
    opened = datetime.fromisoformat(call.connection.execute(query).scalar_one())
    return (opened + timedelta(seconds=call.sequence)).strftime("%Y-%m-%dT%H:%M:%SZ")
