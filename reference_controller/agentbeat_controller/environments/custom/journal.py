"""What the Controller's own database keeps of staged places.

    staged_places     which environment holds which place, and for which profile
    staged_starts     the digest of each starting state as it was first read: what every later reset must give
    staged_begun      calls that were let in and have no outcome yet
    staged_leftovers  places of ended leases that the system has not forgotten yet

Every function works inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
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
    "MAX_BEGUN",
    "Held",
    "add_begun",
    "add_leftover",
    "begun",
    "create_tables",
    "free_place",
    "held",
    "hold",
    "leftovers",
    "let_go",
    "remove_begun",
    "remove_leftover",
    "start_digest",
]

#: Calls without an outcome that one environment may have; beyond that none is let in.
MAX_BEGUN: Final = 1_000

_metadata = MetaData()
_places = Table(
    "staged_places",
    _metadata,
    Column("environment_id", String(128), primary_key=True),
    Column("place", String(128), nullable=False, unique=True),
    Column("profile_id", String(256), nullable=False),
)
_starts = Table(
    "staged_starts",
    _metadata,
    Column("profile_digest", String(71), primary_key=True),
    Column("injection_digest", String(71), primary_key=True),
    Column("state_digest", String(71), nullable=False),
)
_begun = Table(
    "staged_begun",
    _metadata,
    Column("environment_id", String(128), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("operation", String(64), nullable=False),
    Column("arguments", Text, nullable=False),
)
_leftovers = Table("staged_leftovers", _metadata, Column("place", String(128), primary_key=True))


@dataclass(frozen=True, kw_only=True)
class Held:
    """An environment's place, and the profile that it was prepared for."""

    place: str
    profile_id: str


def create_tables(connection: Connection) -> None:
    """Create the tables where they are missing."""
    _metadata.create_all(connection)


def held(connection: Connection, environment_id: str) -> Held | None:
    """The place of an environment."""
    query = select(_places.c.place, _places.c.profile_id).where(_places.c.environment_id == environment_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else Held(place=row.place, profile_id=row.profile_id)


def hold(connection: Connection, environment_id: str, holding: Held) -> None:
    """Give an environment its place; one that another environment holds is an error of the database."""
    let_go(connection, environment_id)
    connection.execute(
        insert(_places).values(
            environment_id=environment_id, place=holding.place, profile_id=holding.profile_id
        )
    )


def let_go(connection: Connection, environment_id: str) -> None:
    """The environment holds no place any more, and has no calls."""
    connection.execute(delete(_begun).where(_begun.c.environment_id == environment_id))
    connection.execute(delete(_places).where(_places.c.environment_id == environment_id))


def free_place(connection: Connection, places: Iterable[str]) -> str | None:
    """The first of these places that nobody holds; the others before those to be forgotten."""
    taken = set(connection.execute(select(_places.c.place)).scalars())
    left = set(connection.execute(select(_leftovers.c.place)).scalars())
    free = [place for place in places if place not in taken]
    return next((place for place in free if place not in left), free[0] if free else None)


def start_digest(
    connection: Connection, *, profile_digest: str, injection_digest: str, state_digest: str
) -> str:
    """The digest that this starting state had when it was first read; this one, if that is now."""
    query = select(_starts.c.state_digest).where(
        _starts.c.profile_digest == profile_digest, _starts.c.injection_digest == injection_digest
    )
    known = connection.execute(query).scalar_one_or_none()
    if known is not None:
        return str(known)
    connection.execute(
        insert(_starts).values(
            profile_digest=profile_digest, injection_digest=injection_digest, state_digest=state_digest
        )
    )
    return state_digest


def add_begun(connection: Connection, environment_id: str, operation: str, arguments: Any) -> int | None:
    """Note that a call is let in; its number, or None where too many have no outcome already."""
    query = select(func.count(), func.coalesce(func.max(_begun.c.number), 0))
    count, last = connection.execute(query.where(_begun.c.environment_id == environment_id)).one()
    if count >= MAX_BEGUN:
        return None
    number = int(last) + 1
    text = canonical_json(arguments).decode()
    connection.execute(
        insert(_begun).values(
            environment_id=environment_id, number=number, operation=operation, arguments=text
        )
    )
    return number


def remove_begun(connection: Connection, environment_id: str, number: int) -> None:
    """The call has got its line in the log."""
    here = (_begun.c.environment_id == environment_id, _begun.c.number == number)
    connection.execute(delete(_begun).where(*here))


def begun(connection: Connection, environment_id: str, *, but: Collection[int]) -> list[dict[str, Any]]:
    """The calls without an outcome, in the order in which they were let in, without those of some numbers."""
    query = select(_begun).where(_begun.c.environment_id == environment_id).order_by(_begun.c.number)
    return [
        {"operation": row.operation, "arguments": read_json(row.arguments.encode())}
        for row in connection.execute(query)
        if row.number not in but
    ]


def add_leftover(connection: Connection, place: str) -> None:
    """The system could not forget this place."""
    remove_leftover(connection, place)
    connection.execute(insert(_leftovers).values(place=place))


def remove_leftover(connection: Connection, place: str) -> None:
    """The place is forgotten, or in use again."""
    connection.execute(delete(_leftovers).where(_leftovers.c.place == place))


def leftovers(connection: Connection, *, after: str, most: int) -> list[str]:
    """Places to forget once more: the next ones behind `after`, and from the first one again."""
    query = select(_leftovers.c.place).order_by(_leftovers.c.place)
    behind = connection.execute(query.where(_leftovers.c.place > after).limit(most)).scalars().all()
    begin = query.where(_leftovers.c.place <= after).limit(most - len(behind))
    return [*behind, *connection.execute(begin).scalars()]
