"""Tables of somebody else's database: read whole at one instant, and replaced whole.

Nothing of SQLAlchemy's types stands between the driver and the value: what is stored is what is read, of
PostgreSQL by way of `postgres_values`. Columns and primary keys are looked up each time, so a changed schema
is a changed state.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    Table,
    create_engine,
    delete,
    event,
    func,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine import URL
from sqlalchemy.engine.reflection import Inspector
from sqlalchemy.pool import NullPool
from sqlalchemy.types import Float, NullType, TypeEngine

from . import postgres_values, sql_numbers
from .values import exact, key_text, stored

__all__ = ["Loader", "engine_of", "reading", "rows_by_key", "writing"]

#: How long SQLite waits for another's lock.
_WAIT_SECONDS: Final = 5
#: The isolation in which several SELECTs see one instant.
_REPEATABLE: Final = ("postgresql", "mysql", "mariadb")
#: The option of a statement whose values are read by `postgres_values`.
_EXACTLY: Final = "agentbeat_exactly"
#: How often rows are deleted: a trigger may write down what goes, in a table that was emptied before.
_DELETIONS: Final = 2


def engine_of(url: URL) -> Engine:
    """An engine whose transactions are what they say; the database's own settings are left alone."""
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")  # the driver that the kit has an extra for
    if url.get_backend_name() == "postgresql" and url.get_driver_name() != "psycopg":
        raise ValueError(
            f"got the driver {url.get_driver_name()}, expected psycopg: its values are exact here"
        )
    if url.get_backend_name() == "postgresql":
        # A prepared statement would not outlive a change of the schema.
        driver = {"prepare_threshold": None}
        engine = create_engine(url, pool_pre_ping=True, pool_size=2, connect_args=driver)
        event.listen(engine, "before_cursor_execute", _read_exactly)
        return engine
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, pool_size=2)
    if not url.database or url.database == ":memory:":
        raise ValueError("a SQLite database must be a file: each connection would see another one")
    engine = create_engine(url, connect_args={"timeout": _WAIT_SECONDS}, poolclass=NullPool)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _entry: object) -> None:
    connection.isolation_level = None  # the driver must not begin or commit by itself
    connection.execute("PRAGMA foreign_keys = ON")


def _read_exactly(
    _connection: Any, cursor: Any, _statement: Any, _values: Any, context: Any, _many: Any
) -> None:
    if context is not None and context.execution_options.get(_EXACTLY):
        postgres_values.read_exactly(cursor)


def _begin_sqlite(connection: Connection) -> None:
    deferred = connection.get_execution_options().get("agentbeat_reading", False)
    connection.exec_driver_sql("BEGIN" if deferred else "BEGIN IMMEDIATE")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction in which everything that is read is of one instant."""
    options: dict[str, Any] = {"agentbeat_reading": True}
    if engine.dialect.name != "sqlite":
        repeatable = engine.dialect.name in _REPEATABLE
        options["isolation_level"] = "REPEATABLE READ" if repeatable else "SERIALIZABLE"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            settings = postgres_values.SETTINGS.items()
            connection.execute(select(*(func.set_config(name, value, True) for name, value in settings)))
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that changes rows."""
    with engine.begin() as connection:
        yield connection


@dataclass(frozen=True, kw_only=True)
class _Found:
    """A table as it is now: the columns of its primary key, and each column's type."""

    table: Table
    key: tuple[str, ...]
    types: Mapping[str, TypeEngine[Any]]


def _found(inspector: Inspector, name: str) -> _Found:
    """A table, whose names are those that the database gives.

    Raises:
        ValueError: no such table, or one without a primary key.
    """
    schema, _, bare = name.rpartition(".")
    if not inspector.has_table(bare, schema=schema or None):
        raise ValueError(f"{name}: no such table")
    key = tuple(inspector.get_pk_constraint(bare, schema=schema or None)["constrained_columns"])
    if not key:
        raise ValueError(f"{name}: a table without a primary key has no names for its rows")
    types = {each["name"]: each["type"] for each in inspector.get_columns(bare, schema=schema or None)}
    columns = [Column(each, NullType) for each in types]
    return _Found(table=Table(bare, MetaData(), *columns, schema=schema or None), key=key, types=types)


def rows_by_key(
    connection: Connection, name: str, *, left_out: Sequence[str], most: int
) -> dict[str, dict[str, Any]]:
    """Every row under its primary key, in the order of the keys.

    Raises:
        ValueError: a value without an exact form, two rows of one name, or too many rows.
    """
    known = _found(inspect(connection), name)
    if unknown := sorted(set(left_out) - known.types.keys()):
        raise ValueError(f"{name}: columns to leave out that are not there: {unknown}")
    # A column of SQLite can hold 1 beside 1.0, unless it turns both into the latter.
    sqlite = connection.dialect.name == "sqlite"
    mixed = {column: sqlite and not isinstance(kind, Float) for column, kind in known.types.items()}
    query = select(known.table).limit(most + 1).execution_options(**{_EXACTLY: True})
    found: dict[str, dict[str, Any]] = {}
    for row in connection.execute(query).mappings():
        row_key = key_text(tuple(row[column] for column in known.key))
        if row_key in found:
            raise ValueError(f"{name}: two rows whose keys have one form")
        found[row_key] = {
            column: _exact(f"{name}.{column}", row[column], mixed=mixed[column])
            for column in row
            if column not in left_out
        }
    if len(found) > most:
        raise ValueError(f"{name}: more than {most} rows")
    return dict(sorted(found.items()))


def _exact(where: str, value: Any, *, mixed: bool) -> Any:
    try:
        return exact(value, mixed=mixed)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


class Loader:
    """Replaces the rows of tables, inside the caller's transaction."""

    def __init__(self, connection: Connection, names: Sequence[str]) -> None:
        self._connection = connection
        inspector = inspect(connection)
        self._tables = {name: _found(inspector, name) for name in names}

    def row_with_key(self, name: str, rows: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
        """The one of these rows that has this key.

        Raises:
            ValueError: there is none.
        """
        for row in rows:
            if key_text(tuple(row.get(column) for column in self._tables[name].key)) == key:
                return row
        raise ValueError(f"{name}: no row with the key of the surface")

    def replace(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Delete every row, those of referring tables first; insert these, as if the database were new."""
        tables = [known.table for known in self._tables.values()]
        for table in [*reversed(tables)] * _DELETIONS:
            self._connection.execute(delete(table))
        sql_numbers.restart(self._connection, tables)
        for name, known in self._tables.items():
            for row in rows.get(name, ()):
                values = {column: self._written(known, column, value) for column, value in row.items()}
                self._connection.execute(insert(known.table).values(**values))
        sql_numbers.catch_up(self._connection, tables)

    def _written(self, known: _Found, column: str, value: Any) -> Any:
        if self._connection.dialect.name == "postgresql" and column in known.types:
            return postgres_values.written(value, known.types[column])
        return stored(value)
