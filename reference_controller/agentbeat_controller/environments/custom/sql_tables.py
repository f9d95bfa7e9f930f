"""Tables of somebody else's database: read whole at one instant, and replaced whole.

Nothing of SQLAlchemy's types stands between the driver and the value: what is stored is what is read. Columns
and primary keys are looked up each time, so a changed schema is a changed state.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.engine.reflection import Inspector
from sqlalchemy.pool import NullPool
from sqlalchemy.types import NullType

from .values import exact, key_text, stored

__all__ = ["Loader", "engine_of", "reading", "rows_by_key", "writing"]

#: How long SQLite waits for another's lock.
_WAIT_SECONDS: Final = 5
#: The isolation in which several SELECTs see one instant.
_REPEATABLE: Final = ("postgresql", "mysql", "mariadb")


def engine_of(url: URL) -> Engine:
    """An engine whose transactions are what they say; the database's own settings are left alone."""
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")  # the driver that the kit has an extra for
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
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that changes rows."""
    with engine.begin() as connection:
        yield connection


def _table(inspector: Inspector, name: str) -> tuple[Table, tuple[str, ...]]:
    """A table as it is now, and the columns of its primary key, which have their names from the database.

    Raises:
        ValueError: no such table, or one without a primary key.
    """
    schema, _, bare = name.rpartition(".")
    if not inspector.has_table(bare, schema=schema or None):
        raise ValueError(f"{name}: no such table")
    key = tuple(inspector.get_pk_constraint(bare, schema=schema or None)["constrained_columns"])
    if not key:
        raise ValueError(f"{name}: a table without a primary key has no names for its rows")
    columns = [Column(each["name"], NullType) for each in inspector.get_columns(bare, schema=schema or None)]
    return Table(bare, MetaData(), *columns, schema=schema or None), key


def rows_by_key(
    connection: Connection, name: str, *, left_out: Sequence[str], most: int
) -> dict[str, dict[str, Any]]:
    """Every row under its primary key, in the order of the keys.

    Raises:
        ValueError: a value without an exact form, two rows of one name, or too many rows.
    """
    table, key = _table(inspect(connection), name)
    if unknown := sorted(set(left_out) - set(table.columns.keys())):
        raise ValueError(f"{name}: columns to leave out that are not there: {unknown}")
    found: dict[str, dict[str, Any]] = {}
    for row in connection.execute(select(table).limit(most + 1)).mappings():
        row_key = key_text(tuple(row[column] for column in key))
        if row_key in found:
            raise ValueError(f"{name}: two rows whose keys have one form")
        found[row_key] = {
            column: _exact(name, column, row[column]) for column in row if column not in left_out
        }
    if len(found) > most:
        raise ValueError(f"{name}: more than {most} rows")
    return dict(sorted(found.items()))


def _exact(table: str, column: str, value: Any) -> Any:
    try:
        return exact(value)
    except ValueError as error:
        raise ValueError(f"{table}.{column}: {error}") from None


class Loader:
    """Replaces the rows of tables, inside the caller's transaction."""

    def __init__(self, connection: Connection, names: Sequence[str]) -> None:
        self._connection = connection
        inspector = inspect(connection)
        self._tables = {name: _table(inspector, name) for name in names}

    def row_with_key(self, name: str, rows: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
        """The one of these rows that has this key.

        Raises:
            ValueError: there is none.
        """
        _, columns = self._tables[name]
        for row in rows:
            if key_text(tuple(row.get(column) for column in columns)) == key:
                return row
        raise ValueError(f"{name}: no row with the key of the surface")

    def replace(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Delete every row, those of referring tables first, and insert these; later rows are numbered on."""
        for table, _ in reversed(self._tables.values()):
            self._connection.execute(delete(table))
        for name, (table, _) in self._tables.items():
            for row in rows.get(name, ()):
                values = {column: stored(value) for column, value in row.items()}
                self._connection.execute(insert(table).values(**values))
        self._restart_numbers()

    def _restart_numbers(self) -> None:
        """Ids that the database gives must not tell how many rows earlier runs added."""
        if self._connection.dialect.name == "sqlite":
            if inspect(self._connection).has_table("sqlite_sequence"):
                numbers = text("DELETE FROM sqlite_sequence WHERE name = :name")
                for table, _ in self._tables.values():
                    self._connection.execute(numbers, {"name": table.name})
        elif self._connection.dialect.name == "postgresql":
            for table, key in self._tables.values():
                for column in key:
                    self._restart_sequence(table, column)

    def _restart_sequence(self, table: Table, column: str) -> None:
        quoted = self._connection.dialect.identifier_preparer.format_table(table)
        query = text("SELECT pg_get_serial_sequence(:table, :column)")
        sequence = self._connection.execute(query, {"table": quoted, "column": column}).scalar_one()
        if sequence is None:
            return
        last = self._connection.execute(select(func.max(table.c[column]))).scalar_one()
        self._connection.execute(
            text("SELECT setval(CAST(:sequence AS regclass), :value, :used)"),
            {"sequence": sequence, "value": last or 1, "used": last is not None},
        )
