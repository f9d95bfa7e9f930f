"""`python -m agentbeat_core`: the command `agentbeat`."""

from __future__ import annotations

import sys

from agentbeat_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
