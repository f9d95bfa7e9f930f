"""`python -m agentbeat_controller`: the command `agentbeat controller` by itself."""

from __future__ import annotations

import argparse
import sys

from agentbeat_controller import command


def main() -> int:
    """Read the command line and run it; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m agentbeat_controller", description=command.HELP)
    command.configure(parser)
    return command.run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
