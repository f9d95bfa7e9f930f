"""What a transaction costs here, in time and in bytes, on the prospective epoch.

    write a receipt                   its commitments, envelope and signature, as documents ready to be stored
    write a receipt and its ticket    and its ticket, with a share of manifest and checkpoint
    public check                      bytes, signatures, chain and coverage, without the auditor's key
    auditor check                     likewise with every envelope opened, and every claim replayed
    verdict on an epoch               from the sums of its transactions to verdicts, and the same with the
                                      replay that makes the sums; mean of all seven
    verify E1 to E6                   everything, from 1,392 receipts' files to the verdicts

The paper's figures are of another machine. Durations are the least of a few rounds, shared out over the
transactions; they are shown and judge nothing. A KB is 1,000 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Final, TypeVar

from agentbeat_receipts.batches import Batch
from agentbeat_receipts.claims.judging import judge
from agentbeat_receipts.claims.settling import settle
from agentbeat_receipts.claims.verifier import choose_domain
from agentbeat_receipts.corpus import MadeEpoch
from agentbeat_receipts.objects import Document, Envelope, Receipt, Ticket, write_document
from agentbeat_receipts.reproduction.paper import paper_figure
from agentbeat_receipts.reproduction.tables import Row, Table
from agentbeat_receipts.reproduction.verifying import Bench, Verified

__all__ = ["cost_table"]

_ROUNDS: Final = 5
_KINDS: Final = {"receipt": Receipt, "encrypted opening": Envelope, "ticket": Ticket}

ResultT = TypeVar("ResultT")


def cost_table(bench: Bench, prospective: Verified, all_epochs: Iterable[Verified]) -> Table:
    """Durations and sizes."""
    epochs = tuple(all_epochs)
    whole = sum(verified.nanoseconds for verified in epochs if verified is not prospective)
    found = [
        *_durations(bench, prospective),
        _verdicts(bench, epochs),
        ("verify E1 to E6", f"{whole / 1e9:.2f} s"),
        *_sizes(prospective),
    ]
    rows = tuple(Row(name, paper_figure("cost", name), ours, None) for name, ours in found)
    note = "measured in this run; the paper's machine is another one, and nothing is judged by these rows"
    return Table("cost", "Cost per transaction", rows, note)


def _durations(bench: Bench, prospective: Verified) -> Iterator[tuple[str, str]]:
    made, count = prospective.made, prospective.made.epoch.size
    framed, _ = _least(lambda: _framed(bench, made), rounds=_ROUNDS)
    written, _ = _least(lambda: _written(_framed(bench, made), made), rounds=_ROUNDS)
    yield "write a receipt", _micro(written - framed, count)
    yield "write a receipt and its ticket", _micro(written, count)
    public, _ = _least(lambda: bench.chain(prospective.deliveries, opened=False), rounds=_ROUNDS)
    yield "public check", _micro(public, count)
    audited, _ = _least(lambda: bench.report(prospective.deliveries), rounds=_ROUNDS)
    yield "auditor check", _micro(audited, count)


def _framed(bench: Bench, made: MadeEpoch) -> Batch:
    """Manifest, tickets and checkpoint, ready to be stored."""
    anchor = None if made.anchor is None else made.anchor.token_digest()
    batch = Batch(made.manifest, bench.keys.keyring, anchor=anchor)
    for document in batch.framing():
        write_document(document)
    return batch


def _written(batch: Batch, made: MadeEpoch) -> None:
    for run in made.batch.runs:
        written = batch.receipt(run.opening, run.run.facts(made.manifest.disclosed))
        write_document(written.receipt)
        if written.envelope is not None:
            write_document(written.envelope)


def _verdicts(bench: Bench, epochs: Sequence[Verified]) -> tuple[str, str]:
    judging = replaying = 0
    for verified in epochs:
        chain = verified.report.chain
        domain = choose_domain(chain.manifest, chain.opened.values(), bench.domains)
        duration, tally = _least(partial(settle, chain, domain), rounds=1)
        replaying += duration
        judging += _least(partial(judge, chain, tally, domain), rounds=1)[0]
    without, whole = (total / len(epochs) / 1e6 for total in (judging, judging + replaying))
    return "verdict on an epoch", f"{without:.2f} ms, with replay {whole:.2f} ms"


def _sizes(prospective: Verified) -> Iterator[tuple[str, str]]:
    documents = prospective.made.documents
    whole = 0.0
    for name, kind in _KINDS.items():
        mean = _mean_bytes(document for document in documents if isinstance(document.body, kind))
        whole += mean
        yield name, f"{mean / 1000:.2f} KB"
    yield "one transaction", f"{whole / 1000:.2f} KB"


def _mean_bytes(documents: Iterable[Document]) -> float:
    sizes = [len(write_document(document)) for document in documents]
    return sum(sizes) / len(sizes)


def _least(work: Callable[[], ResultT], *, rounds: int) -> tuple[int, ResultT]:
    """The least duration of some rounds in nanoseconds, and what the last one made."""
    durations = []
    for _ in range(rounds):
        started = perf_counter_ns()
        result = work()
        durations.append(perf_counter_ns() - started)
    return min(durations), result


def _micro(nanoseconds: int, count: int) -> str:
    return f"{nanoseconds / count / 1000:.0f} µs"
