"""`agentbeat claims corpus`: a corpus of bundles to verify, made from a seed.

Six retrospective epochs with 1,392 receipts, a prospective one with 30, repaired twins and controls, each a
bundle; with the keys and the root to check them. It has the counts of the corpus of arXiv 2609.01992 and is
not the authors' data: it is generated here, by sellers of our own, and says so in every title. No verdict is
stored in it. OUT is made; its README.md says how to go on.

The path of each bundle is printed as it is written, with its receipts and its manifest's digest.

example:
  agentbeat claims corpus corpus-1 --seed 1
  agentbeat claims verify corpus-1/E1 --keyring corpus-1/keys
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_receipts.commands.options import add_seed, say, write_text

if TYPE_CHECKING:
    from agentbeat_receipts.corpus import MadeEpoch

__all__ = ["HELP", "configure", "run"]

HELP: Final = "make a corpus of bundles from a seed, at the paper's counts; it is ours, not the authors'"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("out", metavar="OUT", type=Path, help="a folder that is new or empty")
    add_seed(parser)
    parser.add_argument("--tar", action="store_true", help="each bundle as a tar")


def run(args: argparse.Namespace) -> int:
    """Write the corpus; print its bundles."""
    from agentbeat_receipts.corpus import OURS_AT_LENGTH, write_corpus

    say(OURS_AT_LENGTH)
    write_corpus(args.out, args.seed, tar=args.tar, on_written=_print)
    say(f"next: see {args.out / 'README.md'}")
    return 0


def _print(made: MadeEpoch) -> None:
    epoch = made.epoch
    write_text(f"{epoch.key:<24}  {epoch.size:>4} receipts  {made.manifest.digest()}")
