"""The small Core or one of its mutants as an `eval-run` command: a request in, a result out."""

from __future__ import annotations

import asyncio
import os
import sys

from agentbeat_conformance.core_side.cores import MUTANTS, SmallCore


def main(arguments: list[str]) -> int:
    """Run the Core that the first argument names; the exit code."""
    name = arguments[0] if arguments else ""
    if name != "small" and name not in MUTANTS:
        print(f"expected small, or one of {', '.join(MUTANTS)}", file=sys.stderr)
        return 2
    core = SmallCore() if name == "small" else MUTANTS[name].make()
    spoken = asyncio.run(core(sys.stdin.buffer.read(), os.environ))
    sys.stdout.buffer.write(spoken.output + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
