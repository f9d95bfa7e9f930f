"""`python -m agentbeat_core.agentdojo`: the command `agentbeat agentdojo` by itself."""

from __future__ import annotations

import argparse
import sys

from agentbeat_core.commands import agentdojo


def main() -> int:
    """Read the command line and run it; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m agentbeat_core.agentdojo",
        description=agentdojo.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    agentdojo.configure(parser)
    return agentdojo.run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
