"""A command of ours on a tether: it ends when the program that started it is gone, however that ended.

The demo starts its servers through this file and keeps the other end of their standard input. When the demo
is killed outright, nobody is left to stop them; but the pipe closes, and each server gets the same SIGTERM
that the demo would have sent. It runs as a script, so that nothing is imported before it is needed:

    python -P …/tether.py controller serve --control-port 8801
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

#: Seconds that a server has to stop after SIGTERM before it is ended.
GRACE = 10.0


def _watch(descriptor: int) -> None:
    # Nobody writes to the pipe: an answer of no bytes means that its other end is closed.
    while os.read(descriptor, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)


def main() -> None:
    """Run `agentbeat` with the arguments given, until it ends or standard input does."""
    # The command itself reads nothing: it gets the null device in place of the pipe.
    tether = os.dup(sys.stdin.fileno())
    with open(os.devnull, "rb") as null:  # noqa: PTH123 - no import for one path
        os.dup2(null.fileno(), sys.stdin.fileno())
    threading.Thread(target=_watch, args=(tether,), daemon=True, name="tether").start()
    sys.argv[0] = "agentbeat"
    runpy.run_module("agentbeat_core", run_name="__main__", alter_sys=False)


if __name__ == "__main__":
    main()
