"""`agentbeat eval-batch`: run every case of a plan under every arm, with a claim receipt of each run.

Signs the manifest, a ticket for every run and a checkpoint before anything is invoked, then writes a signed
receipt and an encrypted opening as each run ends, and at last a closing record. `agentbeat claims verify`
recomputes from the bundle whatever is reported.

Where a time anchor is to show that all of this was promised first, stop after the manifest:

  agentbeat eval-batch plan.json --receipts keys --out claim --manifest-only
  agentbeat claims anchor fetch claim URL --tsa-root tsa.pem
  agentbeat eval-batch plan.json --receipts keys --out claim --resume

CLAIM.private, beside the bundle and for its owner only, keeps the salt of the cases and the journal of all
attempts. An interrupted batch goes on with --resume; an attempt that was begun and did not end is listed as
`interrupted`. Left as it is, the bundle verifies as far as it goes, and its coverage as incomplete.

`agentbeat claims keygen` makes a keyring, `agentbeat schema eval-batch-plan-v1` prints the schema of a plan.

exit codes:
  0  every run has its receipt, and the batch is closed (--manifest-only: the manifest is signed)
  2  refused: plan, keys, bundle, anchor or preflight; nothing was called
  4  a fault of the kit itself
  130, 143  interrupted, terminated; the environment was given back
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_core.commands.eval_run import add_registry, registry_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentbeat_core.core import Core
    from agentbeat_core.judge.client import Judge
    from agentbeat_core.receipts import BatchOutcome, BatchRun, BatchStore, Operator, PreparedBatch
    from agentbeat_core.registry import TargetRegistry
    from agentbeat_protocol.evaluation import EvalRunResponse
    from agentbeat_receipts.objects import TimeAnchor

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "run a batch of cases with claim receipts"
#: Core runs the cases, the receipts room signs.
EXTRA: Final = "all"

_REFUSED: Final = 2
_HARNESS: Final = 4
_TERMINATED: Final = 143


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("plan", metavar="PLAN", type=Path, help="the plan (eval-batch-plan-v1)")
    add("--receipts", metavar="KEYRING", type=Path, required=True, help="the keys of both authorities")
    add("--out", metavar="BUNDLE", type=Path, required=True, help="the bundle's folder; new, or --resume")
    add("--anchor", metavar="TOKEN", type=Path, help="a time anchor over the manifest, for tickets to cite")
    add("--manifest-only", action="store_true", help="sign the manifest, print its digest, run nothing")
    add("--resume", action="store_true", help="go on with a batch that was begun")
    add("--results", metavar="FOLDER", type=Path, help="write each attempt's eval-run-response-v1 there")
    add_registry(parser)


def run(args: argparse.Namespace) -> int:
    """Run the batch; the exit code."""
    from agentbeat_core.commands.documents import say
    from agentbeat_core.receipts import BatchError, ReplayDiffersError
    from agentbeat_core.refusals import RefusedError
    from agentbeat_protocol import ProtocolError

    try:
        return _run(args)
    except RefusedError as error:
        say(f"agentbeat eval-batch: refused: {error.failure.code}: {error.failure.message}")
    except (BatchError, ProtocolError) as error:
        say(f"agentbeat eval-batch: refused: {error}")
    except OSError as error:
        say(f"agentbeat eval-batch: {error.filename or args.out}: {error.strerror}")
        return _HARNESS
    except ReplayDiffersError as error:
        say(f"agentbeat eval-batch: a result is not what its evidence gives, please report it: {error}")
        return _HARNESS
    return _REFUSED


def _run(args: argparse.Namespace) -> int:
    from agentbeat_core.judge.client import ChatJudge, judge_from_environment
    from agentbeat_core.receipts import (
        BatchError,
        BatchStore,
        load_operator,
        prepare_batch,
        read_anchor,
        read_batch_plan,
    )

    try:
        plan = read_batch_plan(args.plan.read_bytes())
    except OSError as error:
        raise BatchError(f"plan: {args.plan}: {error.strerror}") from None
    registry, judge, operator = registry_of(args), judge_from_environment(), load_operator(args.receipts)
    model = judge.model if isinstance(judge, ChatJudge) else None
    # Before a folder is made for it: a batch that would be refused leaves nothing behind.
    prepare_batch(plan, registry, salt=bytes(32), judge_model=model)
    with BatchStore(args.out, resume=args.resume) as store:
        prepared = prepare_batch(plan, registry, salt=store.salt, judge_model=model)
        if args.manifest_only:
            return _manifest_only(prepared, operator, store)
        anchor = None if args.anchor is None else read_anchor(args.anchor, prepared.manifest)
        return _evaluate(args, prepared, operator, store, registry, judge, anchor)


def _manifest_only(prepared: PreparedBatch, operator: Operator, store: BatchStore) -> int:
    from agentbeat_core.commands.documents import say
    from agentbeat_core.receipts import sign_manifest

    sign_manifest(prepared, operator, store)
    print(prepared.manifest.digest())
    runs = len(prepared.manifest.assignments)
    say(f"agentbeat eval-batch: the manifest of {runs} runs is signed; --resume runs them")
    return 0


def _evaluate(
    args: argparse.Namespace,
    prepared: PreparedBatch,
    operator: Operator,
    store: BatchStore,
    registry: TargetRegistry,
    judge: Judge,
    anchor: TimeAnchor | None,
) -> int:
    from rich.console import Console

    from agentbeat_core.commands.documents import say
    from agentbeat_core.core import Core
    from agentbeat_core.demo.progress import progress_on
    from agentbeat_core.receipts import BatchRun

    core = Core(registry, judge=judge)
    with progress_on(Console(stderr=True)) as progress:
        batch = BatchRun(
            prepared,
            evaluator=core,
            signer=operator,
            store=store,
            redactor=registry.redactor(),
            progress=progress,
            on_response=_writer(args.results),
        )
        outcome = _until_told(core, batch, anchor)
    if outcome is None:
        say(f"agentbeat eval-batch: terminated; --resume goes on with {args.out}")
        return _TERMINATED
    say(f"agentbeat eval-batch: {_summary(outcome)}; {args.out} is closed")
    if outcome.secrets:
        say(f"warning: {outcome.secrets} attempts have a secret of the registry in their encrypted evidence")
    return 0


def _until_told(core: Core, batch: BatchRun, anchor: TimeAnchor | None) -> BatchOutcome | None:
    """The outcome; None when the process was asked to end. Then, too, the environment was given back."""
    import asyncio
    import signal
    import threading

    async def evaluate() -> BatchOutcome | None:
        async with core:
            running = asyncio.create_task(batch.run(anchor=anchor))
            # Only the main thread is sent signals; a program that embeds the command has its own ways.
            if threading.current_thread() is threading.main_thread():
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
            try:
                return await running
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                return None

    return asyncio.run(evaluate())


def _writer(folder: Path | None) -> Callable[[str, int, EvalRunResponse], None]:
    """Writes results, where they are wanted."""
    if folder is None:
        return lambda *_: None
    folder.mkdir(parents=True, exist_ok=True)

    def write(assignment: str, attempt: int, response: EvalRunResponse) -> None:
        path = folder / f"{assignment}-{attempt}.json"
        path.write_text(response.model_dump_json(indent=2) + "\n", encoding="utf-8")

    return write


def _summary(outcome: BatchOutcome) -> str:
    before = f" ({outcome.before} before)" if outcome.before else ""
    return f"{outcome.before + outcome.runs} runs{before}, {outcome.harness_errors} harness errors"
