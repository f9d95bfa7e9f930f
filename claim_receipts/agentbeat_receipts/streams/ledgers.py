"""The first pass, kept: a record of each receipt and ticket, and which deliveries are for the second pass."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from typing import Any, Final

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.deliveries import Delivered, Delivery
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import read_whole
from agentbeat_receipts.streams.gathering import Gathering
from agentbeat_receipts.streams.records import ReceiptRecord, TicketRecord
from agentbeat_receipts.streams.sightings import Doubt, Sighted
from agentbeat_receipts.verification.facts import Sighting
from agentbeat_receipts.verification.holdings import Held, object_digest_of
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["Ledger", "Route"]

#: In place of the number of a name.
_NOT_PUT_OFF: Final = -1


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
    """

    def __init__(self, keyring: PublicKeyring, gathering: Gathering) -> None:
        self.held: dict[str, Sighting] = {}
        self.doubts: list[Doubt] = []
        self.route = Route()
        self._keyring = keyring
        self._gathering = gathering
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._put_off = array("i")
        self._shared: dict[object, object] = {}

    def take(self, sighted: Sighted, places: int) -> None:
        """The result for the next `places` deliveries."""
        self._gathering.add(sighted.findings)
        self.doubts += sighted.doubts
        self._put_off.extend([_NOT_PUT_OFF] * places)
        for place, assignment in sighted.put_off:
            self._put_off[place] = self._number(assignment)
        for digest, record in sighted.records:
            self._record(digest, record)
        for delivery in sighted.whole:
            self._whole(delivery)

    def hint(self, place: int) -> str | None:
        """Of a delivery that was put off the assignment that it seems to be of; None when it was not."""
        number = self._put_off[place]
        return None if number == _NOT_PUT_OFF else self._names[number]

    def mark_altered(self, digests: Iterable[str]) -> None:
        """These objects of others are ours with a byte changed."""
        for digest in digests:
            record = self.held[digest]
            if isinstance(record, ReceiptRecord | TicketRecord):
                self.held[digest] = record._replace(altered=True)

    def close(self) -> None:
        """Let go of what only the first pass needs."""
        self.held = {}
        self._shared = {}
        self._numbers = {}

    def _number(self, assignment: str) -> int:
        number = self._numbers.get(assignment)
        if number is None:
            name = self._same(assignment)
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
        return number

    def _same(self, member: Any) -> Any:
        return self._shared.setdefault(member, member)

    def _record(self, digest: str, record: ReceiptRecord | TicketRecord) -> None:
        held = self.held.get(digest)
        if held is None:
            self.held[self._same(digest)] = record.shared(self._same)
        elif not record.faults <= held.faults and isinstance(held, ReceiptRecord | TicketRecord):
            self.held[digest] = held._replace(faults=held.faults | record.faults)

    def _whole(self, delivery: Delivery) -> None:
        try:
            reading = read_whole(delivery.content)
        except ProtocolError as error:
            finding = Finding(Reason.OBJECT_UNREADABLE, cut(delivery.path, 200), str(error))
            self._gathering.add((finding,))
            return
        document = reading.document
        digest, message = object_digest_of(reading)
        held = self.held.setdefault(digest, Held(document.body, message, self._keyring))
        if isinstance(held, Held):
            held.take(document)
