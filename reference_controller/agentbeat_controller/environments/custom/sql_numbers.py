"""Numbers that a database gives to new rows: they must not tell how many rows earlier runs added.

    restart(connection, tables)      before a fixture's rows: as in a new database
    catch_up(connection, tables)     after them: behind those rows whose numbers the fixture names

SQLite (AUTOINCREMENT) and PostgreSQL: every sequence that a column owns or takes its default from. Other
databases are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Column, Connection, MetaData, String, Table, delete, func, inspect, select, text

__all__ = ["catch_up", "restart"]

#: One line for each sequence of a table and column that it gives numbers to.
_OF_TABLE: Final = text("""
    WITH columns AS (
        SELECT a.attrelid, a.attnum, a.attname, a.atttypid::regtype::text AS type
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relname = :name AND a.attnum > 0 AND NOT a.attisdropped
          AND (n.nspname = :schema OR CAST(:schema AS text) IS NULL AND pg_table_is_visible(c.oid))
    ), given AS (
        SELECT d.objid AS sequence, c.attname, c.type
        FROM columns c JOIN pg_depend d ON d.refobjid = c.attrelid AND d.refobjsubid = c.attnum
        WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
          AND d.deptype IN ('a', 'i')
        UNION
        SELECT d.refobjid, c.attname, c.type
        FROM columns c JOIN pg_attrdef f ON f.adrelid = c.attrelid AND f.adnum = c.attnum
        JOIN pg_depend d ON d.objid = f.oid
        WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass
    )
    SELECT s.seqrelid::bigint AS sequence, s.seqstart AS start, s.seqincrement AS step, s.seqmin AS least,
           s.seqmax AS most, g.attname AS column, g.type IN ('smallint', 'integer', 'bigint') AS whole
    FROM given g JOIN pg_sequence s ON s.seqrelid = g.sequence ORDER BY 1, 6
""")
_SET: Final = text("SELECT setval(CAST(CAST(:sequence AS oid) AS regclass), :value, :used)")
_LAST: Final = text("SELECT pg_sequence_last_value(CAST(CAST(:sequence AS oid) AS regclass))")


@dataclass(frozen=True, kw_only=True)
class _Given:
    """A sequence of PostgreSQL, and a column that it gives numbers to.

    Args:
        whole: the column holds nothing but such numbers.
    """

    table: Table
    column: str
    whole: bool
    sequence: int
    start: int
    step: int
    least: int
    most: int


def restart(connection: Connection, tables: Sequence[Table]) -> None:
    """Number as in a new database."""
    if connection.dialect.name == "sqlite":
        for table in tables:
            _restart_sqlite(connection, table)
    for given in _given(connection, tables):
        _set(connection, given, given.start, used=False)


def catch_up(connection: Connection, tables: Sequence[Table]) -> None:
    """Go on behind the furthest number that a row has. SQLite does so by itself."""
    for given in _given(connection, tables):
        if not given.whole:
            continue
        further = func.max if given.step > 0 else func.min
        furthest = connection.execute(select(further(given.table.c[given.column]))).scalar_one()
        last = connection.execute(_LAST, {"sequence": given.sequence}).scalar_one()
        before = given.start - given.step if last is None else last
        if (
            furthest is not None
            and given.least <= furthest <= given.most
            and (furthest - before) * given.step > 0
        ):
            _set(connection, given, furthest, used=True)


def _restart_sqlite(connection: Connection, table: Table) -> None:
    if not inspect(connection).has_table("sqlite_sequence", schema=table.schema):
        return
    numbers = Table("sqlite_sequence", MetaData(), Column("name", String), schema=table.schema)
    connection.execute(delete(numbers).where(numbers.c.name == table.name))


def _given(connection: Connection, tables: Sequence[Table]) -> Iterator[_Given]:
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        rows = connection.execute(_OF_TABLE, {"name": table.name, "schema": table.schema}).mappings()
        yield from [_Given(table=table, **row) for row in rows]


def _set(connection: Connection, given: _Given, value: int, *, used: bool) -> None:
    connection.execute(_SET, {"sequence": given.sequence, "value": value, "used": used})
