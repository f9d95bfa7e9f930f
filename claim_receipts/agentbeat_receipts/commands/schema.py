"""`agentbeat claims schema`: the JSON Schemas of claims.

Without NAME the names are listed. A schema says the shape (draft 2020-12); rules that relate two places, such
as a receipt to its ticket, are not in it.

example:
  agentbeat claims schema claims-manifest-v1
"""

from __future__ import annotations

import argparse
import difflib
from typing import Final

from agentbeat_protocol import cut
from agentbeat_receipts.commands.options import UsageError, write_text

__all__ = ["HELP", "configure", "run"]

HELP: Final = "print the JSON Schema of an object, of bundle.json, of public.json or of a report"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="such as claims-receipt-v1")


def run(args: argparse.Namespace) -> int:
    """Print one schema, or the names of all."""
    from agentbeat_receipts.schemas import schema_names, schema_text

    names = schema_names()
    if args.name is None:
        write_text("\n".join(names))
        return 0
    if args.name not in names:
        near = difflib.get_close_matches(args.name[:64], names, n=1)
        hint = f"did you mean {near[0]}?" if near else "without a name all are listed"
        raise UsageError(f"there is no schema {cut(args.name)}; {hint}")
    write_text(schema_text(args.name))
    return 0
