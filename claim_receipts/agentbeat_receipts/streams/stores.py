"""A temporary database: what would grow with a batch is put down here.

It lies in one file without a name, which is gone with the process, however that ends. A few megabytes of it
are in memory at a time, whatever its size. The file is made in the folder that SQLITE_TMPDIR or TMPDIR names,
else in /var/tmp or /tmp.

What lies here is public, or stands for what is not: no opening, no nonce and no key.

>>> store = Store("CREATE TABLE numbers (number INTEGER PRIMARY KEY)")
>>> store.write("INSERT OR IGNORE INTO numbers VALUES (?)", ((number % 3,) for number in range(9)))
3
>>> list(store.rows("SELECT number FROM numbers WHERE number > ?", 0))
[(1,), (2,)]
>>> store.one("SELECT max(number) FROM numbers")
(2,)
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Final

from agentbeat_receipts.stream_errors import StreamError

__all__ = ["Row", "Store"]

Row = tuple[Any, ...]

#: Nothing survives the process, so there is no journal and nothing is waited for. The cache is in KiB;
#: sorting takes as much again, and lies in files beyond that.
_PRAGMAS: Final = (
    "journal_mode = OFF",
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    "cache_size = -2048",
    "temp_store = FILE",
)


class Store:
    """One temporary database, closed when nothing refers to it any more.

    Args:
        schema: the statements that make its tables.

    Raises:
        StreamError: it cannot be made, as of every other method where it cannot be read or written.
    """

    def __init__(self, *schema: str) -> None:
        try:
            # Threads may pass it on where the library itself lets only one in at a time.
            alone = sqlite3.threadsafety < 3
            self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=alone)
            weakref.finalize(self, self._connection.close)
            for pragma in _PRAGMAS:
                self._connection.execute(f"PRAGMA {pragma}")
            # One transaction for good: there is nobody to commit to.
            for statement in ("BEGIN", *schema):
                self._connection.execute(statement)
        except sqlite3.Error as error:
            raise _failed(error) from None

    def write(self, statement: str, rows: Iterable[Row]) -> int:
        """Carry a statement out for each row of parameters; how many rows of the table that concerned."""
        try:
            return self._connection.executemany(statement, rows).rowcount
        except sqlite3.Error as error:
            raise _failed(error) from None

    def run(self, statement: str, *parameters: object) -> None:
        """Carry one statement out."""
        try:
            self._connection.execute(statement, parameters)
        except sqlite3.Error as error:
            raise _failed(error) from None

    def one(self, query: str, *parameters: object) -> Any:
        """The first row, or None."""
        try:
            return self._connection.execute(query, parameters).fetchone()
        except sqlite3.Error as error:
            raise _failed(error) from None

    def rows(self, query: str, *parameters: object) -> Iterator[Row]:
        """The rows, one after the other."""
        try:
            yield from self._connection.execute(query, parameters)
        except sqlite3.Error as error:
            raise _failed(error) from None


def _failed(error: sqlite3.Error) -> StreamError:
    return StreamError(f"the temporary file of the verification cannot be used: {error}")
