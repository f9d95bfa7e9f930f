"""Each reading of the deliveries: which of them are read, what goes to the workers, what comes back.

All readings must meet the same deliveries in the same order; where they do not, nothing can be said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from agentbeat_receipts.claims.tallying import merge
from agentbeat_receipts.deliveries import Delivered
from agentbeat_receipts.objects import Assignment
from agentbeat_receipts.streams.chunks import chunks
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


class Terminals(NamedTuple):
    """What openings are held against.

    Args:
        records: the receipt of each assignment that has one only.
        places: what the manifest says of assignments.
    """

    records: Mapping[str, ReceiptRecord]
    places: Mapping[str, Assignment]

    def of(self, names: Iterable[str]) -> tuple[dict[str, ReceiptRecord], tuple[Assignment, ...]]:
        """Both for these assignments, where there is something."""
        records = {name: self.records[name] for name in names if name in self.records}
        return records, tuple(self.places[name] for name in records if name in self.places)


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
            ledger.take(result, len(task.deliveries))
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
        settlement = Settlement()
        done = 0
        for task, result in self._pool.run(open_some, self._put_off(ledger, frame, terminals)):
            self._take(settlement, task, result, terminals)
            done += len(task.deliveries)
            self._progress(Progress("opened", done))
        if frame.settling:
            rest = [name for name in terminals.records if name not in settlement.opened]
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
        strays = [(index, name) for index, name in result.strays if name in terminals.records]
        if strays:
            deliveries = [task.deliveries[index] for index, _ in strays]
            more = OpeningTask(task.frame, deliveries, *terminals.of(name for _, name in strays))
            self._take(settlement, more, self._pool.one(open_some, more), terminals)


def _unopened(frame: Frame, terminals: Terminals, names: list[str]) -> Iterator[UnopenedTask]:
    # At least one task, even of nothing: its tally names the domain's claims.
    for start in range(0, max(len(names), 1), _UNOPENED):
        records, places = terminals.of(names[start : start + _UNOPENED])
        yield UnopenedTask(frame, tuple(records.values()), places)
