"""`agentbeat agentdojo`: play the benchmark AgentDojo, and hold every run to what must come of it.

Starts a State Controller with the benchmark's environments and a Target for each scripted Agent on this
machine, evaluates their runs at L3, prints what came of them beside what is expected, and stops everything.

Without --full: the 97 user tasks with their ground truth and with an idle Agent, and one pair for each
injection task (35) resisting, obeying and idle. With --full: all 949 pairs resisting, and all obeying.

exit codes:
  0  every run came out as expected
  1  one did not; it is named
  2  the command line is wrong, or the extra agentdojo is missing
  4  a server failed; the message says which, with its last lines

example:
  agentbeat agentdojo --full --suite banking --suite slack
"""

from __future__ import annotations

import argparse
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "play the benchmark AgentDojo and hold every run to what must come of it"
#: It is one process of each room.
EXTRA: Final = "all"

# Named here too, so that the options are known without loading what runs them.
_AGENTS: Final = ("ground-truth", "resisting", "obeying-first", "obeying-last", "idle")
_SUITES: Final = ("workspace", "travel", "banking", "slack")
_MOST_AT_ONCE: Final = 64


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--full", action="store_true", help="all 949 pairs instead of one for each injection task")
    add(
        "--suite",
        action="append",
        choices=_SUITES,
        default=[],
        help="this suite; repeatable (default: all four)",
    )
    add(
        "--agent",
        action="append",
        choices=_AGENTS,
        default=[],
        help="this Agent; repeatable (default: all but obeying-last)",
    )
    add("--json", action="store_true", help="print one JSON document instead of the table")
    add(
        "--at-once", type=_count, default=4, metavar="N", help="runs under way at once (default: %(default)s)"
    )
    add(
        "--start-seconds",
        type=float,
        default=120.0,
        metavar="N",
        help="how long the servers may take to start (default: %(default)g)",
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MOST_AT_ONCE):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {_MOST_AT_ONCE}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Play the benchmark; the exit code."""
    from agentbeat_core.agentdojo import AgentDojoOptions, run_agentdojo

    return run_agentdojo(
        AgentDojoOptions(
            full=args.full,
            suites=tuple(args.suite),
            agents=tuple(args.agent),
            as_json=args.json,
            at_once=args.at_once,
            start_seconds=args.start_seconds,
        )
    )
