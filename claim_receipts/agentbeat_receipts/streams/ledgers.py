"""The first pass, kept: a row for each receipt and ticket, and which deliveries are for the second pass."""

# ruff: noqa: S608 - what is put into statements are names of tables and columns, from here

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.deliveries import Delivered
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import Body, Manifest, Receipt, SignatureFault, Ticket
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.long_lists import read_long
from agentbeat_receipts.streams.others import Others
from agentbeat_receipts.streams.records import ReceiptRecord, TicketRecord
from agentbeat_receipts.streams.sightings import Sighted
from agentbeat_receipts.streams.stored_objects import StoredReceipts, StoredTickets
from agentbeat_receipts.streams.stores import Row
from agentbeat_receipts.streams.tables import (
    Tables,
    fault_bits,
    joined_components,
    raw_digest,
    shown_digest,
    shown_faults,
)
from agentbeat_receipts.streams.wholes import Whole
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding
from agentbeat_receipts.verification.sorting import (
    Choice,
    choose_manifest,
    chosen,
    cited_findings,
    fault_findings,
    set_aside,
    sort_some,
)

__all__ = ["Ledger", "Route"]

_ALL_RIGHT: Final = fault_bits(frozenset((None,)))
#: One of these faults of its copies, and an object is vouched for (`verification.sorting.is_sound`).
_SOUND: Final = fault_bits(frozenset((None, SignatureFault.HINT)))

_ONE_MORE: Final = "ON CONFLICT (digest) DO UPDATE SET faults = faults | excluded.faults"
_TAKE_RECEIPT: Final = (
    "INSERT INTO receipts (digest, manifest, assignment, ticket, sequence, previous, attempts, envelope, "
    f"components, packed, faults) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) {_ONE_MORE}"
)
_TAKE_TICKET: Final = (
    f"INSERT INTO tickets (digest, manifest, assignment, anchor, faults) VALUES (?, ?, ?, ?, ?) {_ONE_MORE}"
)
_TABLES: Final[tuple[tuple[type[Body], str, str, str], ...]] = (
    (Receipt, "receipts", "ticket", "previous"),
    (Ticket, "tickets", "NULL", "NULL"),
)


class Route:
    """The order of the deliveries, by which the second pass knows those of the first again."""

    def __init__(self) -> None:
        self._paths = hashlib.sha256()
        self.length = 0

    def note(self, delivery: Delivered) -> None:
        """The next delivery."""
        self._paths.update(b"%b\0%d\0" % (delivery.path.encode(errors="surrogatepass"), delivery.size))
        self.length += 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Route) and self._paths.digest() == other._paths.digest()

    __hash__ = None  # type: ignore[assignment]  # it grows


