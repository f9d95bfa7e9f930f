"""What a claim receipt costs, step by step, beside its floor and beside the figures of arXiv 2609.01992.

The paper's machine is another one, so its microseconds are marks and no more. What can be compared is the
ratio to the floor, which is measured in turn with the step itself on the same bytes. Its transaction is ours
in kind: a receipt, an encrypted opening, a ticket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agentbeat_receipts.anchors import prove
from agentbeat_receipts.batches import Batch
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.corpus import (
    CorpusKeys,
    MadeEpoch,
    corpus_seed,
    make_epoch,
    retrospective_epochs,
    unified_epoch,
)
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.objects import (
    Envelope,
    Receipt,
    Ticket,
    read_whole,
    signature_fault,
    write_document,
)
from agentbeat_receipts.verification import ProvenAnchor, verify_chain
from agentbeat_receipts.verification.holdings import object_digest_of
from benchmarks.claim_floors import Floors, Transaction
from benchmarks.measuring import interleaved, print_table

__all__ = ["run"]

ROUNDS = 15
#: How many transactions are measured in a round.
MEASURED = 90


@dataclass(frozen=True)
class Step:
    """One row.

    Args:
        name: what is done.
        ours: does it for every transaction.
        floor: does the primitives for every transaction.
        goal: the ratio that it should keep to.
        paper: the paper's microseconds.
    """

    name: str
    ours: Callable[[], object]
    floor: Callable[[], object]
    goal: int
    paper: str


def run() -> None:
    """Measure and print."""
    keys = CorpusKeys.of(corpus_seed(1))
    made = _prospective(keys)
    _steps(made, keys)
    _sizes(made)
    _corpus(keys)


def _prospective(keys: CorpusKeys) -> MadeEpoch:
    """The second epoch's shape with tickets and envelopes, a few of its buyers."""
    epoch = unified_epoch(keys.seed)
    few = dict(list(epoch.profiles.items())[: MEASURED // len(epoch.plans)])
    return make_epoch(replace(epoch, key="bench", profiles=few, prospective=True), keys)


def _steps(made: MadeEpoch, keys: CorpusKeys) -> None:
    transactions = _transactions(made)
    floors = [Floors(transaction, keys.keyring) for transaction in transactions]
    count = len(floors)
    steps = _rows(made, keys, transactions, floors)
    times = interleaved(ROUNDS, *(work for step in steps for work in (step.ours, step.floor)))
    rows = []
    for step, ours, floor in zip(steps, times[::2], times[1::2], strict=True):
        # The least of the rounds: whatever else the machine does can only add to it.
        each, least = (min(taken) * 1e6 / count for taken in (ours, floor))
        rows.append(
            (step.name, f"{each:.0f}", f"{least:.0f}", f"{each / least:.2f}", f"<= {step.goal}", step.paper)
        )
    print_table(
        f"A transaction of the market, mean of {count}, least of {ROUNDS} rounds",
        ("", "µs", "floor µs", "ratio to floor", "goal", "paper µs"),
        rows,
    )


def _rows(
    made: MadeEpoch, keys: CorpusKeys, transactions: Sequence[Transaction], floors: Sequence[Floors]
) -> tuple[Step, ...]:
    public, auditor, deliveries = keys.keyring.public, keys.keyring.auditor, made.deliveries()
    anchors = _proven(made, keys)
    writing = _Writing(made, keys)

    def each(step: Callable[[Floors], None]) -> Callable[[], None]:
        def work() -> None:
            for floor in floors:
                step(floor)

        return work

    return (
        Step("write receipt and envelope", writing.receipts, each(Floors.write), 3, "361"),
        Step("write ticket, receipt and envelope", writing.whole, each(Floors.write_with_ticket), 3, "428"),
        Step("public check of a receipt", _checking(transactions, keys), each(Floors.public_check), 2, "297"),
        Step(
            "public check of a batch",
            lambda: verify_chain(deliveries, public, anchors=anchors),
            each(Floors.batch_check),
            2,
            "",
        ),
        Step(
            "auditor check of a batch",
            lambda: verify_chain(deliveries, public, anchors=anchors, auditor=auditor),
            each(Floors.auditor_check),
            3,
            "",
        ),
        Step(
            "auditor check with replay and verdicts",
            lambda: verify(deliveries, public, domains=(DOMAIN,), anchors=anchors, auditor=auditor),
            each(Floors.auditor_check),
            3,
            "734",
        ),
    )


class _Writing:
    """The runs of a batch written again, from opening and facts to the files' bytes."""

    def __init__(self, made: MadeEpoch, keys: CorpusKeys) -> None:
        self._made = made
        self._keyring = keys.keyring
        # A batch signs each of its receipts once; framing one is not what `receipts` is about.
        self._framed = [self._frame() for _ in range(ROUNDS)]

    def receipts(self) -> None:
        """Receipts and envelopes."""
        self._write(self._framed.pop())

    def whole(self) -> None:
        """Tickets too; manifest and checkpoint are shared by all."""
        batch = self._frame()
        for document in batch.framing():
            if isinstance(document.body, Ticket):
                write_document(document)
        self._write(batch)

    def _frame(self) -> Batch:
        anchor = None if self._made.anchor is None else self._made.anchor.token_digest()
        return Batch(self._made.manifest, self._keyring, anchor=anchor)

    def _write(self, batch: Batch) -> None:
        for run in self._made.batch.runs:
            written = batch.receipt(run.opening, run.run.facts(self._made.manifest.disclosed))
            write_document(written.receipt)
            if written.envelope is not None:
                write_document(written.envelope)


def _checking(transactions: Sequence[Transaction], keys: CorpusKeys) -> Callable[[], None]:
    """Receipts read, digested, and their signatures verified, one by one."""
    receipts = [write_document(transaction.receipt) for transaction in transactions]

    def work() -> None:
        for raw in receipts:
            reading = read_whole(raw)
            _, message = object_digest_of(reading)
            if signature_fault(reading.document, keys.keyring.public, message=message) is not None:
                raise ValueError("a bad signature in the benchmark")

    return work


def _proven(made: MadeEpoch, keys: CorpusKeys) -> tuple[ProvenAnchor, ...]:
    """The anchor, proven before: that is a matter of the batch, and not of one transaction."""
    if made.anchor is None:
        return ()
    outcome = prove(made.anchor, keys.authority.trust())
    return (outcome,) if isinstance(outcome, ProvenAnchor) else ()


def _transactions(made: MadeEpoch) -> list[Transaction]:
    tickets = {d.body.assignment: d for d in made.documents if isinstance(d.body, Ticket)}
    found = []
    for run in made.batch.runs:
        if run.written.envelope is None:
            raise ValueError("a run without its envelope in the benchmark")
        found.append(
            Transaction(tickets[run.assignment], run.written.receipt, run.written.envelope, run.opening)
        )
    return found


def _sizes(made: MadeEpoch) -> None:
    kinds = (("receipt", Receipt, 2.64), ("envelope", Envelope, 6.21), ("ticket", Ticket, 1.05))
    rows, whole = [], 0.0
    for name, kind, paper in kinds:
        sizes = [len(write_document(d)) for d in made.documents if isinstance(d.body, kind)]
        whole += sum(sizes) / len(sizes) / 1000
        rows.append((name, f"{sum(sizes) / len(sizes) / 1000:.2f}", f"{paper:.2f}"))
    print_table("Bytes of a transaction, KB", ("", "ours", "paper"), [*rows, ("all", f"{whole:.2f}", "9.90")])


def _corpus(keys: CorpusKeys) -> None:
    batches = [make_epoch(epoch, keys).deliveries() for epoch in retrospective_epochs(keys.seed)]
    receipts = sum(d.path.startswith("receipts/") for deliveries in batches for d in deliveries)

    def verdicts() -> None:
        for deliveries in batches:
            verify(deliveries, keys.keyring.public, domains=(DOMAIN,))

    times = interleaved(5, verdicts)
    seconds = min(times[0])
    print_table(
        f"Verdicts on {receipts:,} receipts in six batches, one process",
        ("", "s", "goal", "µs each"),
        [("verify, with replay", f"{seconds:.2f}", "< 2", f"{seconds / receipts * 1e6:.0f}")],
    )
