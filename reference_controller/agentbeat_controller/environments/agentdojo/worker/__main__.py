"""The worker's loop: a line in, a line out, until the input closes.

Lines are read by a thread of their own. So the end of the input ends the process at once, whatever it is
doing: a Controller that is killed leaves no worker behind. What the benchmark prints goes to standard error;
standard output belongs to the answers.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import traceback
from typing import IO, Any, Final

from .service import Service
from .upstream import load

#: Bytes of address space. A worker that needs more has met something that no task needs, and dies of it.
_MAX_MEMORY: Final = 1024 * 1024 * 1024


def main() -> None:
    """Serve standard input and standard output."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _bound_memory()
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, lines), daemon=True).start()
    try:
        service = Service(load())
    except (ImportError, ValueError) as error:
        _write(answers, {"failed": str(error)})
        return
    _write(answers, {"ready": True})
    while True:
        _write(answers, _answer(service, lines.get()))


def _read(source: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Until whoever asks is gone, also by a kill that left an answer unread: that is a reset, not an end."""
    with contextlib.suppress(ConnectionResetError):
        for line in source:
            lines.put(line)
    os._exit(0)


def _answer(service: Service, line: bytes) -> dict[str, Any]:
    try:
        return service.answer(json.loads(line))
    except Exception as error:  # noqa: BLE001 - said to the caller; the worker goes on, it keeps no state
        traceback.print_exc()
        return {"failed": type(error).__name__}


def _write(answers: IO[bytes], answer: dict[str, Any]) -> None:
    try:
        answers.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
        answers.flush()
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)


def _bound_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    except (ImportError, ValueError, OSError):
        print("agentdojo worker: this system does not bound a process's memory", file=sys.stderr)


if __name__ == "__main__":
    main()
