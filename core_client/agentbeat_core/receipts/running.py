"""Running a batch: every promised run in order, every attempt listed, a receipt as soon as one has ended.

    1. Manifest, time anchor, tickets and checkpoint are signed (`opening`). Only then is anybody invoked.
    2. Each assignment: attempts by the policy, each in the journal before it begins and when it has ended;
       then envelope and receipt.
    3. Report and closing record.

It may end at any moment. What was written stays and verifies as far as it goes; going on, the batch takes up
where it was. Before a receipt is signed the run is replayed from its opening, and the replay must give what
Core has published: a receipt never says what its evidence does not.

A campaign hooks in here: `BatchRun` asks nothing of Core but `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentbeat_core.credentials import Redactor
from agentbeat_core.demo.progress import Progress
from agentbeat_core.receipts.attempts import Ended, ended_of, holds_secret
from agentbeat_core.receipts.errors import ReplayDiffersError
from agentbeat_core.receipts.journals import Journal
from agentbeat_core.receipts.opening import begin_batch
from agentbeat_core.receipts.preparing import PreparedBatch
from agentbeat_core.receipts.reporting import report_bundle
from agentbeat_core.receipts.stores import BatchStore
from agentbeat_core.recordings import Recording
from agentbeat_core.runs import PhaseName
from agentbeat_protocol.evaluation import EvalRunRequest, EvalRunResponse
from agentbeat_receipts.batches import Batch
from agentbeat_receipts.claims import ClaimValue
from agentbeat_receipts.domains.agent_eval.batches import EvalRun, eval_facts, eval_opening, replayed_values
from agentbeat_receipts.keys import Signer
from agentbeat_receipts.objects import Assignment, Document, Receipt, TimeAnchor

__all__ = ["BatchOutcome", "BatchRun", "Evaluates"]


class Evaluates(Protocol):
    """Whoever runs a case once: `Core`."""

    async def evaluate(
        self,
        request: EvalRunRequest,
        *,
        on_phase: Callable[[PhaseName], None] | None = None,
        recording: Recording | None = None,
    ) -> EvalRunResponse:
        """The result of one run; `recording` takes in its very bytes."""
        ...


@dataclass(slots=True)
class BatchOutcome:
    """How a batch ended.

    Attributes:
        runs: the receipts that were written now.
        before: those that were there before.
        harness_errors: how many of all ended without an observation of the Agent.
        secrets: how many attempts have a secret of the registry in their evidence.
    """

    runs: int = 0
    before: int = 0
    harness_errors: int = 0
    secrets: int = 0


class BatchRun:
    """One batch, from its first signature to its closing record.

    Args:
        evaluator: runs a case.
        signer: signs for both authorities.
        store: where everything is kept.
        redactor: knows the secrets of the registry.
        progress: is told how far the batch is.
        on_response: is given each attempt's result, with the assignment's id and the attempt's number.
    """

    def __init__(
        self,
        prepared: PreparedBatch,
        *,
        evaluator: Evaluates,
        signer: Signer,
        store: BatchStore,
        redactor: Redactor,
        progress: Progress,
        on_response: Callable[[str, int, EvalRunResponse], None] = lambda *_: None,
    ) -> None:
        self._prepared = prepared
        self._evaluator = evaluator
        self._signer = signer
        self._store = store
        self._redactor = redactor
        self._progress = progress
        self._on_response = on_response
        self._receipts: list[Receipt] = []
        self._outcome = BatchOutcome()

    async def run(self, *, anchor: TimeAnchor | None = None) -> BatchOutcome:
        """Run what has not been run.

        Args:
            anchor: what tickets are to cite, if they are not signed yet.

        Raises:
            BatchError: the bundle is of another batch, or was closed.
            ReplayDiffersError: a result is not what its evidence gives.
        """
        manifest = self._prepared.manifest
        batch, held = begin_batch(self._prepared, self._signer, self._store, anchor=anchor)
        self._receipts = list(held.receipts)
        self._outcome.before = len(self._receipts)
        done = {receipt.assignment for receipt in self._receipts}
        self._progress.runs(len(manifest.assignments))
        try:
            with Journal(self._store.journal) as journal:
                for entry in manifest.assignments:
                    if entry.assignment in done:
                        self._progress.done(_named(entry), "done before")
                        continue
                    self._sign(batch, entry, await self._attempts(entry, journal, batch))
        finally:
            # However it ends: what is there is reported, and says whether it is all.
            self._store.add(Document(body=report_bundle(manifest, self._receipts)))
            self._outcome.harness_errors = sum(receipt.status == "failed" for receipt in self._receipts)
        self._store.add(batch.close())
        return self._outcome

    async def _attempts(self, entry: Assignment, journal: Journal, batch: Batch) -> Sequence[Ended]:
        """Attempts until the policy says that one is terminal."""
        attempts = journal.attempts(entry.assignment)
        while not attempts or self._is_retried(attempts):
            number = len(attempts) + 1
            journal.started(entry.assignment, number)
            ended = await self._attempt(entry, attempts, batch.ticket_digest(entry.assignment))
            journal.ended(entry.assignment, number, ended)
            attempts.append(ended)
        return attempts

    def _is_retried(self, attempts: Sequence[Ended]) -> bool:
        policy = self._prepared.manifest.retry
        return attempts[-1].record.failure in policy.retry_on and len(attempts) < policy.max_attempts

    async def _attempt(self, entry: Assignment, before: Sequence[Ended], ticket: str | None) -> Ended:
        name, recording, number = _named(entry), Recording(), len(before) + 1
        run_id = self._prepared.run(entry).run_id(ticket, number)
        response = await self._evaluator.evaluate(
            self._prepared.request(entry.profile, entry.arm, run_id=run_id),
            on_phase=lambda phase: self._progress.phase(name, phase),
            recording=recording,
        )
        self._on_response(entry.assignment, number, response)
        self._outcome.secrets += holds_secret(recording, self._redactor)
        tier = self._prepared.plan.observation_tier
        return ended_of(response, recording, tier=tier, before=before)

    def _sign(self, batch: Batch, entry: Assignment, attempts: Sequence[Ended]) -> None:
        run, published = self._prepared.run(entry), attempts[-1].published
        opening = eval_opening(
            run,
            ticket=batch.ticket_digest(entry.assignment),
            case_id=self._prepared.cases[entry.profile].case_id,
            attempts=[ended.record for ended in attempts],
            reported=published,
        )
        values = replayed_values(run, opening)
        _check_published(run, published, values)
        written = batch.receipt(opening, eval_facts(run, values))
        receipt = written.receipt.body
        if written.envelope is None or not isinstance(receipt, Receipt):
            raise TypeError("got another document, expected a receipt with its envelope")
        # The envelope first: a receipt in the bundle always has its evidence beside it.
        self._store.add(written.envelope, written.receipt)
        self._receipts.append(receipt)
        self._outcome.runs += 1
        self._progress.done(_named(entry), _word(attempts))


def _check_published(run: EvalRun, published: dict[str, ClaimValue], replayed: dict[str, ClaimValue]) -> None:
    differing = [name for name, value in published.items() if replayed.get(name) != value]
    if differing:
        raise ReplayDiffersError(f"{run.entry.assignment}: {', '.join(differing)}")


def _named(entry: Assignment) -> str:
    return f"{entry.profile} {entry.arm} #{entry.replicate}"


def _word(attempts: Sequence[Ended]) -> str:
    ended = attempts[-1].record.failure or "completed"
    return ended if len(attempts) == 1 else f"{ended}, {len(attempts)} attempts"
