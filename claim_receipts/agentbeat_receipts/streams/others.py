"""What objects of other manifests cite, as far as it lies in the temporary database."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final

from agentbeat_receipts.objects import Body, Checkpoint, Receipt, Ticket
from agentbeat_receipts.streams.stored_lists import StoredDigests
from agentbeat_receipts.streams.stores import Store
from agentbeat_receipts.streams.tables import raw_digest, shown_digest
from agentbeat_receipts.verification.facts import Foreign
from agentbeat_receipts.verification.relations import KeptForeign

__all__ = ["Others"]

_KINDS: Final[Mapping[str, type[Body]]] = {kind.__name__: kind for kind in (Receipt, Ticket)}
_QUERY: Final = (
    "SELECT kind, (SELECT text FROM texts WHERE texts.number = others.manifest), ticket, previous "
    "FROM others WHERE digest = ?"
)
_CITED_BY_BOTH: Final = (
    """INSERT OR IGNORE INTO theirs
        SELECT ticket FROM others WHERE ticket IS NOT NULL
        UNION SELECT previous FROM others WHERE previous IS NOT NULL""",
    """INSERT OR IGNORE INTO by_both
        SELECT digest FROM theirs WHERE digest IN (SELECT ticket FROM receipts)
        OR digest IN (SELECT previous FROM receipts)""",
)


class Others(KeptForeign):
    """Receipts and tickets that lie in the database, and the rest beside it.

    Args:
        store: has the tables.
        whole: the rest.
    """

    def __init__(self, store: Store, whole: Mapping[str, Foreign]) -> None:
        self._store = store
        self._whole = whole
        self._digests = StoredDigests(store, "others")

    def cited_by_both(self, heads: Iterable[str]) -> Container[str]:
        cited = (
            (raw_digest(digest),)
            for item in self._whole.values()
            if item.kind is not Checkpoint
            for digest in (*item.tickets, *item.links)
        )
        self._store.write("INSERT OR IGNORE INTO theirs VALUES (?)", cited)
        for statement in _CITED_BY_BOTH:
            self._store.run(statement)
        self._store.write(
            "INSERT OR IGNORE INTO by_both SELECT digest FROM theirs WHERE digest = ?",
            ((raw_digest(head),) for head in heads),
        )
        return StoredDigests(self._store, "by_both")

    def __getitem__(self, digest: str) -> Foreign:
        if digest in self._whole:
            return self._whole[digest]
        row = self._store.one(_QUERY, raw_digest(digest))
        if row is None:
            raise KeyError(digest)
        kind, manifest, ticket, previous = row
        return Foreign(
            _KINDS[kind],
            manifest,
            tickets=() if ticket is None else (shown_digest(ticket),),
            links=() if previous is None else (shown_digest(previous),),
        )

    def __iter__(self) -> Iterator[str]:
        yield from self._whole
        yield from self._digests

    def __len__(self) -> int:
        return len(self._whole) + len(self._digests)
