"""`agentbeat claims reproduce`: make a corpus, verify it, and print the paper's tables beside ours.

The corpus is generated from the seed at the paper's counts. It is not the authors' data, which are not
public. Counts, the grid of verdicts, replay, controls, what each claim needs, and what survives when
something is kept back are computed by the verifier from the bundles' files, and held against
predictions.json, whose digest is printed before anything is made. Durations and sizes are measured and judge
nothing. `agentbeat claims schema claims-reproduction-v1` is the schema of --json.

exit codes:
  0  everything that is judged came out as predicted
  1  something did not; its row is marked
  2  a wrong command line, or a file or folder that is there already

example:
  agentbeat claims reproduce
  agentbeat claims reproduce --seed 7 --out corpus --json reproduction.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_receipts.commands.options import STANDARD_OUTPUT, add_seed, new_file, say, write_report

if TYPE_CHECKING:
    from agentbeat_receipts.reproduction.verifying import Verified

__all__ = ["HELP", "configure", "run"]

HELP: Final = "make a corpus, verify it, and print the paper's tables beside ours"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_seed(parser)
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="write the corpus here too")
    parser.add_argument(
        "--json", metavar="FILE", help="the tables as JSON; - is standard output, in place of the tables"
    )


def run(args: argparse.Namespace) -> int:
    """Reproduce, and write what was asked for."""
    from agentbeat_receipts.commands.progress import progress
    from agentbeat_receipts.corpus import OURS_AT_LENGTH, CorpusWriter
    from agentbeat_receipts.reproduction import published_predictions, reproduce, to_json

    if args.json not in (None, STANDARD_OUTPUT):
        new_file(args.json)
    writer = None if args.out is None else CorpusWriter(args.out, args.seed)
    predictions = published_predictions()
    say(OURS_AT_LENGTH)
    say(f"predictions: {predictions.digest}")

    def on_verified(verified: Verified) -> None:
        if writer is not None:
            writer.add(verified.place, verified.made)

    with progress() as step:
        result = reproduce(args.seed, predictions=predictions, on_step=step, on_verified=on_verified)
    if writer is not None:
        writer.close()
    if args.json is not None:
        write_report(args.json, to_json(result).encode())
    if args.json != STANDARD_OUTPUT:
        from rich.console import Console

        from agentbeat_receipts.reproduction import print_reproduction

        print_reproduction(result, Console(highlight=False))
    return 0 if result.as_predicted else 1
