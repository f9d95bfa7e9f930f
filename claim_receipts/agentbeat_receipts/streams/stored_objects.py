"""Receipts and tickets that lie in the temporary database: facts by digest, made when they are asked for."""

# ruff: noqa: S608 - what is put into statements are names of tables and columns, from here

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Container,
    ItemsView,
    Iterator,
    Mapping,
    Sequence,
    ValuesView,
)
from typing import Final, NamedTuple, TypeVar

from agentbeat_receipts.streams.stored_lists import StoredDigests, StoredNames
from agentbeat_receipts.streams.stores import Store
from agentbeat_receipts.streams.tables import raw_digest, shown_digest
from agentbeat_receipts.verification.relations import KeptObjects, KeptReceipts, Link

__all__ = ["ReceiptRow", "StoredReceipts", "StoredTickets", "TicketRow"]

FactsT = TypeVar("FactsT")

#: What the checks ask of a receipt, after its digest.
_FACTS: Final = (
    "receipts.digest, receipts.assignment, receipts.ticket, receipts.sequence, receipts.previous, "
    "receipts.attempts, receipts.envelope IS NOT NULL"
)
#: Each receipt with what it cites; what a list is told by comes after it.
_LINKS: Final = f"""
    SELECT {_FACTS}, listed.digest IS NOT NULL, tickets.assignment, ticketed.held, before.sequence,
        receipts.sequence IN (SELECT sequence FROM receipts GROUP BY sequence HAVING count(*) > 1)
        OR receipts.previous IN (SELECT previous FROM receipts GROUP BY previous HAVING count(*) > 1)
    FROM receipts
    LEFT JOIN receipts AS before ON before.digest = receipts.previous
    LEFT JOIN tickets ON tickets.digest = receipts.ticket
    LEFT JOIN ticketed ON ticketed.assignment = receipts.assignment
    LEFT JOIN listed ON listed.digest = receipts.ticket AND"""
#: Assignments whose receipts cite one ticket, each with the first other one.
_SHARERS: Final = """
    WITH cited AS (
        SELECT DISTINCT ticket, assignment FROM receipts WHERE ticket IN (
            SELECT ticket FROM receipts GROUP BY ticket HAVING min(assignment) <> max(assignment))),
    ranked AS (
        SELECT assignment,
            nth_value(assignment, 1) OVER every AS one, nth_value(assignment, 2) OVER every AS two
        FROM cited WINDOW every AS (
            PARTITION BY ticket ORDER BY assignment ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))
    SELECT assignment, CASE assignment WHEN one THEN two ELSE one END FROM ranked"""


class ReceiptRow(NamedTuple):
    """Facts of a receipt."""

    assignment: str
    ticket: str | None
    sequence: int
    previous: str
    attempts: int
    is_sealed: bool


class TicketRow(NamedTuple):
    """Facts of a ticket."""

    assignment: str
    anchor: str | None


class _Stored(KeptObjects[FactsT]):
    """The rows of a table.

    Args:
        store: has the tables.
        query: digest and facts of every row.
        facts: makes facts of what follows the digest.
        table: where the objects are.
        held: the table that has for each assignment how many are held.
    """

    def __init__(
        self, store: Store, query: str, facts: Callable[..., FactsT], *, table: str, held: str
    ) -> None:
        self._store = store
        self._query = query
        self._facts = facts
        self._digests = StoredDigests(store, table)
        self._held = held

    @property
    def digests(self) -> Sequence[str]:
        return self._digests

    @property
    def assignments(self) -> Collection[str]:
        return StoredNames(self._store, self._held, "assignment")

    @property
    def assignment_counts(self) -> Mapping[str, int]:
        return _Counts(self._store, self._held)

    def __getitem__(self, digest: str) -> FactsT:
        raw = raw_digest(digest)
        row = None if raw is None else self._store.one(f"{self._query} WHERE digest = ?", raw)
        if row is None:
            raise KeyError(digest)
        return self._facts(*row[1:])

    def __contains__(self, digest: object) -> bool:
        return digest in self._digests

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)

    def values(self) -> ValuesView[FactsT]:
        """The facts, without looking each up by its digest."""
        return _Values(self)

    def items(self) -> ItemsView[str, FactsT]:
        """Digests with their facts, likewise."""
        return _Items(self)

    def each(self) -> Iterator[tuple[str, FactsT]]:
        """Digests with their facts, as they were put down."""
        return ((shown_digest(row[0]), self._facts(*row[1:])) for row in self._store.rows(self._query))


