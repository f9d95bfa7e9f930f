"""What a Controller has kept, looked at from outside while it runs: SQLite or PostgreSQL."""

from __future__ import annotations

from sqlalchemy import inspect, text

__all__ = ["KeptRows"]


class KeptRows:
    """A connection of one's own into a Controller's database; every look is a new one."""

    def __init__(self, engine):
        self._connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self._marks = self._mark_of_every_row() if engine.dialect.name == "postgresql" else None

    def query(self, statement, **values):
        """The rows that a statement gives; `:name` stands for a value."""
        return [tuple(row) for row in self._connection.execute(text(statement), values)]

    def changes(self):
        """A value that is another one once somebody else has changed anything in the database."""
        return self.query("PRAGMA data_version" if self._marks is None else self._marks)

    def close(self):
        """Give the connection back."""
        self._connection.close()

    def _mark_of_every_row(self):
        # PostgreSQL numbers transactions, but also those that only lock a row; so the rows are looked at.
        names = inspect(self._connection).get_table_names()
        return " UNION ALL ".join(
            f"SELECT '{name}', count(*), sum(hashtextextended(kept::text, 0)) FROM \"{name}\" AS kept"
            for name in sorted(names)
        )
