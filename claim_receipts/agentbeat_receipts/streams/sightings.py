"""The first pass, a worker's part: receipts and tickets become records, and openings are put off.

An envelope or an opening is told by the end of its bytes: canonical documents end with their type, and
whatever ends so and can be read is of that type, because no name stands in an object twice. It is read in the
second pass; here only the name of its assignment is looked up at its beginning, as a hint to what will be
needed then. Objects of which a batch has one are handed on as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.deliveries import Delivered, Delivery, content_behind
from agentbeat_receipts.objects import (
    SIGNER,
    Body,
    Envelope,
    Opening,
    Receipt,
    SignatureFault,
    Ticket,
    read_whole,
    signature_fault,
)
from agentbeat_receipts.streams.records import ReceiptRecord, TicketRecord
from agentbeat_receipts.streams.settings import Settings
from agentbeat_receipts.verification.holdings import is_altered, object_digest_of
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["AlteredTask", "Doubt", "PutOff", "ReadTask", "Sighted", "altered_ones", "sight"]

#: The end of a canonical document of each type.
_ENDS: Final = {b',"type":"%b"}' % kind.TYPE.encode(): kind for kind in SIGNER}
_END: Final = b',"type":"'
_LONGEST_END: Final = max(map(len, _ENDS)) + 1

#: The beginning of a canonical envelope or opening.
_BEGINNING: Final = re.compile(rb'\{"body":\{"assignment":"([a-z0-9][a-z0-9._-]{0,127})"')

_PUT_OFF: Final = (Envelope, Opening)

#: From so many bytes on a delivery has pages of its own.
_LONG: Final = 1024 * 1024


class ReadTask(NamedTuple):
    """Deliveries to be read; the first one's place among all."""

    first: int
    deliveries: Sequence[Delivered]


class PutOff(NamedTuple):
    """An envelope or opening: its place, and the assignment that it seems to be of; empty when not known."""

    place: int
    assignment: str


class Doubt(NamedTuple):
    """A copy whose signature is not good: its place, and the manifest that it names."""

    place: int
    manifest: str


class Sighted(NamedTuple):
    """What some deliveries hold, by digest where they were read; what is to be read whole by its place."""

    records: list[tuple[str, ReceiptRecord | TicketRecord]]
    whole: list[int]
    put_off: list[PutOff]
    doubts: list[Doubt]
    findings: list[Finding]


class AlteredTask(NamedTuple):
    """Deliveries of others, to be held against our manifest's digest."""

    ours: str
    deliveries: Sequence[Delivered]


def sight(settings: Settings, task: ReadTask) -> Sighted:
    """What these deliveries hold."""
    sighted = Sighted([], [], [], [], [])
    shared: dict[object, object] = {}
    for place, delivery in enumerate(task.deliveries, start=task.first):
        # Long ones are mostly those that are handed on, and are read once more then.
        content = delivery.content if delivery.size < _LONG else content_behind(delivery, 0)
        kind = _kind_by_end(content[-_LONGEST_END:])
        if kind in _PUT_OFF:
            found = _BEGINNING.match(content)
            sighted.put_off.append(PutOff(place, "" if found is None else found[1].decode()))
        elif kind in (Receipt, Ticket, None):
            _read(Delivery(delivery.path, bytes(content)), place, settings, sighted, shared)
        else:
            sighted.whole.append(place)
    return sighted


def altered_ones(settings: Settings, task: AlteredTask) -> list[str]:
    """The digests of those objects whose signature becomes good when they name our manifest."""
    found = []
    for delivery in task.deliveries:
        reading = read_whole(delivery.content)
        if is_altered(reading.document, task.ours, settings.keyring):
            found.append(object_digest_of(reading)[0])
    return found


def _kind_by_end(end: bytes) -> type[Body] | None:
    end = end.removesuffix(b"\n")
    return _ENDS.get(end[end.rfind(_END) :])


def _read(
    delivery: Delivery, place: int, settings: Settings, sighted: Sighted, shared: dict[object, object]
) -> None:
    try:
        reading = read_whole(delivery.content)
    except ProtocolError as error:
        finding = Finding(Reason.OBJECT_UNREADABLE, cut(delivery.path, 200), str(error))
        sighted.findings.append(finding)
        return
    body = reading.document.body
    if isinstance(body, _PUT_OFF):
        sighted.put_off.append(PutOff(place, body.assignment))
        return
    if not isinstance(body, Receipt | Ticket):
        sighted.whole.append(place)
        return
    digest, message = object_digest_of(reading)
    fault = signature_fault(reading.document, settings.keyring, message=message)
    if fault in (SignatureFault.INVALID, SignatureFault.WRONG_ROLE):
        sighted.doubts.append(Doubt(place, body.manifest))
    record: ReceiptRecord | TicketRecord
    if isinstance(body, Receipt):
        record = ReceiptRecord.of(body, frozenset((fault,)))
    else:
        record = TicketRecord.of(body, frozenset((fault,)))
    # Equal members become one object, which is sent to the other process once.
    sighted.records.append((digest, record.shared(lambda member: shared.setdefault(member, member))))
