"""A Controller process of a check's own, that others may ask to be killed and started again.

It serves on free ports, from a folder of its own. Whoever wants it restarted makes a file and waits until it
is gone (`asking` does): so the process stays a child of this one, which alone starts and ends it.

    with supervised(environment_name, folder) as controller:
        controller.ready["control"]["url"]
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

__all__ = ["StartError", "Supervised", "supervised"]

#: Seconds until a Controller must answer, and until one that is asked to stop must have ended.
_START_SECONDS: Final = 60
_STOP_SECONDS: Final = 15
_BETWEEN_LOOKS: Final = 0.05


class StartError(Exception):
    """The Controller did not come up; the message has its own words."""


class Supervised:
    """A Controller process; made by `supervised`."""

    def __init__(self, environment_name: str, folder: Path) -> None:
        self._environment_name = environment_name
        self._folder = folder
        self._ports = {"control": 0, "business": 0}
        self._process: subprocess.Popen[bytes] | None = None
        #: Made by who wants a restart, and gone when there was one.
        self.request = folder / "restart"
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self.ready: dict[str, Any] = {}

    def start(self) -> None:
        """Start the process; returns when both planes answer.

        Raises:
            StartError: it ended, or took too long.
        """
        ready_file, log = self._folder / "ready.json", self._folder / "controller.log"
        ready_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "agentbeat_controller", "serve"]
        command += ["--environment", self._environment_name, "--home", str(self._folder / "home")]
        command += ["--ready-file", str(ready_file)]
        for plane, port in self._ports.items():
            command += [f"--{plane}-port", str(port)]
        with log.open("ab") as sink:
            # Our own program; the environment's name is what the user of this one has given.
            self._process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
            )
        deadline = time.monotonic() + _START_SECONDS
        while not ready_file.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise StartError(_last_line(log))
            time.sleep(_BETWEEN_LOOKS)
        self.ready = json.loads(ready_file.read_text())
        self._ports = {plane: urlsplit(self.ready[plane]["url"]).port or 0 for plane in self._ports}

    def watch(self) -> None:
        """Take requests for a restart from now on."""
        self._watcher.start()

    def stop(self) -> None:
        """End the process, gently if it lets one."""
        self._over.set()
        if self._watcher.is_alive():
            self._watcher.join(_START_SECONDS)
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _watch(self) -> None:
        while not self._over.wait(_BETWEEN_LOOKS):
            if self.request.exists() and self._process is not None:
                self._process.kill()
                self._process.wait()
                try:
                    self.start()
                except StartError:
                    return  # the request stays: whoever asked finds that nothing came back
                self.request.unlink()


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


@contextmanager
def supervised(environment_name: str, folder: Path) -> Iterator[Supervised]:
    """A Controller on this environment, ended at the end.

    Raises:
        StartError: it did not come up.
    """
    controller = Supervised(environment_name, folder)
    try:
        controller.start()
        controller.watch()
        yield controller
    finally:
        controller.stop()
