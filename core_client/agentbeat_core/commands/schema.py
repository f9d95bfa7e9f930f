"""`agentbeat schema`: print the JSON Schema of a message or of a batch's plan, or the names of all.

The schemas are those that the package ships, JSON Schema 2020-12. Those of claim receipts are printed by
`agentbeat claims schema`.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import Final

__all__ = ["EXTRA", "HELP", "configure", "run"]

HELP: Final = "print the JSON Schema of a message or of a batch's plan, or the names of all"
EXTRA: Final = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the name."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a schema's name; without it all are listed")


def run(args: argparse.Namespace) -> int:
    """Print the schema; 2 when there is none of that name."""
    from agentbeat_core import schemas as of_core
    from agentbeat_protocol import schemas as of_protocol

    rooms = {name: room for room in (of_protocol, of_core) for name in room.schema_names()}
    if args.name is None:
        print("\n".join(sorted(rooms)))
        return 0
    if args.name not in rooms:
        near = difflib.get_close_matches(args.name, rooms, n=1)
        hint = f"did you mean {near[0]}?" if near else "agentbeat schema lists the names"
        print(f"agentbeat schema: there is no schema of that name; {hint}", file=sys.stderr)
        return 2
    sys.stdout.buffer.write(rooms[args.name].schema_text(args.name).encode())
    return 0
