"""Each reading of the deliveries: which of them are read, what goes to the workers, what comes back.

All readings must meet the same deliveries in the same order; where they do not, nothing can be said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, NamedTuple

from agentbeat_receipts.claims.tallying import merge
from agentbeat_receipts.deliveries import Delivered
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
from agentbeat_receipts.streams.settlements import Settlement
from agentbeat_receipts.streams.sightings import AlteredTask, ReadTask, altered_ones, sight
from agentbeat_receipts.streams.tables import Tables
from agentbeat_receipts.streams.terminals import Terminals

__all__ = ["Passes", "Progress"]


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


class Passes:
    """The readings of one source.

    Args:
        source: the deliveries.
        pool: who does the work.
        tables: what is kept.
        progress: is told how far it has come.
    """

    def __init__(
        self,
        source: Iterable[Delivered],
        pool: Pool,
        tables: Tables,
        progress: Callable[[Progress], None],
    ) -> None:
        self._source = source
        self._pool = pool
        self._tables = tables
        self._progress = progress

    def sighted(self, ledger: Ledger) -> None:
        """The first reading."""
        done = 0
        for task, result in self._pool.run(sight, self._all(ledger.route)):
            ledger.take(task.first, task.deliveries, result)
            done += len(task.deliveries)
            self._progress(Progress("sighted", done))

    def altered(self, ledger: Ledger, ours: str) -> None:
        """A reading of others' objects whose signatures are no good, where there are such."""
        if next(ledger.doubted(ours), None) is None:
            return
        chosen = (found for found, _ in self._some(ledger, ((place, "") for place in ledger.doubted(ours))))
        tasks = (AlteredTask(ours, some) for some in chunks(chosen))
        for _, digests in self._pool.run(altered_ones, tasks):
            ledger.mark_altered(digests)

    def opened(self, ledger: Ledger, frame: Frame, terminals: Terminals) -> Settlement:
        """A reading of the envelopes and openings; then terminals without one are settled too."""
        settlement = Settlement(self._tables)
        done = 0
        for task, result in self._pool.run(open_some, self._put_off(ledger, frame, terminals)):
            self._take(settlement, task, result, terminals)
            done += len(task.deliveries)
            self._progress(Progress("opened", done))
        if frame.settling:
            rest = (UnopenedTask(frame, held) for held in terminals.unopened(_UNOPENED))
            for _, tally in self._pool.run(settle_unopened, rest):
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

    def _some(self, ledger: Ledger, wanted: Iterator[tuple[int, str]]) -> Iterator[tuple[Delivered, str]]:
        """The deliveries at some places, in their order, with what is said of each."""
        awaited, said = next(wanted, (-1, ""))
        for place, delivery in self._again(ledger):
            if place == awaited:
                yield delivery, said
                awaited, said = next(wanted, (-1, ""))

    def _put_off(self, ledger: Ledger, frame: Frame, terminals: Terminals) -> Iterator[OpeningTask]:
        hints: list[str] = []

        def chosen() -> Iterator[Delivered]:
            for delivery, hint in self._some(ledger, ledger.put_off()):
                hints.append(hint)
                yield delivery

        for some in chunks(chosen()):
            held = terminals.of(hints)
            hints.clear()
            yield OpeningTask(frame, some, held)

    def _take(self, settlement: Settlement, task: OpeningTask, result: Opened, terminals: Terminals) -> None:
        twice = settlement.again(result)
        if twice:
            result = self._pool.one(open_some, task._replace(settled=twice))
        settlement.take(result)
        strays = [(index, name) for index, name in result.strays if name in terminals]
        if strays:
            deliveries = [task.deliveries[index] for index, _ in strays]
            more = OpeningTask(task.frame, deliveries, terminals.of(name for _, name in strays))
            self._take(settlement, more, self._pool.one(open_some, more), terminals)
