"""What must come out, written down before it is run: `predictions.json`, and the digest of its bytes.

The file has a text for each judged row, by table and row. Its digest is printed before the first run, so that
whoever notes it down can tell later that no prediction was changed to fit.

>>> found = Predictions.read(b'{"grid": {"E5": "I_C P I_C P"}}')
>>> found.of("grid")["E5"], found.digest[:15]
('I_C P I_C P', 'sha256:1165488f')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, Self

from agentbeat_protocol import digest_bytes
from agentbeat_receipts.canonical import read_exact

__all__ = ["Predictions", "published_predictions"]

_FILE: Final = "predictions.json"


@dataclass(frozen=True, slots=True)
class Predictions:
    """Expected texts.

    Args:
        tables: by table and row.
        digest: SHA-256 over the file's bytes.
    """

    tables: Mapping[str, Mapping[str, str]]
    digest: str

    @classmethod
    def read(cls, raw: bytes) -> Self:
        """The predictions of a file.

        Raises:
            ValueError: it is no exact JSON of tables with texts.
        """
        content = read_exact(raw)
        if not isinstance(content, dict):
            raise ValueError("predictions: expected tables")
        tables: dict[str, dict[str, str]] = {}
        for table, rows in content.items():
            texts = rows if isinstance(rows, dict) else {}
            tables[table] = {name: text for name, text in texts.items() if isinstance(text, str)}
            if tables[table] != rows:
                raise ValueError(f"predictions: table {table}: expected a text for each row")
        return cls(tables, digest_bytes(raw))

    def of(self, table: str) -> Mapping[str, str]:
        """The expected texts of one table; none for a table that is not predicted."""
        return self.tables.get(table, {})


def published_predictions() -> Predictions:
    """The predictions that the package brings along."""
    return Predictions.read((files(__package__) / _FILE).read_bytes())
