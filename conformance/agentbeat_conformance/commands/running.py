"""A run against a live endpoint: the plan is announced, the checks go by, Ctrl-C ends them early."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import ssl
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agentbeat_conformance.catalogues import UnknownVersionError, load_catalogue
from agentbeat_conformance.commands.options import UsageError, names
from agentbeat_conformance.commands.reporting import expected_of, probe_outputs, report, say
from agentbeat_conformance.outcomes import ExitCode, Result
from agentbeat_conformance.plans import Plan, PlanError, make_plan
from agentbeat_conformance.requirements import SUITE_VERSION, Capability, Requirement, Tier
from agentbeat_conformance.runner import Interruption, Runner
from agentbeat_conformance.runs import Run
from agentbeat_conformance.server_commands import ShellCommands, answers
from agentbeat_conformance.transcript_records import Subject
from agentbeat_conformance.wires.sockets import SocketWire
from agentbeat_protocol import URLError

__all__ = ["Trial", "try_endpoint", "wire_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a sub-command has read off its command line.

    Attributes:
        capabilities: those that follow from its options; that of real connections goes without saying.
        secrets: the secrets, and `variables` where they came from, by the names of their markers.
    """

    tier: Tier
    subject: Subject
    wire: SocketWire
    capabilities: frozenset[Capability]
    secrets: Mapping[str, str]
    variables: Mapping[str, str]
    tasks: int = 0
    budget: int | None = None
    safe: bool = False
    write_command: str | None = None


def try_endpoint(trial: Trial, args: argparse.Namespace) -> ExitCode:
    """Run the suite and write the reports.

    Raises:
        UsageError: the options do not fit together.
    """
    expected = expected_of(args)
    probe_outputs(args)
    plan = _plan(trial, args)
    _announce(plan, trial)
    run = asyncio.run(_run(plan, trial, args))
    exit_code = report(run, args, expected=expected, variables=trial.variables)
    if not run.reached:
        why = f": {trial.wire.trouble}" if trial.wire.trouble else ""
        say(f"nothing was tested: {trial.subject.url} gave no answer{why}")
    return exit_code


def wire_of(args: argparse.Namespace) -> SocketWire:
    """The wire to the URL of the command line.

    Raises:
        UsageError: it is no URL of an endpoint, or the certificates cannot be read.
    """
    context = None
    if args.ca_file is not None:
        try:
            context = ssl.create_default_context(cafile=args.ca_file)
        except OSError as error:
            raise UsageError(f"--ca-file: {error}") from error
    try:
        return SocketWire(args.url, timeout=args.timeout, context=context)
    except URLError as error:
        # Not repeated as a whole: it may hold a password.
        raise UsageError(f"URL: got {error.got}, expected {error.expected}") from error


def _plan(trial: Trial, args: argparse.Namespace) -> Plan:
    version = args.catalogue or SUITE_VERSION
    try:
        return make_plan(
            trial.tier,
            catalogue=load_catalogue(version),
            version=version,
            only=names(args.only),
            skip=names(args.skip),
            capabilities=trial.capabilities | {Capability.SOCKET},
            tasks=trial.tasks,
            budget=trial.budget,
            safe=trial.safe,
        )
    except (PlanError, UnknownVersionError) as error:
        raise UsageError(str(error)) from error


def _announce(plan: Plan, trial: Trial) -> None:
    say(f"endpoint   {trial.subject.url}")
    say(f"catalogue  {plan.catalogue}, {plan.catalogue_digest}")
    left_out = f", {len(plan.left_out)} left out" if plan.left_out else ""
    say(f"plan       {len(plan.requirements)} requirements of {plan.tier}{left_out}")
    if plan.tier != "controller":
        bound = "none with --safe" if plan.safe else f"at most {plan.invocations}"
        say(f"           invocations of the Agent: {bound}")


async def _run(plan: Plan, trial: Trial, args: argparse.Namespace) -> Run:
    interruption = Interruption()
    try:
        runner = Runner(
            plan,
            trial.subject,
            wire=trial.wire,
            secrets=trial.secrets,
            commands=ShellCommands(
                restart=args.restart_command, write=trial.write_command, is_up=answers(trial.wire)
            ),
            progress=_Progress(len(plan.requirements)),
            interruption=interruption,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    with _ended_by_interrupt(interruption):
        return await runner.run()


@contextlib.contextmanager
def _ended_by_interrupt(interruption: Interruption) -> Iterator[None]:
    """Ctrl-C ends the checks and leads to a report of what was shown; a second one ends everything."""
    if threading.current_thread() is not threading.main_thread():
        # Signals go to the main thread, which somebody else has then.
        yield
        return
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        interruption.ask()
        loop.remove_signal_handler(signal.SIGINT)
        say("\nending after this request; Ctrl-C again ends at once")

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


class _Progress:
    """One line on a terminal that says which check is running."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._begun = 0
        self._shown = sys.stderr.isatty()

    def __call__(self, made: Requirement, result: Result | None) -> None:
        if not self._shown:
            return
        if result is None:
            self._begun += 1
            line = f"\r\x1b[K[{self._begun}/{self._total}] {made.id}"
        else:
            line = "\r\x1b[K" if self._begun == self._total else ""
        sys.stderr.write(line)
        sys.stderr.flush()
