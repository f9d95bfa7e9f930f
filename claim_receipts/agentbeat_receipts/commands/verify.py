"""`agentbeat claims verify`: a verdict on every claim of a bundle.

Three things are asked of it: are bytes, signatures and chain sound; did everything that was promised arrive;
does every number come out again from the evidence. Nothing is believed because it is stored. Private evidence
is in envelopes: without --auditor-key what needs it is Inconclusive, while coverage and C2 still stand.

Public keys, roots and block headers are yours to bring: get PUBLIC.json on another way than the bundle. The
verification is pure: no network, no clock.

exit codes:
  0  whatever is claimed passes (a claim without a contract, I_C, and coverage below CR-3 are not claimed)
  1  something is Invalid: it is contradicted by what is on record
  2  nothing was verified: a wrong command line, or a file that cannot be used
  3  nothing is Invalid, but something claimed is Inconclusive: evidence has not arrived or is not open

examples:
  agentbeat claims verify claim --keyring public.json --tsa-root tsa.pem
  agentbeat claims verify claim.tar --keyring public.json --auditor-key auditor.key --html report.html
  agentbeat claims verify claim --keyring public.json --json - | jq .outcome
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from agentbeat_receipts.commands.options import STANDARD_OUTPUT, add_reports, probe_reports, write_report
from agentbeat_receipts.commands.verifying import add_verification, verified

__all__ = ["HELP", "configure", "run"]

HELP: Final = "verify a bundle: bytes, coverage, and every claim"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("bundle", metavar="BUNDLE", type=Path, help="a folder, or a tar of it")
    add_verification(parser, required=True)
    add_reports(parser)


def run(args: argparse.Namespace) -> int:
    """Verify, and write what was asked for; the exit code is the outcome's."""
    from agentbeat_receipts.reports.html import to_html
    from agentbeat_receipts.reports.json_report import to_json
    from agentbeat_receipts.reports.outcomes import outcome_of
    from agentbeat_receipts.reports.table import render_table

    probe_reports(args)
    report = verified(args)
    if args.json is not None:
        write_report(args.json, to_json(report).encode(), force=args.force)
    if args.html is not None:
        write_report(args.html, to_html(report).encode(), force=args.force)
    if STANDARD_OUTPUT not in (args.json, args.html):
        from rich.console import Console

        render_table(report, Console())
    return int(outcome_of(report).code)
