"""`agentbeat eval-run`: run one case on one Target and score it.

Reads an eval-run request from standard input and writes an eval-run-response-v1 to standard output, also when
the run is refused or fails. Nothing is signed: where a stranger is to check what is reported,
`agentbeat eval-batch PLAN --receipts KEYRING` runs cases with a signed receipt of each run.

exit codes:
  0  completed
  1  completed, and a dimension named by --fail-on was decided bad
  2  refused in preflight, or no request; nothing was called
  3  the Target or the State Controller failed
  4  a fault of the kit itself

example:
  export AIBEAT_AGENT_TARGET_REGISTRY=registry.json
  agentbeat eval-run < request.json > result.json
  jq '.evaluation.metrics.utility, .evaluation.score' result.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentbeat_core.core import Core
    from agentbeat_core.registry import TargetRegistry
    from agentbeat_protocol.evaluation import EvalRunRequest, EvalRunResponse

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "run one case on one Target and score it"
EXTRA: Final = "core"

_TERMINATED: Final = 143


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    from agentbeat_core.commands.documents import add_fail_on

    add_registry(parser)
    add_fail_on(parser)


def add_registry(parser: argparse.ArgumentParser) -> None:
    """Add `--registry`."""
    parser.add_argument(
        "--registry",
        type=Path,
        metavar="FILE",
        help="the Target registry; by default AIBEAT_AGENT_TARGET_REGISTRY names it",
    )


def registry_of(args: argparse.Namespace) -> TargetRegistry:
    """The registry that the command line or the environment names.

    Raises:
        RefusedError: there is none that can be used.
    """
    from agentbeat_core.registry import TargetRegistry

    if args.registry is not None:
        return TargetRegistry.load(args.registry)
    return TargetRegistry.from_environment()


def run(args: argparse.Namespace) -> int:
    """Run the case of the request on standard input."""
    from agentbeat_core import responses
    from agentbeat_core.commands.documents import read_document, refuse_document, write_document
    from agentbeat_core.core import Core
    from agentbeat_core.judge.client import judge_from_environment
    from agentbeat_core.refusals import RefusedError
    from agentbeat_core.runs import Timeline
    from agentbeat_protocol import ProtocolError
    from agentbeat_protocol.evaluation import read_eval_run_request

    try:
        request = read_eval_run_request(read_document())
    except ProtocolError as error:
        return refuse_document("eval-run", error)
    try:
        core = Core(registry_of(args), judge=judge_from_environment())
    except RefusedError as error:
        response = responses.refused(request, Timeline(), error)
    else:
        ended = _evaluate(core, request)
        if ended is None:
            return _TERMINATED
        response = ended
    write_document(response)
    return _told(response, args.fail_on)


def _evaluate(core: Core, request: EvalRunRequest) -> EvalRunResponse | None:
    """The result; None when the process was asked to end. Then, too, the environment was given back."""
    import asyncio
    import signal
    import threading

    async def evaluate() -> EvalRunResponse | None:
        running = asyncio.create_task(core.evaluate(request))
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


def _told(response: EvalRunResponse, fail_on: tuple[str, ...]) -> int:
    """Say how it ended, in one line; the exit code."""
    from agentbeat_core.commands.documents import (
        COMPLETED,
        DIMENSION_FAILED,
        FAILED,
        HARNESS_ERROR,
        REFUSED,
        say,
        some_failed,
    )

    failure, evaluation = response.failure, response.evaluation
    if failure is not None:
        say(f"agentbeat eval-run: {response.eval_run.status}: {failure.code}: {failure.message}")
        if response.eval_run.status == "refused":
            return REFUSED
        return HARNESS_ERROR if failure.code == "harness_error" else FAILED
    if evaluation is None:
        raise ValueError("got a completed run without an evaluation")
    metrics = evaluation.metrics
    verdicts = ", ".join(
        f"{metric.dimension} {metric.verdict}"
        for metric in (metrics.utility, metrics.security, metrics.asr, metrics.overall)
    )
    observed = evaluation.negotiation.observed_tier or "nothing"
    asked = response.eval_run.observation_tier
    say(f"agentbeat eval-run: completed: {asked} asked, {observed} observed; {verdicts}")
    return DIMENSION_FAILED if some_failed(metrics, fail_on) else COMPLETED
