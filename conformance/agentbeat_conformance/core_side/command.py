"""`agentbeat conformance core`: hostile Targets, State Controllers and judges against a Core.

The command is run once for each scenario, with an eval-run request on its standard input. Judged are the
result on its standard output, and everything that it asked for on the way. Nothing leaves this machine.

    agentbeat conformance core --command "agentbeat eval-run"
    agentbeat conformance core --command "./my-core eval-run" --only receipt --only "core.evidence.ev-07*"
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentbeat_conformance.core_side.processes import CommandCore
    from agentbeat_conformance.core_side.runner import Core, ScenarioResult
    from agentbeat_conformance.core_side.scenarios import Scenario

__all__ = ["configure", "run"]

_STANDARD_OUTPUT: Final = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--command", metavar="CMD", help='reads a request and writes a result, such as "agentbeat eval-run"')
    add("--jobs", metavar="N", type=_count, default=2, help="how many runs at once (default: %(default)s)")
    add(
        "--deadline",
        metavar="SECONDS",
        type=_seconds,
        default=60.0,
        help="how long one run may take before it is ended (default: %(default)g)",
    )
    which = parser.add_argument_group("which scenarios (the positive controls that they need are always run)")
    which.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="a group, an id, its last part, or a pattern over ids; may be repeated or a list with commas",
    )
    which.add_argument("--skip", metavar="NAME", action="append", default=[], help="the same, to leave out")
    which.add_argument("--sample", metavar="N", type=_count, help="about so many, spread over the groups")
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("--list", action="store_true", help="the scenarios, what they serve and expect")
    shown.add_argument("--verbose", action="store_true", help="every scenario in the table")
    shown.add_argument("--json", metavar="FILE", help="the report as JSON; - is standard output")


def run(args: argparse.Namespace) -> int:
    """Run the scenarios; the exit code is an `ExitCode`."""
    from agentbeat_conformance.core_side.processes import CommandError
    from agentbeat_conformance.core_side.runner import core_verdict
    from agentbeat_conformance.outcomes import ExitCode

    scenarios = _chosen(args)
    if args.list:
        _list(scenarios)
        return ExitCode.CONFORMANT
    core = _core_of(args)
    try:
        results = _run(core, scenarios, args)
    except CommandError as error:
        _say(f"--command: {error}")
        return ExitCode.NOTHING_TESTED
    _report(results, args)
    return ExitCode.of(core_verdict(results))


def _chosen(args: argparse.Namespace) -> list[Scenario]:
    from agentbeat_conformance.commands.options import UsageError, names
    from agentbeat_conformance.core_side.groups import SCENARIOS
    from agentbeat_conformance.core_side.runner import chosen, sampled

    try:
        scenarios = chosen(SCENARIOS, only=names(args.only), skip=names(args.skip))
    except ValueError as error:
        raise UsageError(f"{error}; --list shows them") from None
    if not scenarios:
        raise UsageError("nothing is left of --only and --skip")
    return scenarios if args.sample is None else sampled(scenarios, args.sample)


def _core_of(args: argparse.Namespace) -> CommandCore:
    from agentbeat_conformance.commands.options import UsageError
    from agentbeat_conformance.core_side.processes import CommandCore, CommandError

    if not args.command:
        raise UsageError('expected --command CMD, such as --command "agentbeat eval-run"')
    try:
        return CommandCore(args.command)
    except CommandError as error:
        raise UsageError(f"--command: {error}") from None


def _run(core: Core, scenarios: list[Scenario], args: argparse.Namespace) -> list[ScenarioResult]:
    import asyncio

    from agentbeat_conformance.core_side.groups import CONTROLS
    from agentbeat_conformance.core_side.progress import progress_of
    from agentbeat_conformance.core_side.runner import planned, run_scenarios

    listed = planned(scenarios, CONTROLS)
    with progress_of(len(listed), jobs=args.jobs) as on_result:
        return asyncio.run(
            run_scenarios(
                core,
                scenarios,
                controls=CONTROLS,
                jobs=args.jobs,
                deadline=args.deadline,
                on_result=on_result,
            )
        )


def _list(scenarios: list[Scenario]) -> None:
    from rich.console import Console

    from agentbeat_conformance.core_side.tables import print_scenarios

    print_scenarios(scenarios, Console())


def _report(results: list[ScenarioResult], args: argparse.Namespace) -> None:
    from pathlib import Path

    from rich.console import Console

    from agentbeat_conformance.core_side.groups import SCENARIOS
    from agentbeat_conformance.core_side.json_report import report_of, to_json
    from agentbeat_conformance.core_side.tables import print_results

    if args.json is not None:
        text = to_json(report_of(results, command=args.command, scenarios=SCENARIOS))
        if args.json == _STANDARD_OUTPUT:
            sys.stdout.write(text)
            return
        Path(args.json).write_text(text, encoding="utf-8")
    print_results(results, Console(), command=args.command, verbose=args.verbose)


def _say(message: str) -> None:
    print(f"agentbeat conformance core: {message}", file=sys.stderr)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) > 0 and len(text) < 6):
        raise argparse.ArgumentTypeError("expected a whole number above 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError("expected a number of seconds above 0")
    return seconds
