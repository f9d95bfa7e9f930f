"""Where the Controller keeps the environments: a row each, with the state as the text of its JSON.

    {"schema_version": "agentdojo-state-v1", "profile_id": …, "suite": …, "environment": {…}, "calls": […]}

`environment` is what the worker made of the benchmark's own objects (`worker.shapes`); nothing of them stands
outside it. Neither the environment's id nor the time of day is in it (CTL-3).
"""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import Column, Connection, MetaData, String, Table, Text, delete, insert, select, update

from agentbeat_controller.environments import calls

__all__ = ["STATE_VERSION", "create_tables", "drop", "held", "read_state", "replace", "write_state"]

STATE_VERSION: Final = "agentdojo-state-v1"

_metadata = MetaData()
_environments = Table(
    "agentdojo_environments",
    _metadata,
    Column("environment_id", String(128), primary_key=True),
    Column("profile_id", String(256), nullable=False),
    Column("suite", String(64), nullable=False),
    Column("state", Text, nullable=False),
)


def create_tables(connection: Connection) -> None:
    """Create the table of environments and the log's where they are missing."""
    _metadata.create_all(connection)
    calls.create_tables(connection)


def write_state(
    connection: Connection, environment_id: str, *, profile_id: str, suite: str, state: str
) -> None:
    """Replace all that the environment holds by this state and an empty log."""
    drop(connection, environment_id)
    row = {"environment_id": environment_id, "profile_id": profile_id, "suite": suite, "state": state}
    connection.execute(insert(_environments).values(row))


def held(connection: Connection, environment_id: str) -> tuple[str, str]:
    """The suite and the state's text.

    Raises:
        LookupError: no such environment.
    """
    columns = (_environments.c.suite, _environments.c.state)
    row = connection.execute(
        select(*columns).where(_environments.c.environment_id == environment_id)
    ).one_or_none()
    if row is None:
        raise LookupError("no such environment")
    return row.suite, row.state


def replace(connection: Connection, environment_id: str, state: str) -> None:
    """Set what a call has made of the state."""
    mine = _environments.c.environment_id == environment_id
    connection.execute(update(_environments).where(mine).values(state=state))


def read_state(connection: Connection, environment_id: str) -> dict[str, Any]:
    """Every record and the log.

    Raises:
        LookupError: no such environment.
    """
    row = connection.execute(
        select(_environments).where(_environments.c.environment_id == environment_id)
    ).one_or_none()
    if row is None:
        raise LookupError("no such environment")
    return {
        "schema_version": STATE_VERSION,
        "profile_id": row.profile_id,
        "suite": row.suite,
        "environment": json.loads(row.state),
        "calls": calls.read(connection, environment_id),
    }


def drop(connection: Connection, environment_id: str) -> None:
    """Delete everything that the environment holds."""
    connection.execute(delete(_environments).where(_environments.c.environment_id == environment_id))
    calls.drop(connection, environment_id)
