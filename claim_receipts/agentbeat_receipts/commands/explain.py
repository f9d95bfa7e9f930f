"""`agentbeat claims explain`: what a reason or a claim means, or why a claim has its verdict.

  explain NAME            a reason, such as retry_shadowing; a claim, such as C2; a verdict, such as I_E;
                          a group of fields, such as T; integrity, coverage, openings or retries
  explain BUNDLE CLAIM    verifies the bundle; says why this claim has its verdict, and what to do about it

examples:
  agentbeat claims explain terminal_missing
  agentbeat claims explain claim C4 --keyring public.json --auditor-key auditor.key
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agentbeat_protocol import cut
from agentbeat_receipts.commands.options import UsageError, write_text
from agentbeat_receipts.commands.verifying import add_verification, verified

__all__ = ["HELP", "configure", "run"]

HELP: Final = "say what a reason or a claim means, or why a claim has its verdict"

_LONGEST: Final = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("names", metavar="NAME", nargs="+", help="one NAME, or BUNDLE and CLAIM")
    add_verification(parser, required=False)


def run(args: argparse.Namespace) -> int:
    """Print the explanation."""
    if len(args.names) > _LONGEST:
        raise UsageError(f"got {len(args.names)} names, expected NAME, or BUNDLE and CLAIM")
    lines = _of_bundle(args) if len(args.names) == _LONGEST else _of_name(args.names[0])
    write_text("\n".join(lines))
    return 0


def _of_name(name: str) -> list[str]:
    from agentbeat_receipts.domains import known_domains
    from agentbeat_receipts.reports.explanations import topic_lines, topics

    domains = tuple(known_domains().values())
    known = topics(domains)
    if name not in known:
        raise UsageError(f"there is nothing named {cut(name)} to explain{_near(name, known)}")
    return list(topic_lines(known[name], domains))


def _of_bundle(args: argparse.Namespace) -> list[str]:
    from agentbeat_receipts.reports.outcomes import judged
    from agentbeat_receipts.reports.reasoning import reasoning_lines

    bundle, name = args.names
    if args.keyring is None:
        raise UsageError("--keyring PUBLIC.json is needed to verify a bundle")
    args.bundle = Path(bundle)
    report = verified(args)
    known = judged(report)
    if name not in known:
        raise UsageError(f"the bundle has no claim {cut(name)}; it has {', '.join(known)}")
    return list(reasoning_lines(report, name))


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name[:64], known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
