"""`agentbeat conformance core`: hostile Targets, State Controllers and judges against a Core.

Runs the given command once for each scenario, with an eval-run request on standard input, and judges the
result on its standard output and everything that it asked for on the way. Nothing leaves this machine.

example:
  agentbeat conformance core --command "agentbeat eval-run"
  agentbeat conformance core --command "./my-core eval-run" --only receipt --only "core.evidence.ev-07*"
"""

from __future__ import annotations

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    del parser


def run(args: argparse.Namespace) -> int:
    """Run."""
    del args
    return 0
