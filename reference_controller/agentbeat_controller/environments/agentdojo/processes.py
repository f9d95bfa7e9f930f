"""One worker process: started, asked one thing at a time, ended.

The worker's standard input and output are one socket. It closes when this process ends, however it ends, and
the worker ends with it. The worker gets no variable of this process's environment, which may hold secrets.

    worker = WorkerProcess.start()
    try:
        answer = worker.ask({"op": "describe"}, seconds=60)
    finally:
        worker.close()
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from typing import Any, Final

__all__ = ["WorkerError", "WorkerProcess"]

_MODULE: Final = "agentbeat_controller.environments.agentdojo.worker"

#: Until a worker has imported the benchmark.
_START_SECONDS: Final = 60.0
#: Until a worker that is told to end has ended; then it is killed.
_END_SECONDS: Final = 2.0
_CHUNK: Final = 256 * 1024


class WorkerError(Exception):
    """A worker did not start, did not answer or ended; what it was asked has changed nothing."""


class WorkerProcess:
    """A running worker. Not safe to use from two threads at the same time."""

    def __init__(self, process: subprocess.Popen[bytes], line: socket.socket) -> None:
        self._process = process
        self._line = line

    @classmethod
    def start(cls) -> WorkerProcess:
        """A worker that is ready.

        Raises:
            WorkerError: it cannot start, or not with the package that is installed.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = subprocess.Popen(  # noqa: S603 - our own module, by this interpreter
                    [sys.executable, "-P", "-m", _MODULE],
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    env=_environment(),
                    # Ctrl-C in a terminal is for the Controller, which then closes its workers.
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise WorkerError(f"the worker did not start: {error.strerror}") from error
        worker = cls(process, ours)
        try:
            said = worker._receive(time.monotonic() + _START_SECONDS)
            if said.get("ready") is not True:
                raise WorkerError(str(said.get("failed", "the worker did not start")))
        except WorkerError:
            worker.kill()
            raise
        return worker

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether an idle worker still runs: there is nothing to read from it, not even an end."""
        self._line.settimeout(0)
        try:
            self._line.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return self._process.poll() is None
        except OSError:
            pass
        return False

    def ask(self, request: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            WorkerError: none came in time. The worker is of no use any more: kill it.
        """
        deadline = time.monotonic() + seconds
        line = json.dumps(request, ensure_ascii=False).encode() + b"\n"
        try:
            self._line.settimeout(seconds)
            self._line.sendall(line)
        except OSError as error:
            raise WorkerError("the worker takes no request") from error
        return self._receive(deadline)

    def _receive(self, deadline: float) -> dict[str, Any]:
        chunks: list[bytes] = []
        while not chunks or not chunks[-1].endswith(b"\n"):
            left = deadline - time.monotonic()
            try:
                if left <= 0:
                    raise TimeoutError
                self._line.settimeout(left)
                chunks.append(self._line.recv(_CHUNK))
            except TimeoutError as error:
                raise WorkerError("the worker did not answer in time") from error
            except OSError as error:
                raise WorkerError("the worker has ended") from error
            if not chunks[-1]:
                raise WorkerError("the worker has ended")
        answer: dict[str, Any] = json.loads(b"".join(chunks))
        return answer

    def close(self) -> None:
        """End the worker: it sees its input close."""
        self._line.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the worker at once, whatever it is doing."""
        self._line.close()
        self._process.kill()
        self._process.wait()


def _environment() -> dict[str, str]:
    """The worker's variables: where modules are, and a fixed order of sets (CTL-8)."""
    return {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONUTF8": "1",
        "TZ": "UTC",
    }
