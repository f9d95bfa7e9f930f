"""`python -m agentbeat_reference_target`: the command `agentbeat target` by itself."""

from __future__ import annotations

import argparse
import sys

from agentbeat_reference_target import command


def main() -> int:
    """Read the command line and run it; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m agentbeat_reference_target", description=command.HELP)
    command.configure(parser)
    return command.run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
