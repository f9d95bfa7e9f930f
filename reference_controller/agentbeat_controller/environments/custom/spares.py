"""Places that nobody has been given, on record before anything is prepared there.

A reset takes the place that is longest on record and adds another one for later, in its own transaction.
When that comes to nothing, by a kill or a fault, the place is on record as before, whatever has been prepared
there. The next reset prepares the very same place anew, and a restart has the system forget it. So the system
never keeps a place that nobody knows of.

A place that a reset is at work on is locked: another process neither takes it nor has it forgotten.

Every function works inside the caller's transaction.
"""

from __future__ import annotations

import secrets

from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, delete, insert, select

__all__ = ["add", "create_tables", "on_record", "remove", "take"]

_metadata = MetaData()
_spares = Table(
    "staged_spares",
    _metadata,
    Column("number", Integer, primary_key=True),
    Column("place", String(128), nullable=False, unique=True),
)


def create_tables(connection: Connection) -> None:
    """Create the table where it is missing."""
    _metadata.create_all(connection)


def add(connection: Connection) -> None:
    """Put one more place on record."""
    connection.execute(insert(_spares).values(place=f"place-{secrets.token_hex(16)}"))


def take(connection: Connection) -> str | None:
    """The place that is longest on record, now the caller's; another one is added. None: all are taken."""
    found = on_record(connection, most=1)
    if not found:
        return None
    add(connection)
    remove(connection, found[0])
    return found[0]


def on_record(connection: Connection, *, most: int) -> list[str]:
    """Places that no reset is at work on, the oldest first; locked until the transaction ends."""
    query = select(_spares.c.place).order_by(_spares.c.number).limit(most)
    return list(connection.execute(query.with_for_update(skip_locked=True)).scalars())


def remove(connection: Connection, place: str) -> None:
    """Take a place off the record."""
    connection.execute(delete(_spares).where(_spares.c.place == place))
