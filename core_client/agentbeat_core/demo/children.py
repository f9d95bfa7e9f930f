"""A child process of the demo: started, waited for until it is ready, watched, and stopped for certain.

Each child leads a process group of its own: Ctrl-C in the terminal reaches the demo alone, which then stops
the children in order. What a child prints goes to a log file; when it fails, its last lines are told. A
child's environment is what its spec says and a few harmless variables: no key of the user's reaches it.

    child = Child.launch(spec)
    ready = await child.ready(seconds=30)
    …
    await child.stop()
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

__all__ = ["Child", "ChildError", "ChildSpec", "Probe", "ready_file", "says_and_answers"]

#: How long a child has to stop after SIGTERM, in seconds; then it is killed.
STOP_SECONDS: Final = 5.0

_TETHER: Final = Path(__file__).with_name("tether.py")
_POLL_SECONDS: Final = 0.02
_PROBE_SECONDS: Final = 1.0
_TOLD_LINES: Final = 12
_TOLD_BYTES: Final = 16 * 1024
#: What a program needs of its surroundings to start at all, and to speak the user's language.
_KEPT_VARIABLES: Final = frozenset(
    {
        "PATH",
        "HOME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "VIRTUAL_ENV",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
    }
)
_KEPT_PREFIXES: Final = ("LC_", "PYTHON")


#: Asks whether a child is ready: what it tells of itself, or None as long as it is not.
Probe = Callable[[], Awaitable[dict[str, Any] | None]]


def ready_file(path: Path) -> Probe:
    """Ready when it has written JSON to this file."""

    def read() -> dict[str, Any] | None:
        if not path.exists():
            return None
        told: dict[str, Any] = json.loads(path.read_bytes())
        return told

    async def probe() -> dict[str, Any] | None:
        return read()

    return probe


def says_and_answers(log: Path, words: str, url: str) -> Probe:
    """Ready when it has printed these words and the URL answers 200 with JSON.

    The words are what tells it apart from somebody else who has its port.
    """

    def said() -> bool:
        return log.exists() and words.encode() in log.read_bytes()

    async def probe() -> dict[str, Any] | None:
        if not said():
            return None
        try:
            async with httpx.AsyncClient(timeout=_PROBE_SECONDS, trust_env=False) as client:
                answer = await client.get(url)
        except httpx.TransportError:
            return None
        told: dict[str, Any] | None = answer.json() if answer.status_code == 200 else None
        return told

    return probe


@dataclass(frozen=True, kw_only=True)
class ChildSpec:
    """What to start.

    Attributes:
        name: what the child is called in messages, such as `State Controller`.
        arguments: the `agentbeat` command line, without a secret in it.
        ports: the ports that it listens on.
        probe: finds out whether it is ready.
        log: where its output goes.
        environ: its own variables; secrets reach it here.
        script: what Python runs, with these arguments; the tether runs `agentbeat`.
        output: where its standard output goes instead, for a child that makes a file and ends.
    """

    name: str
    arguments: tuple[str, ...]
    ports: tuple[int, ...]
    probe: Probe
    log: Path
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    script: Path = _TETHER
    output: Path | None = None

    @property
    def title(self) -> str:
        """Name and ports, as messages tell them."""
        return f"{self.name}, port {' and '.join(map(str, self.ports))}" if self.ports else self.name


class ChildError(Exception):
    """A child did not start, or ended by itself; the message says which, its ports and its last lines."""


class Child:
    """A running child process."""

    def __init__(self, spec: ChildSpec, process: subprocess.Popen[bytes]) -> None:
        self.spec = spec
        self._process = process
        self._told_to_stop = False

    @classmethod
    def launch(cls, spec: ChildSpec) -> Child:
        """Start the process; it is not ready yet.

        Raises:
            ChildError: the system does not start it.
        """
        try:
            with spec.log.open("ab") as log, (spec.output or spec.log).open("ab") as output:
                process = subprocess.Popen(  # noqa: S603 - our own interpreter and command
                    [sys.executable, "-P", str(spec.script), *spec.arguments],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=log,
                    env={**_surroundings(), **spec.environ},
                    start_new_session=True,
                )
        except OSError as error:
            raise ChildError(f"{spec.title}: cannot be started: {error.strerror}") from None
        return cls(spec, process)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of the child's process group."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    async def ready(self, *, seconds: float) -> dict[str, Any]:
        """What the child tells of itself, once it is ready.

        Raises:
            ChildError: the child ended first, or is not ready in time.
        """
        deadline = time.monotonic() + seconds
        while True:
            # Looked at first: whoever answers on the port of a child that is gone is somebody else.
            self.check()
            try:
                told = await self.spec.probe()
            except (OSError, ValueError) as error:
                raise self._error(
                    f"what it tells of itself cannot be read ({type(error).__name__})"
                ) from None
            if told is not None:
                return told
            if time.monotonic() > deadline:
                raise self._error(f"not ready after {seconds:g} seconds")
            await asyncio.sleep(_POLL_SECONDS)

    async def ended(self, *, seconds: float) -> None:
        """Return once the child has ended by itself, and well: one that makes a file and nothing else.

        Raises:
            ChildError: it ended with an error, or not in time.
        """
        deadline = time.monotonic() + seconds
        while self.running:
            if time.monotonic() > deadline:
                raise self._error(f"not done after {seconds:g} seconds")
            await asyncio.sleep(_POLL_SECONDS)
        if self._process.returncode == 0:
            self._told_to_stop = True
        self.check()

    def check(self) -> None:
        """Nothing, while the child runs or was told to stop.

        Raises:
            ChildError: it has ended by itself.
        """
        code = self._process.poll()
        if code is not None and not self._told_to_stop:
            raise self._error(f"ended by itself with {_ending(code)}")

    def kill(self) -> None:
        """SIGKILL, on purpose; when this returns the process is gone and its ports answer nobody."""
        self._told_to_stop = True
        self._signal(signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def ask_to_stop(self) -> None:
        """SIGTERM to the child's group; does not wait."""
        self._told_to_stop = True
        self._signal(signal.SIGTERM)

    async def stop(self, *, grace: float = STOP_SECONDS) -> None:
        """Ask the child to stop, and kill it when it has not stopped after `grace` seconds."""
        self.ask_to_stop()
        deadline = time.monotonic() + grace
        try:
            # Polled: there is no portable event for the end of a process.
            while self.running and time.monotonic() < deadline:  # noqa: ASYNC110
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            # Also when the waiting was cancelled: nothing is left behind.
            self.kill()

    def last_lines(self) -> list[str]:
        """The end of what the child has printed, at most twelve lines."""
        with contextlib.suppress(OSError), self.spec.log.open("rb") as log:
            log.seek(max(0, self.spec.log.stat().st_size - _TOLD_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()
            return [line for line in lines if line.strip()][-_TOLD_LINES:]
        return []

    def _error(self, what: str) -> ChildError:
        lines = self.last_lines()
        told = "\n".join(f"  | {line}" for line in lines) if lines else "  | (it printed nothing)"
        return ChildError(f"{self.spec.title}: {what}; its last lines:\n{told}")

    def _signal(self, number: signal.Signals) -> None:
        # Once the process was reaped, its number may be another's.
        if self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)


def _surroundings() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
    return {**kept, "PYTHONUNBUFFERED": "1"}


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