class _Values(ValuesView[FactsT]):
    _mapping: _Stored[FactsT]

    def __iter__(self) -> Iterator[FactsT]:
        return (facts for _, facts in self._mapping.each())


class _Items(ItemsView[str, FactsT]):
    _mapping: _Stored[FactsT]

    def __iter__(self) -> Iterator[tuple[str, FactsT]]:
        return self._mapping.each()


class StoredReceipts(_Stored[ReceiptRow], KeptReceipts):
    """Our sound receipts."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, f"SELECT {_FACTS} FROM receipts", _receipt, table="receipts", held="runs")

    def links(self, listed: Collection[str]) -> Iterator[Link]:
        listing = listed.condition if isinstance(listed, StoredDigests) else "FALSE"
        rows = self._store.rows(f"{_LINKS} {listing}")
        for digest, *facts, is_listed, ticketed, has_ticket, before, is_fork in rows:
            yield Link(
                shown_digest(digest),
                _receipt(*facts),
                is_listed=bool(is_listed),
                ticketed=ticketed,
                has_ticket=bool(has_ticket),
                before=before,
                is_fork=bool(is_fork),
            )

    def ticket_sharers(self) -> Iterator[tuple[str, str]]:
        return ((name, other) for name, other in self._store.rows(_SHARERS))

    def places(self) -> Container[int]:
        return _Places(self._store)

    def followed(self) -> Container[str]:
        return StoredDigests(self._store, "receipts", column="previous")


class StoredTickets(_Stored[TicketRow]):
    """Our sound tickets."""

    def __init__(self, store: Store) -> None:
        anchor = "(SELECT text FROM texts WHERE texts.number = tickets.anchor)"
        query = f"SELECT digest, assignment, {anchor} FROM tickets"
        super().__init__(store, query, TicketRow, table="tickets", held="ticketed")


def _receipt(
    assignment: str, ticket: bytes | None, sequence: int, previous: bytes, attempts: int, sealed: int
) -> ReceiptRow:
    shown = None if ticket is None else shown_digest(ticket)
    return ReceiptRow(assignment, shown, sequence, shown_digest(previous), attempts, bool(sealed))


class _Places(Container[int]):
    """The places of the chain at which a receipt is held."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __contains__(self, place: object) -> bool:
        return self._store.one("SELECT 1 FROM receipts WHERE sequence = ?", place) is not None


class _Counts(Mapping[str, int]):
    """How many are held of each assignment; one of which there is none is not here."""

    def __init__(self, store: Store, table: str) -> None:
        self._store = store
        self._table = table

    def __getitem__(self, assignment: str) -> int:
        row = self._store.one(f"SELECT held FROM {self._table} WHERE assignment = ?", assignment)
        if row is None:
            raise KeyError(assignment)
        count: int = row[0]
        return count

    def __iter__(self) -> Iterator[str]:
        return (name for (name,) in self._store.rows(f"SELECT assignment FROM {self._table}"))

    def __len__(self) -> int:
        count: int = self._store.one(f"SELECT count(*) FROM {self._table}")[0]
        return count

    def items(self) -> ItemsView[str, int]:
        """Assignments with their counts, without looking each up."""
        return _CountItems(self)

    def each(self) -> Iterator[tuple[str, int]]:
        """Assignments with their counts."""
        return (
            (name, held) for name, held in self._store.rows(f"SELECT assignment, held FROM {self._table}")
        )


class _CountItems(ItemsView[str, int]):
    _mapping: _Counts

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return self._mapping.each()
