"""`agentbeat conformance self-test`: measure the suite itself, mutant by mutant."""

from __future__ import annotations

import argparse
from pathlib import Path

from agentbeat_conformance.commands.options import UsageError

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--jobs", metavar="N", type=int, default=2, help="how many processes (default: %(default)s)")
    add("--only", metavar="NAME", action="append", default=[], help="only this mutant; may be repeated")
    docs = parser.add_mutually_exclusive_group()
    docs.add_argument("--write-docs", metavar="FILE", type=Path, help="write the kill matrix into this page")
    docs.add_argument("--check-docs", metavar="FILE", type=Path, help="fail if this page has another one")


def run(args: argparse.Namespace) -> int:
    """Run the self-test; the exit code."""
    from agentbeat_conformance.commands.measuring import measure

    if args.jobs < 1:
        raise UsageError(f"got {args.jobs} jobs, expected 1 or more")
    if args.only and (args.write_docs or args.check_docs):
        raise UsageError("the page shows the whole matrix: --only does not go with it")
    return measure(args)
