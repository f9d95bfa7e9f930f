"""`agentbeat controller check`: the command line.

The environment is played in a process of its own (`processes`): this one never loads it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from agentbeat_protocol import cut

if TYPE_CHECKING:
    from .plays import Plays
    from .progress import Progress
    from .reports import Report

__all__ = ["DESCRIPTION", "EPILOG", "configure", "run"]

DESCRIPTION: Final = """\
Holds a catalogue to its own ground truths: they must pass, an idle Agent must not, and neither should a
ground truth with a call left out or an argument altered; an attack must be seen, and only where there is
one. Then starts a Controller on the environment and has `agentbeat conformance` judge it by the CTL rules.

What the profile itself names as a weakness is listed as known, and does not count against it.

A staging system is prepared and used for it, as runs would. Nothing else may use it meanwhile. Whatever its
code does, raise, hang or end its process, is told as a finding."""

EPILOG: Final = """\
exit codes:
  0    everything was tried and holds, but for what the catalogue knows of
  1    a fault or a weakness was found
  2    a wrong command line, no environment that can be loaded, or no file for the report
  3    nothing was found, and something could not be tried, such as a profile without a ground truth
  130  Ctrl-C; what was found until then is printed

examples:
  agentbeat controller check
  agentbeat controller check --environment shop:Shop --profile shop-refund --json -
  agentbeat controller check --environment agentdojo --profile 'agentdojo-*-banking-*' --no-conformance
"""

_USAGE: Final = 2
#: Longer than anything that an environment should take, on any machine.
_STEP_SECONDS: Final = 60.0
_MOST_SECONDS: Final = 24 * 60 * 60
_LONGEST: Final = 1000


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
    add(
        "--step-seconds",
        type=_seconds,
        default=_STEP_SECONDS,
        metavar="N",
        help="what a step, such as a reset or a call, may take before it counts as hanging (%(default)g)",
    )
    add("--no-conformance", action="store_true", help="leave the CTL rules out")


def _seconds(text: str) -> float:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MOST_SECONDS):
        raise argparse.ArgumentTypeError(f"expected a number of seconds from 1 to {_MOST_SECONDS}")
    return float(text)


def run(args: argparse.Namespace) -> int:
    """Check a catalogue; the exit code."""
    from .progress import Progress

    progress = Progress(sys.stderr)
    try:
        report = _report(args, progress)
    except _UsageError as error:
        return _complain(str(error))
    finally:
        progress.end()
    return _print(report, args.json)


class _UsageError(Exception):
    """Nothing can be checked; the message says why."""


def _report(args: argparse.Namespace, progress: Progress) -> Report:
    from .conformance import not_run, try_conformance
    from .plays import Plays
    from .reports import Report

    plays = Plays()
    conformance, interrupted = None, False
    try:
        _play(args, plays, progress)
        if not args.no_conformance:
            progress.say("the CTL rules")
            if plays.complete:
                profile_id = plays.profile_ids[0] if len(plays.profile_ids) == 1 else None
                conformance = try_conformance(args.environment, canary=plays.canary, profile_id=profile_id)
            else:
                conformance = not_run("the profiles could not be tried to their end")
    except KeyboardInterrupt:
        interrupted = True
    return Report(
        environment=plays.environment or args.environment,
        profiles=tuple(plays.results if interrupted else plays.all_results()),
        catalogue=tuple(plays.findings),
        conformance=conformance,
        interrupted=interrupted,
    )


def _play(args: argparse.Namespace, plays: Plays, progress: Progress) -> None:
    from .processes import PlayingProcess

    with PlayingProcess(args.environment, args.profile, seconds=args.step_seconds) as process:
        for message in process.messages():
            plays.take(message)
            if plays.problem is not None:
                raise _UsageError(plays.problem)
            if "environment" in message:
                _check_file(args.json)
            if "profile" in message:
                progress.part(len(plays.results) + 1, len(plays.profile_ids), cut(message["profile"], 100))


def _check_file(json_file: str | None) -> None:
    """Whether the report can be written: found out now, and not when everything has been played."""
    if json_file in (None, "-"):
        return
    try:
        Path(json_file).open("a").close()
    except OSError as error:
        raise _UsageError(f"{json_file}: {error.strerror}") from None


def _print(report: Report, json_file: str | None) -> int:
    """Write the report; its exit code, or 2 where its file cannot be written."""
    from .report_texts import report_text

    # Plain ASCII: what does not print in a name is escaped here too.
    document = json.dumps(report.as_json(), indent=2) + "\n"
    try:
        _write(document if json_file == "-" else f"{report_text(report, coloured=_coloured())}\n")
    except BrokenPipeError:
        # The reader has seen enough; at the end Python would flush once more, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if json_file not in (None, "-"):
        try:
            Path(json_file).write_text(document, encoding="utf-8")
        except OSError as error:
            return _complain(f"{json_file}: {error.strerror}")
    return report.exit_code


def _write(text: str) -> None:
    out: TextIO = sys.stdout
    coding = out.encoding or "utf-8"
    out.write(text.encode(coding, "backslashreplace").decode(coding))
    out.flush()


def _complain(message: str) -> int:
    print(f"agentbeat controller: {cut(message, _LONGEST)}", file=sys.stderr)
    return _USAGE


def _coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
