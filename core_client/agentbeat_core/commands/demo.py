"""`agentbeat demo`: evaluate a set of cases on the reference servers.

Starts the reference Targets, two State Controllers and the rule judge on this machine, evaluates every case
at L1, L2 or L3, prints a table, writes one eval-run-response-v1 for each run, and stops everything.

exit codes:
  0  every run came out as its case expects
  1  one did not
  2  the folder for results cannot be used
  4  a server failed; the message says which, with its last lines

example:
  agentbeat demo --out results
  jq '.evaluation.metrics.overall' results/results/refund-full-gullible-l3.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "evaluate a set of cases on the reference servers and print the table"
#: The demo is one process of each room.
EXTRA: Final = "all"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="for results, requests and the registry; new or empty (default: a new one in agentbeat-demo/)",
    )
    add("--json", action="store_true", help="print one JSON document instead of the table")
    add("--first-port", type=_port, metavar="PORT", help="take ports from here on (default: free ones)")
    add(
        "--start-seconds",
        type=float,
        default=60.0,
        metavar="N",
        help="how long the servers may take to start (default: %(default)g)",
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**16):
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the demo; the exit code."""
    from agentbeat_core.demo import DemoOptions, run_demo

    return run_demo(
        DemoOptions(
            out=args.out,
            as_json=args.json,
            first_port=args.first_port,
            start_seconds=args.start_seconds,
        )
    )
