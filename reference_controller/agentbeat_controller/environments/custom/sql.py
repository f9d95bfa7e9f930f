"""A staging system on a SQL database: the state is the chosen tables, whole.

The state is `{"tables": {"orders": {"7": {"id": 7, "status": "paid", …}}}}`: each row under its primary key,
each value exactly (`values`), all tables of one instant. Subclass it; what a profile starts from is its
`content`, made with `rows_of`:

    class Shop(SqlSystem):
        name = "shop"
        url = "sqlite:////srv/staging/{place}.db"    # one database for each place
        tables = ("orders", "refunds")               # parents first
        profiles = (Profile(…, content=rows_of({"orders": [{"id": 7, …}]}, {"x": Cell("orders", 7, "x")})),)

        def create(self, connection): …              # the schema of a new database
        def checks(self, run): …

Without `{place}` in the URL the database is one place, for one run at a time. A table without a primary key
is refused: its rows have no names.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import make_url

from . import sql_tables
from .injections import planted_text
from .systems import StagingSystem
from .values import key_text

if TYPE_CHECKING:
    from agentbeat_controller.environments.base import Profile
    from agentbeat_protocol import Injection, JSONValue

__all__ = ["Cell", "SqlSystem", "rows_of"]

_PLACE: Final = "{place}"


@dataclass(frozen=True)
class Cell:
    """A column of a row: the row's primary key is one value, or a tuple of its values."""

    table: str
    key: Any
    column: str


def rows_of(
    rows: Mapping[str, Sequence[Mapping[str, JSONValue]]], surfaces: Mapping[str, Cell] | None = None
) -> dict[str, JSONValue]:
    """A profile's content: the rows that it starts from, and where an injection's text can stand.

    Args:
        rows: table to rows; values as `values` writes them.
        surfaces: surface to the cell whose text the injection is added to.
    """
    places = {name: [cell.table, _key(cell.key), cell.column] for name, cell in (surfaces or {}).items()}
    content: dict[str, Any] = {
        "rows": {table: [dict(row) for row in listed] for table, listed in rows.items()},
        "surfaces": places,
    }
    return content


def _key(key: Any) -> str:
    return key_text(key if isinstance(key, tuple) else (key,))


class SqlSystem(StagingSystem):
    """`prepare`, `state` and `forget` on a database; tools and checks are the subclass's.

    Attributes:
        url: the SQLAlchemy URL, with `{place}` where each place has a database of its own.
        tables: the tables of the state, parents before those that refer to them; `schema.table` is fine.
        left_out: columns that are no part of the state, such as the time of a write: table to columns.
        max_rows: the most rows of one table; a state beyond is not read.
    """

    url: str
    tables: Sequence[str]
    left_out: Mapping[str, Sequence[str]] = {}
    max_rows: int = 50_000

    def create(self, connection: Connection) -> None:
        """Create the tables of a new database; by default they are there already."""

    def places(self) -> Sequence[str] | None:
        """Any number, or the one database that the URL names."""
        return None if _PLACE in self.url else ("main",)

    def engine(self, place: str) -> Engine:
        """The engine of a place's database, for the tools too. A transaction of it is what it says."""
        with _lock:
            engines: dict[str, Engine] = self.__dict__.setdefault("_engines", {})
            if place not in engines:
                url = make_url(self.url.replace(_PLACE, place))
                if url.get_backend_name() == "sqlite" and url.database:
                    Path(url.database).parent.mkdir(parents=True, exist_ok=True)
                engines[place] = sql_tables.engine_of(url)
            return engines[place]

    def prepare(self, place: str, profile: Profile, injection: Injection | None) -> None:
        """Replace the rows of all tables by the profile's, in one transaction; number anew from there."""
        rows: dict[str, list[dict[str, Any]]] = {
            table: [dict(row) for row in listed] for table, listed in _content(profile, "rows").items()
        }
        if unknown := sorted(rows.keys() - set(self.tables)):
            raise ValueError(f"{profile.profile_id}: rows of tables that are not in the state: {unknown}")
        with sql_tables.writing(self.engine(place)) as connection:
            self.create(connection)
            loader = sql_tables.Loader(connection, self.tables)
            if injection is not None:
                table, key, column = _content(profile, "surfaces")[injection.surface]
                row = loader.row_with_key(table, rows.get(table, []), key)
                row[column] = planted_text(row.get(column), injection.text)
            loader.replace(rows)

    def state(self, place: str) -> JSONValue:
        """Every row of the tables, of one instant."""
        with sql_tables.reading(self.engine(place)) as connection:
            found: dict[str, Any] = {
                table: sql_tables.rows_by_key(
                    connection, table, left_out=self.left_out.get(table, ()), most=self.max_rows
                )
                for table in self.tables
            }
        return {"tables": found}

    def forget(self, place: str) -> None:
        """Delete the place's own SQLite file, or empty the tables of any other database."""
        engine = self.engine(place)
        file = engine.url.database if engine.dialect.name == "sqlite" else None
        if file is None or self.places() is not None:
            with sql_tables.writing(engine) as connection:
                sql_tables.Loader(connection, self.tables).replace({})
            return
        engine.dispose()
        with _lock:
            self.__dict__.get("_engines", {}).pop(place, None)
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                Path(file + ending).unlink()

    def close(self) -> None:
        """Close every connection."""
        with _lock:
            engines: dict[str, Engine] = self.__dict__.pop("_engines", {})
        for engine in engines.values():
            engine.dispose()


_lock = threading.Lock()


def _content(profile: Profile, member: str) -> Mapping[str, Any]:
    value = profile.content.get(member)
    if not isinstance(value, Mapping):
        raise TypeError(f"{profile.profile_id}: the content has no {member} (expected what rows_of gives)")
    return value
