"""The tables of a stream's temporary database, and how values stand in them.

A digest is its 32 bytes, a set of signature faults is bits, and long texts that many rows share are in
`texts`, once each. Statements name tables and columns of this module only; values are parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from agentbeat_protocol import is_digest
from agentbeat_receipts.objects import SignatureFault
from agentbeat_receipts.streams.stores import Store

__all__ = [
    "Tables",
    "fault_bits",
    "joined_components",
    "raw_digest",
    "shown_digest",
    "shown_faults",
    "split_components",
]

_SCHEMA: Final = (
    "CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    # Receipts and tickets, each once: first all, then those that are ours and sound.
    """CREATE TABLE receipts (
        number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, manifest INTEGER, assignment TEXT,
        ticket BLOB, sequence INTEGER, previous BLOB, attempts INTEGER, envelope BLOB, components INTEGER,
        packed BLOB, faults INTEGER, altered INTEGER NOT NULL DEFAULT FALSE)""",
    """CREATE TABLE tickets (
        number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, manifest INTEGER, assignment TEXT,
        anchor INTEGER, faults INTEGER, altered INTEGER NOT NULL DEFAULT FALSE)""",
    # Receipts and tickets of other manifests.
    """CREATE TABLE others (
        digest BLOB PRIMARY KEY, kind TEXT, manifest INTEGER, ticket BLOB, previous BLOB) WITHOUT ROWID""",
    # What those cite, other than in checkpoints, and what of it is cited by one of ours too.
    "CREATE TABLE theirs (digest BLOB PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE by_both (digest BLOB PRIMARY KEY) WITHOUT ROWID",
    # Deliveries for later readings.
    "CREATE TABLE put_off (place INTEGER PRIMARY KEY, assignment TEXT)",
    "CREATE TABLE doubts (place INTEGER PRIMARY KEY, manifest INTEGER)",
    # The long lists of manifests and checkpoints, by number.
    """CREATE TABLE promised (
        number INTEGER PRIMARY KEY, list INTEGER, assignment TEXT, profile TEXT, arm TEXT, replicate INTEGER,
        UNIQUE (list, assignment))""",
    "CREATE TABLE listed (list INTEGER, digest BLOB, PRIMARY KEY (list, digest)) WITHOUT ROWID",
    # By assignment: how many tickets and receipts are held, one of the receipts, and what became of it.
    "CREATE TABLE ticketed (assignment TEXT PRIMARY KEY, held INTEGER) WITHOUT ROWID",
    """CREATE TABLE runs (
        assignment TEXT PRIMARY KEY, held INTEGER, receipt INTEGER, marks INTEGER) WITHOUT ROWID""",
    # What could be the opening of a terminal, and what may not be it.
    "CREATE TABLE candidates (nonce BLOB, terminal TEXT, sealed INTEGER, digest BLOB, owner TEXT)",
    "CREATE TABLE refused (terminal TEXT, digest BLOB, PRIMARY KEY (terminal, digest)) WITHOUT ROWID",
)

_PREFIX: Final = "sha256:"
_NONE: Final = "-"
_FAULTS: Final = (None, *SignatureFault)
#: How many of the texts are remembered.
_REMEMBERED: Final = 256


class Tables(Store):
    """An empty database with these tables."""

    def __init__(self) -> None:
        super().__init__(*_SCHEMA)
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text of `texts`, which it becomes."""
        number = self._numbers.get(text)
        if number is None:
            self.run("INSERT OR IGNORE INTO texts (text) VALUES (?)", text)
            (number,) = self.one("SELECT number FROM texts WHERE text = ?", text)
            if len(self._numbers) >= _REMEMBERED:
                self._numbers.clear()
            self._numbers[text] = number
        return number


def raw_digest(digest: str | None) -> bytes | None:
    """The 32 bytes of a digest; None of what is none."""
    return bytes.fromhex(digest[len(_PREFIX) :]) if digest is not None and is_digest(digest) else None


def shown_digest(raw: bytes) -> str:
    """A digest as it is written."""
    return _PREFIX + raw.hex()


def joined_components(components: Iterable[str | None]) -> str:
    """The digests of a receipt's components as one text."""
    return " ".join(component or _NONE for component in components)


def split_components(text: str) -> tuple[str | None, ...]:
    """The digests of a receipt's components."""
    return tuple(None if component == _NONE else component for component in text.split())


@lru_cache
def fault_bits(faults: Iterable[SignatureFault | None]) -> int:
    """Faults of copies as bits."""
    return sum(1 << _FAULTS.index(fault) for fault in faults)


@lru_cache
def shown_faults(bits: int) -> frozenset[SignatureFault | None]:
    """Faults of copies that were bits."""
    return frozenset(fault for place, fault in enumerate(_FAULTS) if bits >> place & 1)
