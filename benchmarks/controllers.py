"""A State Controller on SQLite, in a process of its own, for the benchmarks that call it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DEPLOYMENT", "PROFILE", "Controller", "controller"]

PROFILE = "desk-refund-full"
DEPLOYMENT = "bench-deployment"


@dataclass(frozen=True, kw_only=True)
class Controller:
    """Where its control plane is, and what a request to it must carry."""

    url: str
    headers: dict[str, str]
    pid: int

    def processor_seconds(self) -> float:
        """The processor time that its process has used so far (Linux)."""
        # The name in brackets may hold spaces; `utime` and `stime` are fields 14 and 15 of all.
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def controller() -> Iterator[Controller]:
    """A Controller until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        ready, log = Path(folder) / "ready.json", Path(folder) / "log"
        options = ["--home", f"{folder}/home", "--ready-file", str(ready), "--deployment", DEPLOYMENT]
        options += ["--control-port", "0", "--business-port", "0"]
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [sys.executable, "-m", "agentbeat_controller", "serve", *options], stdout=sink, stderr=sink
            )
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise RuntimeError(f"the State Controller did not start: {log.read_text()}")
                time.sleep(0.02)
            told = json.loads(ready.read_bytes())
            secret = Path(told["control"]["secret_file"]).read_text().strip()
            headers = {"Authorization": f"Bearer {secret}"}
            yield Controller(url=told["control"]["url"], headers=headers, pid=process.pid)
        finally:
            process.terminate()
            process.wait(15)
