"""`agentbeat schema`: print a JSON Schema of the protocol, or the names of all.

The schemas are those that the package ships, JSON Schema 2020-12.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "print a JSON Schema of the protocol, or the names of all"
EXTRA: Final = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the name."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a schema's name; without it all are listed")


def run(args: argparse.Namespace) -> int:
    """Print the schema; 2 when there is none of that name."""
    from agentbeat_protocol.schemas import schema_names, schema_text

    if args.name is None:
        print("\n".join(schema_names()))
        return 0
    if args.name not in schema_names():
        near = difflib.get_close_matches(args.name, schema_names(), n=1)
        hint = f"did you mean {near[0]}?" if near else "agentbeat schema lists the names"
        print(f"agentbeat schema: there is no schema of that name; {hint}", file=sys.stderr)
        return 2
    sys.stdout.buffer.write(schema_text(args.name).encode())
    return 0
