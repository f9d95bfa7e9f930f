"""`agentbeat controller check`: the command line."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentbeat_controller.environments.base import Environment, Profile

    from .canaries import CanaryCall
    from .findings import ProfileResult
    from .progress import Progress
    from .reports import Report

__all__ = ["DESCRIPTION", "EPILOG", "configure", "run"]

DESCRIPTION: Final = """\
Holds a catalogue to its own ground truths: they must pass, an idle Agent must not, and neither should a
ground truth with a call left out or an argument altered; an attack must be seen, and only where there is
one. Then starts a Controller on the environment and has `agentbeat conformance` judge it by the CTL rules.

What the profile itself names as a weakness is listed as known, and does not count against it.

A staging system is prepared and used for it, as runs would. Nothing else may use it meanwhile."""

EPILOG: Final = """\
exit codes:
  0    everything was tried and holds, but for what the catalogue knows of
  1    a fault or a weakness was found
  2    a wrong command line, or no such environment
  3    nothing was found, and something could not be tried, such as a profile without a ground truth
  130  Ctrl-C; what was found until then is printed

examples:
  agentbeat controller check
  agentbeat controller check --environment shop:Shop --profile shop-refund --json -
  agentbeat controller check --environment agentdojo --profile 'agentdojo-*-banking-*' --no-conformance
"""

_USAGE: Final = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add(
        "--profile",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only profiles of this id, or of this shell pattern; repeatable",
    )
    add("--json", metavar="FILE", help="the report as JSON; - is standard output, in place of the table")
    add("--no-conformance", action="store_true", help="leave the CTL rules out")


def run(args: argparse.Namespace, environment: Environment) -> int:
    """Check a catalogue; the exit code."""
    problem = _problem(args, environment)
    if problem is not None:
        print(f"agentbeat controller: {problem}", file=sys.stderr)
        return _USAGE
    # A tool's failure is a finding here; its traceback would hide the others.
    logging.getLogger("agentbeat.controller").setLevel(logging.CRITICAL)
    from .players import PlayError
    from .progress import Progress

    progress = Progress(sys.stderr)
    try:
        report = _report(args, environment, progress)
    except PlayError as error:
        print(f"agentbeat controller: {error}", file=sys.stderr)
        return _USAGE
    finally:
        progress.end()
    _print(report, args.json)
    return report.exit_code


def _problem(args: argparse.Namespace, environment: Environment) -> str | None:
    """What is wrong with the command line; found now, and not when everything has been played."""
    for pattern in args.profile:
        if not any(fnmatchcase(name, pattern) for name in environment.profiles):
            return f"{pattern[:100]}: the catalogue has no such profile"
    if args.json not in (None, "-"):
        try:
            Path(args.json).open("a").close()
        except OSError as error:
            return f"{args.json}: {error.strerror}"
    return None


def _report(args: argparse.Namespace, environment: Environment, progress: Progress) -> Report:
    from .conformance import try_conformance
    from .reports import Report

    chosen = [
        profile
        for name, profile in environment.profiles.items()
        if not args.profile or any(fnmatchcase(name, pattern) for pattern in args.profile)
    ]
    results: list[ProfileResult] = []
    conformance, interrupted = None, False
    try:
        with _interrupted_at_once():
            canary = asyncio.run(_check(environment, chosen, progress, results))
        if not args.no_conformance:
            progress.say("the CTL rules")
            profile_id = chosen[0].profile_id if len(chosen) == 1 else None
            conformance = try_conformance(args.environment, canary=canary, profile_id=profile_id)
    except KeyboardInterrupt:
        interrupted = True
    return Report(
        environment=environment.name,
        profiles=tuple(results),
        conformance=conformance,
        interrupted=interrupted,
    )


@contextmanager
def _interrupted_at_once() -> Iterator[None]:
    """Ctrl-C ends whatever is being waited for: asyncio's own handler lets a system that hangs hang on."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # whoever has set another, or has it ignored, has a reason
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


async def _check(
    environment: Environment, chosen: Sequence[Profile], progress: Progress, results: list[ProfileResult]
) -> CanaryCall | None:
    """Check the profiles one after another.

    Args:
        results: takes in what is done: all of it, or what there was time for.
    """
    from .canaries import canary_call
    from .oracle_checks import ProfileChecker
    from .players import player_on

    async with player_on(environment) as player:
        for number, profile in enumerate(chosen, 1):
            progress.part(number, len(chosen), profile.profile_id)
            results.append(await ProfileChecker(environment, player, profile).check())
        return await canary_call(environment, player, list(chosen))


def _print(report: Report, json_file: str | None) -> None:
    from .report_texts import report_text

    document = json.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n"
    if json_file == "-":
        sys.stdout.write(document)
        return
    if json_file is not None:
        Path(json_file).write_text(document, encoding="utf-8")
    print(report_text(report, coloured=_coloured()))


def _coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
