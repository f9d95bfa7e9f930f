"""`python -m benchmarks [NAME …]`: measure the hot paths and print the figures, or only those named."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib.metadata import version

from benchmarks import (
    canonical_state,
    claim_receipts,
    claim_stream,
    controller_isolation,
    controller_phases,
    evidence_document,
    invocation_path,
)

BENCHMARKS = {
    "evidence": evidence_document.run,
    "invocation": invocation_path.run,
    "canonical": canonical_state.run,
    "controller": controller_phases.run,
    "claims": claim_receipts.run,
}

#: What takes minutes, and is run only when it is named.
LONG = {"claims-stream": claim_stream.run, "controller-64": controller_isolation.run}


def main() -> int:
    """Run the benchmarks that the command line names; the exit code."""
    known = BENCHMARKS | LONG
    names = sys.argv[1:] or list(BENCHMARKS)
    if unknown := [name for name in names if name not in known]:
        print(f"no benchmark {unknown[0]}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    start = time.monotonic()
    print(
        f"agentbeat-kit {version('agentbeat-kit')}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    )
    for name in names:
        known[name]()
    print("\nA ratio is to the first line of its table, where it does not say to what.", end=" ")
    print(f"{time.monotonic() - start:.0f} s in all.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