class Ledger:
    """What the first pass has brought to light.

    Args:
        keyring: who may sign what.
        gathering: where findings go.
        tables: where the rest goes.
    """

    def __init__(self, keyring: PublicKeyring, gathering: Gathering, tables: Tables) -> None:
        self.route = Route()
        self._keyring = keyring
        self._gathering = gathering
        self._tables = tables
        self._whole: dict[str, Whole] = {}

    def take(self, first: int, deliveries: Sequence[Delivered], sighted: Sighted) -> None:
        """The result for some deliveries.

        Args:
            first: the place of the first of them.
        """
        write, number = self._tables.write, self._tables.number
        self._gathering.add(sighted.findings)
        receipts, tickets = [], []
        for digest, record in sighted.records:
            if isinstance(record, ReceiptRecord):
                receipts.append(self._receipt(digest, record))
            else:
                tickets.append(self._ticket(digest, record))
        write(_TAKE_RECEIPT, receipts)
        write(_TAKE_TICKET, tickets)
        write("INSERT INTO put_off VALUES (?, ?)", sighted.put_off)
        write("INSERT INTO doubts VALUES (?, ?)", ((place, number(named)) for place, named in sighted.doubts))
        for place in sighted.whole:
            self._take_whole(deliveries[place - first])

    def doubted(self, ours: str) -> Iterator[int]:
        """The places of deliveries that name another manifest, with a signature that is no good."""
        query = "SELECT place FROM doubts WHERE manifest <> ? ORDER BY place"
        return (place for (place,) in self._tables.rows(query, self._tables.number(ours)))

    def mark_altered(self, digests: Iterable[str]) -> None:
        """These objects of others are ours with a byte changed."""
        raw = [(raw_digest(digest),) for digest in digests]
        for _, table, _, _ in _TABLES:
            self._tables.write(f"UPDATE {table} SET altered = TRUE WHERE digest = ?", raw)

    def put_off(self) -> Iterator[tuple[int, str]]:
        """The places of envelopes and openings, and the assignments that they seem to be of."""
        return ((place, name) for place, name in self._tables.rows("SELECT * FROM put_off ORDER BY place"))

    def choose(self, named: str | None) -> Choice:
        """Which manifest is meant.

        Args:
            named: the digest that the caller names, if any.
        """
        manifests = [digest for digest, item in self._whole.items() if item.kind is Manifest]
        # Two are as many as more: then it is not known.
        query = "SELECT text FROM texts WHERE number IN (SELECT DISTINCT manifest FROM receipts) LIMIT 2"
        return choose_manifest(manifests, {text for (text,) in self._tables.rows(query)}, named)

    def sort_out(self, choice: Choice) -> Holdings:
        """Ours and others', as `verification.sorting.sort_out` has it; then only rows are left here."""
        holdings = Holdings()
        self._gathering.add(chosen(holdings, choice))
        if not holdings.ambiguous:
            ours = None if choice.digest is None else self._tables.number(choice.digest)
            held = choice.digest in self._whole or self._has_row(choice.digest)
            for kind, table, ticket, previous in _TABLES:
                self._gathering.add(self._unsound(kind, table, ours))
                self._part(kind, table, ours, ticket, previous)
            self._gathering.add(sort_some(holdings, self._whole, ours_is_held=held))
            self._take_rows(holdings)
            self._gathering.add(cited_findings(holdings))
        self._whole = {}
        return holdings

    def _receipt(self, digest: str, record: ReceiptRecord) -> Row:
        return (
            raw_digest(digest),
            self._tables.number(record.manifest),
            record.assignment,
            raw_digest(record.ticket),
            record.sequence,
            raw_digest(record.previous),
            record.attempts,
            raw_digest(record.envelope),
            self._tables.number(joined_components(record.components)),
            record.packed,
            fault_bits(record.faults),
        )

    def _ticket(self, digest: str, record: TicketRecord) -> Row:
        anchor = None if record.anchor is None else self._tables.number(record.anchor)
        manifest = self._tables.number(record.manifest)
        return raw_digest(digest), manifest, record.assignment, anchor, fault_bits(record.faults)

    def _has_row(self, digest: str | None) -> bool:
        raw = raw_digest(digest)
        found = (
            self._tables.one(f"SELECT 1 FROM {table} WHERE digest = ?", raw) for _, table, _, _ in _TABLES
        )
        return any(found)

    def _unsound(self, kind: type[Body], table: str, ours: int | None) -> Iterator[Finding]:
        """Findings on the rows that are others', or with which something is wrong."""
        query = (
            f"SELECT digest, manifest IS ?, faults, altered FROM {table} "
            "WHERE manifest IS NOT ? OR faults <> ?"
        )
        for raw, is_ours, bits, altered in self._tables.rows(query, ours, ours, _ALL_RIGHT):
            if is_ours:
                yield from fault_findings(shown_digest(raw), kind, shown_faults(bits))
            else:
                yield set_aside(shown_digest(raw), kind, altered=bool(altered))

    def _part(self, kind: type[Body], table: str, ours: int | None, ticket: str, previous: str) -> None:
        """Lay others' rows beside, and let go of ours that are not sound."""
        run = self._tables.run
        laid = f"SELECT digest, ?, manifest, {ticket}, {previous} FROM {table} WHERE manifest IS NOT ?"
        run(f"INSERT INTO others {laid}", kind.__name__, ours)
        run(f"DELETE FROM {table} WHERE manifest IS NOT ? OR NOT faults & ?", ours, _SOUND)

    def _take_rows(self, holdings: Holdings) -> None:
        run = self._tables.run
        # In a chain that is all gaps or forks each receipt is looked up by both.
        run("CREATE INDEX places ON receipts (sequence)")
        run("CREATE INDEX followed ON receipts (previous)")
        run("INSERT INTO runs SELECT assignment, count(*), min(number), 0 FROM receipts GROUP BY assignment")
        run("INSERT INTO ticketed SELECT assignment, count(*) FROM tickets GROUP BY assignment")
        receipts, tickets = StoredReceipts(self._tables), StoredTickets(self._tables)
        if receipts:
            holdings.ours[Receipt] = receipts
        if tickets:
            holdings.ours[Ticket] = tickets
        holdings.foreign = Others(self._tables, holdings.foreign)

    def _take_whole(self, delivery: Delivered) -> None:
        try:
            document, message = read_long(delivery, self._tables)
        except ProtocolError as error:
            finding = Finding(Reason.OBJECT_UNREADABLE, cut(delivery.path, 200), str(error))
            self._gathering.add((finding,))
            return
        digest = "sha256:" + hashlib.sha256(message).hexdigest()
        self._whole.setdefault(digest, Whole(document.body, self._keyring)).take(document, message)
