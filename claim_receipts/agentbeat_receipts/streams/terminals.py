"""What openings are held against: the receipt of each assignment that has one only, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from agentbeat_receipts.streams.records import ReceiptRecord
from agentbeat_receipts.streams.stores import Row
from agentbeat_receipts.streams.tables import Tables, shown_digest, split_components

__all__ = ["OPENED", "SHUT", "TRIED", "Held", "Terminals"]

#: What is known of a terminal, as bits: it was opened; there is a candidate; an envelope did not open.
OPENED: Final = 1
TRIED: Final = 2
SHUT: Final = 4

_QUERY: Final = """
    SELECT runs.assignment, ticket, sequence, previous, attempts, envelope, text, packed,
        promised.assignment, profile, arm, replicate
    FROM runs JOIN receipts ON receipts.number = runs.receipt JOIN texts ON texts.number = components
    LEFT JOIN promised ON list = ? AND promised.assignment = runs.assignment
    WHERE held = 1"""


class Held(NamedTuple):
    """What a task needs to know of some assignments.

    Args:
        records: their receipts, by assignment.
        places: what the manifest says of them, where it says something: assignment, profile, arm, replicate.
        refused: objects by assignment and digest that share a nonce with another receipt's opening.
    """

    records: dict[str, ReceiptRecord]
    places: tuple[Row, ...]
    refused: frozenset[tuple[str, str]]


class Terminals:
    """The terminals of a batch; none where it is not known which receipts are ours.

    Args:
        tables: have them.
        manifest: the digest of our manifest.
        list_number: of its assignments; None without a manifest.
    """

    def __init__(self, tables: Tables, manifest: str | None, list_number: int | None) -> None:
        self._tables = tables
        self._manifest = manifest or ""
        self._list = list_number

    def __len__(self) -> int:
        count: int = self._tables.one("SELECT count(*) FROM runs WHERE held = 1")[0]
        return count

    def __contains__(self, name: object) -> bool:
        return self._tables.one("SELECT 1 FROM runs WHERE assignment = ? AND held = 1", name) is not None

    def of(self, names: Iterable[str]) -> Held:
        """What there is of these assignments."""
        query = f"{_QUERY} AND runs.assignment = ?"
        return self._held(row for name in set(names) for row in self._tables.rows(query, self._list, name))

    def unopened(self, most: int) -> Iterator[Held]:
        """Those that were not opened, so many at a time; at least once, if there is none."""
        rows = self._tables.rows(f"{_QUERY} AND NOT marks & {OPENED}", self._list)
        yield self._held(islice(rows, most))
        while (some := self._held(islice(rows, most))).records:
            yield some

    def _held(self, rows: Iterable[Row]) -> Held:
        records: dict[str, ReceiptRecord] = {}
        places: list[Row] = []
        # Many receipts have the same components: as one object they are sent once.
        split: dict[str, tuple[str | None, ...]] = {}
        for name, ticket, sequence, previous, attempts, envelope, text, packed, *place in rows:
            if text not in split:
                split[text] = split_components(text)
            records[name] = ReceiptRecord(
                manifest=self._manifest,
                assignment=name,
                ticket=None if ticket is None else shown_digest(ticket),
                sequence=sequence,
                previous=shown_digest(previous),
                attempts=attempts,
                envelope=None if envelope is None else shown_digest(envelope),
                components=split[text],
                packed=packed,
                faults=frozenset(),
            )
            if place[0] is not None:
                places.append(tuple(place))
        return Held(records, tuple(places), frozenset(self._refused(records)))

    def _refused(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        if self._tables.one("SELECT 1 FROM refused") is None:
            return
        for name in names:
            for (raw,) in self._tables.rows("SELECT digest FROM refused WHERE terminal = ?", name):
                yield name, shown_digest(raw)
