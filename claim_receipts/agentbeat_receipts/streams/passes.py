"""Each reading of the deliveries: which of them are read, what goes to the workers, what comes back.

All readings must meet the same deliveries in the same order; where they do not, nothing can be said.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, Literal, NamedTuple

from agentbeat_receipts.claims.tallying import merge
from agentbeat_receipts.deliveries import Delivered
from agentbeat_receipts.objects import Assignment
from agentbeat_receipts.streams.chunks import chunks
from agentbeat_receipts.streams.columns import ReceiptRow
from agentbeat_receipts.streams.ledgers import Ledger, Route
from agentbeat_receipts.streams.openings import (
    Frame,
    Opened,
    OpeningTask,
    UnopenedTask,
    open_some,
    settle_unopened,
)
from agentbeat_receipts.streams.pools import Pool, StreamError
from agentbeat_receipts.streams.records import ReceiptRecord
from agentbeat_receipts.streams.settlements import Settlement
from agentbeat_receipts.streams.sightings import AlteredTask, ReadTask, altered_ones, sight
from agentbeat_receipts.streams.sound_columns import Sound

__all__ = ["Passes", "Progress", "Terminals"]


#: How many terminals without an opening make a task.
_UNOPENED: Final = 512


class Progress(NamedTuple):
    """How far a verification has come.

    Args:
        stage: which reading it is in.
        deliveries: how many deliveries are done; of `opened`, those that had been put off.
    """

    stage: Literal["sighted", "opened"]
    deliveries: int


class Terminals:
    """What openings are held against: the receipt of each assignment that has one only.

    Args:
        ledger: has the receipts.
        sound: which of them are ours and sound; none where that is not known.
        places: what the manifest says of assignments.
    """

    def __init__(
        self, ledger: Ledger, sound: Sound[ReceiptRow] | None, places: Mapping[str, Assignment]
    ) -> None:
        self._ledger = ledger
        self._places = places
        # By the number of an assignment, a row and one; 0 is none.
        self._rows = array("I")
        if sound is None:
            return
        self._rows.extend([0] * len(ledger.names))
        for row in sound.rows:
            number = ledger.receipts.head(row).assignment
            if sound.assignment_counts.of(number) == 1:
                self._rows[number] = row + 1

    def __iter__(self) -> Iterator[int]:
        """The numbers of the assignments."""
        return (number for number, row in enumerate(self._rows) if row)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._row(name) >= 0

    def of(self, names: Iterable[str]) -> tuple[dict[str, ReceiptRecord], tuple[Assignment, ...]]:
        """The receipts of these assignments and what the manifest says of them, where there is something."""
        rows = {name: self._row(name) for name in names}
        records = {name: self._ledger.receipts.record(row) for name, row in rows.items() if row >= 0}
        return records, tuple(self._places[name] for name in records if name in self._places)

    def _row(self, name: str) -> int:
        number = self._ledger.names.find(name)
        return self._rows[number] - 1 if 0 <= number < len(self._rows) else -1


class Passes:
    """The readings of one source.

    Args:
        source: the deliveries.
        pool: who does the work.
        progress: is told how far it has come.
    """

    def __init__(self, source: Iterable[Delivered], pool: Pool, progress: Callable[[Progress], None]) -> None:
        self._source = source
        self._pool = pool
        self._progress = progress

    def sighted(self, ledger: Ledger) -> None:
        """The first reading."""
        done = 0
        for task, result in self._pool.run(sight, self._all(ledger.route)):
            ledger.take(result, task.deliveries)
            done += len(task.deliveries)
            self._progress(Progress("sighted", done))

    def altered(self, ledger: Ledger, ours: str) -> None:
        """A reading of others' objects whose signatures are no good, where there are such."""
        doubted = {doubt.place for doubt in ledger.doubts if doubt.manifest != ours}
        if not doubted:
            return
        chosen = (found for place, found in self._again(ledger) if place in doubted)
        tasks = (AlteredTask(ours, some) for some in chunks(chosen))
        for _, digests in self._pool.run(altered_ones, tasks):
            ledger.mark_altered(digests)

    def opened(self, ledger: Ledger, frame: Frame, terminals: Terminals) -> Settlement:
        """A reading of the envelopes and openings; then terminals without one are settled too."""
        settlement = Settlement(ledger.names)
        done = 0
        for task, result in self._pool.run(open_some, self._put_off(ledger, frame, terminals)):
            self._take(settlement, task, result, terminals)
            done += len(task.deliveries)
            self._progress(Progress("opened", done))
        if frame.settling:
            rest = (ledger.names[number] for number in terminals if not settlement.is_opened(number))
            for _, tally in self._pool.run(settle_unopened, _unopened(frame, terminals, rest)):
                merge(settlement.tally, tally)
        return settlement

    def _all(self, route: Route) -> Iterator[ReadTask]:
        first = 0
        for some in chunks(self._source):
            for delivery in some:
                route.note(delivery)
            yield ReadTask(first, some)
            first += len(some)

    def _again(self, ledger: Ledger) -> Iterator[tuple[int, Delivered]]:
        """Each delivery with its place, held against the first reading's."""
        route = Route()
        for place, delivery in enumerate(self._source):
            if place >= ledger.route.length:
                break
            route.note(delivery)
            yield place, delivery
        else:
            if route == ledger.route:
                return
        raise StreamError("the deliveries changed from one reading to the next")

    def _put_off(self, ledger: Ledger, frame: Frame, terminals: Terminals) -> Iterator[OpeningTask]:
        hints: list[str] = []

        def chosen() -> Iterator[Delivered]:
            for place, delivery in self._again(ledger):
                hint = ledger.hint(place)
                if hint is not None:
                    hints.append(hint)
                    yield delivery

        for some in chunks(chosen()):
            records, places = terminals.of(hints)
            hints.clear()
            yield OpeningTask(frame, some, records, places)

    def _take(self, settlement: Settlement, task: OpeningTask, result: Opened, terminals: Terminals) -> None:
        twice = settlement.again(result)
        if twice:
            result = self._pool.one(open_some, task._replace(settled=twice))
        settlement.take(result)
        strays = [(index, name) for index, name in result.strays if name in terminals]
        if strays:
            deliveries = [task.deliveries[index] for index, _ in strays]
            more = OpeningTask(task.frame, deliveries, *terminals.of(name for _, name in strays))
            self._take(settlement, more, self._pool.one(open_some, more), terminals)


def _unopened(frame: Frame, terminals: Terminals, names: Iterator[str]) -> Iterator[UnopenedTask]:
    # At least one task, even of nothing: its tally names the domain's claims.
    some = list(islice(names, _UNOPENED))
    while True:
        records, places = terminals.of(some)
        yield UnopenedTask(frame, tuple(records.values()), places)
        some = list(islice(names, _UNOPENED))
        if not some:
            return
