"""The first pass, kept: a row for each receipt and ticket, and which deliveries are for the second pass."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from typing import Final

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.deliveries import Delivered
from agentbeat_receipts.digests import shown_digest
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.names import Names
from agentbeat_receipts.objects import Body, Manifest, Receipt, Ticket
from agentbeat_receipts.streams.columns import Columns, ReceiptColumns, TicketColumns, shown_faults
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.long_lists import read_long
from agentbeat_receipts.streams.records import ReceiptRecord, TicketRecord
from agentbeat_receipts.streams.sightings import Doubt, Sighted
from agentbeat_receipts.streams.sound_columns import Sound
from agentbeat_receipts.streams.spills import Spill
from agentbeat_receipts.streams.wholes import RowSighting, Whole
from agentbeat_receipts.verification.holdings import Holdings
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding
from agentbeat_receipts.verification.sorting import (
    Choice,
    choose_manifest,
    chosen,
    cited_findings,
    fault_findings,
    is_sound,
    set_aside,
    sort_some,
)

__all__ = ["Ledger", "Route"]

#: In place of the number of a name.
_NOT_PUT_OFF: Final = -1
#: The faults of an object with which nothing is wrong.
_ALL_RIGHT: Final = frozenset((None,))


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
        spill: where most of what receipts say goes.
    """

    def __init__(self, keyring: PublicKeyring, gathering: Gathering, spill: Spill) -> None:
        self.names = Names()
        self.receipts = ReceiptColumns(self.names, spill)
        self.tickets = TicketColumns(self.names)
        self.doubts: list[Doubt] = []
        self.route = Route()
        self._keyring = keyring
        self._gathering = gathering
        self._whole: dict[str, Whole] = {}
        self._put_off = array("i")
        self._altered: frozenset[str] = frozenset()

    def take(self, sighted: Sighted, deliveries: Iterable[Delivered]) -> None:
        """The result for the next deliveries."""
        self._gathering.add(sighted.findings)
        self.doubts += sighted.doubts
        some = tuple(deliveries)
        first = len(self._put_off)
        self._put_off.extend([_NOT_PUT_OFF] * len(some))
        for place, assignment in sighted.put_off:
            self._put_off[place] = self.names.number(assignment)
        for digest, record in sighted.records:
            if isinstance(record, ReceiptRecord):
                self.receipts.add(digest, record)
            else:
                self.tickets.add(digest, record)
        for place in sighted.whole:
            self._take_whole(some[place - first])

    def hint(self, place: int) -> str | None:
        """Of a delivery that was put off the assignment that it seems to be of; None when it was not."""
        number = self._put_off[place]
        return None if number == _NOT_PUT_OFF else self.names[number]

    def choose(self, named: str | None) -> Choice:
        """Which manifest is meant.

        Args:
            named: the digest that the caller names, if any.
        """
        manifests = [digest for digest, item in self._whole.items() if item.kind is Manifest]
        return choose_manifest(manifests, self.receipts.manifests, named)

    def mark_altered(self, digests: Iterable[str]) -> None:
        """These objects of others are ours with a byte changed."""
        self._altered = self._altered.union(digests)

    def sort_out(self, choice: Choice) -> Holdings:
        """Ours and others', as `verification.sorting.sort_out` has it; then only rows are left here."""
        holdings = Holdings()
        self._gathering.add(chosen(holdings, choice))
        if not holdings.ambiguous:
            columns: tuple[tuple[type[Body], Columns[ReceiptRecord] | Columns[TicketRecord]], ...] = (
                (Receipt, self.receipts),
                (Ticket, self.tickets),
            )
            held = choice.digest in self._whole or any(found.has(choice.digest) for _, found in columns)
            for kind, rows in columns:
                self._gathering.add(self._sort_rows(holdings, kind, rows, ours_is_held=held))
            self._gathering.add(sort_some(holdings, self._whole, ours_is_held=held))
            self._gathering.add(cited_findings(holdings))
        self._whole = {}
        return holdings

    def _sort_rows(
        self,
        holdings: Holdings,
        kind: type[Body],
        columns: Columns[ReceiptRecord] | Columns[TicketRecord],
        *,
        ours_is_held: bool,
    ) -> Iterator[Finding]:
        sound = Sound(columns.facts, self.names)
        for raw, row, bits in columns.sorted_rows():
            faults, head = shown_faults(bits), columns.head(row)
            ours = columns.manifest(row) == holdings.manifest_digest
            if not ours or faults != _ALL_RIGHT:
                digest = shown_digest(raw)
                item = RowSighting(kind, columns.record(row), faults, digest in self._altered)
                if not ours:
                    yield set_aside(holdings, digest, item, ours_is_held=ours_is_held)
                    continue
                yield from fault_findings(digest, kind, faults)
            if is_sound(faults):
                sound.add(raw, row, head.assignment)
        sound.close()
        columns.forget_digests()
        if len(sound):
            holdings.ours[kind] = sound

    def _take_whole(self, delivery: Delivered) -> None:
        try:
            document, message = read_long(delivery.content)
        except ProtocolError as error:
            finding = Finding(Reason.OBJECT_UNREADABLE, cut(delivery.path, 200), str(error))
            self._gathering.add((finding,))
            return
        digest = "sha256:" + hashlib.sha256(message).hexdigest()
        self._whole.setdefault(digest, Whole(document.body, self._keyring)).take(document, message)
