"""`agentbeat controller check`: the command line, and how long work shows that it goes on."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentbeat_controller.environments.base import Environment, Profile

    from .canaries import CanaryCall
    from .findings import ProfileResult

__all__ = ["DESCRIPTION", "EPILOG", "configure", "run"]

DESCRIPTION: Final = """\
Holds a catalogue to its own ground truths: they must pass, an idle Agent must not, and neither should a
ground truth with a call left out or an argument altered; an attack must be seen, and only where there is
one. Then starts a Controller on the environment and has `agentbeat conformance` judge it by the CTL rules.

A staging system is prepared and used for it, as runs would. Nothing else may use it meanwhile."""

EPILOG: Final = """\
exit codes:
  0  everything was tried and holds
  1  a fault or a weakness was found
  2  a wrong command line, or no such environment
  3  nothing was found, and something could not be tried, such as a profile without a ground truth

examples:
  agentbeat controller check
  agentbeat controller check --environment shop:environment --profile shop-refund --json -
"""

_USAGE: Final = 2
#: Seconds between two lines of progress where there is no terminal.
_BETWEEN_LINES: Final = 15.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--profile", action="append", default=[], metavar="ID", help="this profile only; repeatable")
    add("--json", metavar="FILE", help="the report as JSON; - is standard output, in place of the table")
    add("--no-conformance", action="store_true", help="leave the CTL rules out")


def run(args: argparse.Namespace, environment: Environment) -> int:
    """Check a catalogue; the exit code."""
    unknown = [name for name in args.profile if name not in environment.profiles]
    if unknown:
        print(f"agentbeat controller: {unknown[0][:100]}: the catalogue has no such profile", file=sys.stderr)
        return _USAGE
    chosen = [
        profile for name, profile in environment.profiles.items() if not args.profile or name in args.profile
    ]
    # A tool's failure is a finding here; its traceback would hide the others.
    logging.getLogger("agentbeat.controller").setLevel(logging.CRITICAL)
    from .conformance import try_conformance
    from .players import PlayError
    from .reports import Report

    progress = _Progress()
    try:
        results, canary = asyncio.run(_check(environment, chosen, progress))
    except PlayError as error:
        print(f"agentbeat controller: {error}", file=sys.stderr)
        return _USAGE
    conformance = None
    if not args.no_conformance:
        progress.say("the CTL rules")
        profile_id = args.profile[0] if len(args.profile) == 1 else None
        conformance = try_conformance(args.environment, canary=canary, profile_id=profile_id)
    progress.end()
    report = Report(environment=environment.name, profiles=tuple(results), conformance=conformance)
    document = json.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n"
    if args.json == "-":
        sys.stdout.write(document)
        return report.exit_code
    if args.json is not None:
        Path(args.json).write_text(document, encoding="utf-8")
    print(report.as_text(coloured=_coloured()))
    return report.exit_code


async def _check(
    environment: Environment, chosen: Sequence[Profile], progress: _Progress
) -> tuple[list[ProfileResult], CanaryCall | None]:
    from .canaries import canary_call
    from .oracle_checks import ProfileChecker
    from .players import player_on

    async with player_on(environment) as player:
        results = []
        for number, profile in enumerate(chosen, 1):
            progress.say(f"{number} of {len(chosen)}, {profile.profile_id}, {player.plays} runs played")
            results.append(await ProfileChecker(environment, player, profile).check())
        return results, await canary_call(environment, player, list(chosen))


def _coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


class _Progress:
    """One line that is written over on a terminal; a line now and then elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = time.monotonic()

    def say(self, text: str) -> None:
        """What is being done now."""
        if self._terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        elif time.monotonic() - self._last > _BETWEEN_LINES:
            self._last = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
