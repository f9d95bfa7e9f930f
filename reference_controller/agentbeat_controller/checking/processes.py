"""A check's own process, in which an environment is played: started, listened to, and ended.

What an environment does is bounded by it: one that hangs, or that ends its process, is a finding, and neither
this process nor its standard output is touched.

    with PlayingProcess("shop:Shop", [], seconds=60) as process:
        for message in process.messages():
            ...
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from multiprocessing import Pipe
from types import TracebackType
from typing import Any, Final

from .findings import Finding

__all__ = ["GRACE_SECONDS", "PlayingProcess", "pack"]

#: Seconds that a process has to release its run and to end, once it is told to or has nothing left to do.
GRACE_SECONDS: Final = 5
#: Seconds until Python itself has started: no affair of the environment's.
_START_SECONDS: Final = 60
_MODULE: Final = "agentbeat_controller.checking.playing"


def pack(message: dict[str, Any]) -> bytes:
    """A message as it goes through the pipe. Nothing but JSON: a class of the environment's stays there."""
    return json.dumps(message).encode()


class PlayingProcess:
    """The process; a context manager that ends it.

    Args:
        patterns: of the profiles that are checked; empty: all.
        seconds: what one step may take.
    """

    def __init__(self, environment_name: str, patterns: Sequence[str], *, seconds: float) -> None:
        self._arguments = [environment_name, *patterns]
        self._seconds = seconds

    def __enter__(self) -> PlayingProcess:
        self._channel, theirs = Pipe(duplex=False)
        # Ours to delete: a process that hangs is killed.
        self._folder = tempfile.TemporaryDirectory(prefix="agentbeat-check-", ignore_cleanup_errors=True)
        told = [str(theirs.fileno()), self._folder.name, *self._arguments]
        # -P: what lies in the working folder, such as a json.py, does not stand in for Python's own modules.
        command = [sys.executable, "-P", "-m", _MODULE, *told]
        # In a session of its own: a terminal's Ctrl-C reaches this process alone, which then ends the other.
        self._process = subprocess.Popen(  # noqa: S603 - our own program, with what the user has given
            command, stdin=subprocess.PIPE, pass_fds=[theirs.fileno()], start_new_session=True
        )
        theirs.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()
            self._channel.close()
            self._folder.cleanup()

    def messages(self) -> Iterator[dict[str, Any]]:
        """What the process says (`playing`) but for the steps, up to its `end`.

        Where it hangs or is gone before, the last message is `{"stopped": …}` with the finding.
        """
        step, seconds = "the start", max(_START_SECONDS, self._seconds)
        while True:
            try:
                message = self._next(seconds)
            except TimeoutError:
                finding = _fault("environment_hangs", step, f"got no answer within {seconds:g} seconds")
                yield {"stopped": asdict(finding)}
                return
            except EOFError:
                yield {"stopped": asdict(_fault("environment_ends", step, f"got {self._end()}"))}
                return
            if "step" in message:
                step, seconds = str(message["step"]), self._seconds
                continue
            yield message
            if "end" in message:
                return

    def _next(self, seconds: float) -> dict[str, Any]:
        """The next message.

        Raises:
            TimeoutError: the process is alive, and says nothing.
            EOFError: it says nothing more.
        """
        try:
            if self._channel.poll(seconds):
                message: dict[str, Any] = json.loads(self._channel.recv_bytes())
                return message
        except (OSError, ValueError):
            raise EOFError from None
        # A process that it has left behind may hold the pipe open.
        raise TimeoutError if self._process.poll() is None else EOFError

    def _end(self) -> str:
        """How the process has ended; it closes the pipe a moment before."""
        try:
            code = self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "no more word from its process"
        if code < 0:
            return f"the end of its process by {signal.Signals(-code).name}"
        return f"the end of its process with exit code {code}"


def _fault(code: str, step: str, got: str) -> Finding:
    return Finding(severity="fault", code=code, tried=step, found=f"{got}, expected an answer")
