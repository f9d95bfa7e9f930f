"""Receipts and tickets as they are kept: rows of bytes, where objects would take ten times as much.

Of a receipt there are 32 bytes for each of digest, predecessor and ticket, and 50 for the rest; its
commitments and values are in a `Spill`. Of a ticket there are 32 and 13. What is the same in many rows, such
as components, is kept once and named by its number.

Rows come in any order and may repeat. When all are there `sorted_rows` gives them by digest, each once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from struct import Struct
from typing import Any, Final, Generic, NamedTuple, TypeVar

from agentbeat_protocol import is_digest
from agentbeat_receipts.digests import SIZE, in_order, raw_digest, shown_digest
from agentbeat_receipts.names import Names
from agentbeat_receipts.objects import SignatureFault
from agentbeat_receipts.streams.records import ReceiptRecord, TicketRecord
from agentbeat_receipts.streams.spills import Spill

__all__ = ["Columns", "ReceiptColumns", "ReceiptRow", "TicketColumns", "shown_faults"]

RecordT = TypeVar("RecordT", ReceiptRecord, TicketRecord)
SharedT = TypeVar("SharedT", bound=Hashable)

#: The faults of copies as bits.
_FAULTS: Final = (None, *SignatureFault)
_NO_DIGEST: Final = bytes(SIZE)
_HEAD: Final = Struct("<BII")
_RECEIPT: Final = Struct(f"<BIIB{SIZE}s{SIZE}sQQQI")
_TICKET: Final = Struct("<BIII")


class _Shared(Generic[SharedT]):
    """Few different things, by number."""

    def __init__(self) -> None:
        self._numbers: dict[SharedT, int] = {}
        self._things: list[SharedT] = []

    def number(self, thing: SharedT) -> int:
        number = self._numbers.setdefault(thing, len(self._things))
        if number == len(self._things):
            self._things.append(thing)
        return number

    def __getitem__(self, number: int) -> SharedT:
        return self._things[number]


class Row(NamedTuple):
    """What every row begins with: faults of copies as bits, manifest and assignment by number."""

    faults: int
    manifest: int
    assignment: int


class Columns(Generic[RecordT]):
    """Rows of one kind.

    Args:
        names: of assignments, shared with whoever numbers them too.
    """

    _form: Struct

    def __init__(self, names: Names) -> None:
        self._names = names
        self._manifests = _Shared[str]()
        self._digests = bytearray()
        self._rows = bytearray()

    def add(self, digest: str, record: RecordT) -> None:
        """One more row."""
        self._digests += raw_digest(digest)
        faults = sum(1 << place for place, fault in enumerate(_FAULTS) if fault in record.faults)
        manifest, name = self._manifests.number(record.manifest), self._names.number(record.assignment)
        self._rows += self._packed(faults, manifest, name, record)

    @property
    def manifests(self) -> frozenset[str]:
        """The manifests that the rows name."""
        return frozenset(self._manifests._things)

    def record(self, row: int) -> RecordT:
        """A row as the record that it was."""
        raise NotImplementedError

    def facts(self, row: int) -> Any:
        """What the checks of the chain ask for."""
        raise NotImplementedError

    def has(self, digest: str | None) -> bool:
        """Whether there is a row of this digest; each is looked at."""
        if digest is None or not is_digest(digest):
            return False
        wanted = raw_digest(digest)
        return any(self._digests[at : at + SIZE] == wanted for at in range(0, len(self._digests), SIZE))

    def head(self, row: int) -> Row:
        """What is asked of every row."""
        return Row(*_HEAD.unpack_from(self._rows, row * self._form.size))

    def manifest(self, row: int) -> str:
        """The manifest that a row names."""
        return self._manifests[self.head(row).manifest]

    def sorted_rows(self) -> Iterator[tuple[bytes, int, int]]:
        """Each object once, by digest: its digest, its row, and the faults of all its copies as bits."""
        before, first, faults = b"", 0, 0
        for row in in_order(self._digests):
            digest = bytes(self._digests[SIZE * row : SIZE * (row + 1)])
            if digest == before:
                faults |= self.head(row).faults
                continue
            if before:
                yield before, first, faults
            before, first, faults = digest, row, self.head(row).faults
        if before:
            yield before, first, faults

    def forget_digests(self) -> None:
        """Let go of the digests, when they are kept elsewhere."""
        self._digests = bytearray()

    def _packed(self, faults: int, manifest: int, name: int, record: RecordT) -> bytes:
        raise NotImplementedError


def shown_faults(bits: int) -> frozenset[SignatureFault | None]:
    """Faults of copies that were bits."""
    return frozenset(fault for place, fault in enumerate(_FAULTS) if bits >> place & 1)


class ReceiptColumns(Columns[ReceiptRecord]):
    """Rows of receipts.

    Args:
        names: as of `Columns`.
        spill: for what is seldom asked for.
    """

    _form = _RECEIPT

    def __init__(self, names: Names, spill: Spill) -> None:
        super().__init__(names)
        self._spill = spill
        self._components = _Shared[tuple[str | None, ...]]()

    def _packed(self, faults: int, manifest: int, name: int, record: ReceiptRecord) -> bytes:
        given = (record.ticket is not None) | (record.envelope is not None) << 1
        ticket = _NO_DIGEST if record.ticket is None else raw_digest(record.ticket)
        envelope = _NO_DIGEST if record.envelope is None else raw_digest(record.envelope)
        return _RECEIPT.pack(
            faults,
            manifest,
            name,
            given,
            raw_digest(record.previous),
            ticket,
            record.sequence,
            record.attempts,
            self._spill.put(envelope + record.packed),
            self._components.number(record.components),
        )

    def record(self, row: int) -> ReceiptRecord:
        faults, manifest, name, given, before, ticket, sequence, attempts, place, components = self._row(row)
        spilled = self._spill.get(place)
        return ReceiptRecord(
            manifest=self._manifests[manifest],
            assignment=self._names[name],
            ticket=shown_digest(ticket) if given & 1 else None,
            sequence=sequence,
            previous=shown_digest(before),
            attempts=attempts,
            envelope=shown_digest(spilled[:SIZE]) if given & 2 else None,
            components=self._components[components],
            packed=spilled[SIZE:],
            faults=shown_faults(faults),
        )

    def facts(self, row: int) -> ReceiptRow:
        """What the checks of the chain ask for."""
        _, _, name, given, previous, ticket, sequence, attempts, _, _ = self._row(row)
        shown = shown_digest(ticket) if given & 1 else None
        return ReceiptRow(
            self._names[name], shown, sequence, shown_digest(previous), attempts, bool(given & 2)
        )

    def _row(self, row: int) -> tuple[int, int, int, int, bytes, bytes, int, int, int, int]:
        return _RECEIPT.unpack_from(self._rows, row * _RECEIPT.size)


class ReceiptRow(NamedTuple):
    """Facts of a receipt."""

    assignment: str
    ticket: str | None
    sequence: int
    previous: str
    attempts: int
    is_sealed: bool


class TicketColumns(Columns[TicketRecord]):
    """Rows of tickets."""

    _form = _TICKET

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self._anchors = _Shared[str | None]()

    def _packed(self, faults: int, manifest: int, name: int, record: TicketRecord) -> bytes:
        return _TICKET.pack(faults, manifest, name, self._anchors.number(record.anchor))

    def record(self, row: int) -> TicketRecord:
        faults, manifest, name, anchor = _TICKET.unpack_from(self._rows, row * _TICKET.size)
        names = self._names
        return TicketRecord(
            self._manifests[manifest], names[name], self._anchors[anchor], shown_faults(faults)
        )

    def facts(self, row: int) -> TicketRecord:
        """What the checks of the chain ask for."""
        return self.record(row)
