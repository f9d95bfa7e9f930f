"""An Agent that does what the case files ask of one, and counts its runs.

It raises on the text `boom`, takes about a second on `slow` and a minute on `hang`, and answers everything
else. In a process of its own it notes each run as a line in a file, before anything else, and prints the URL
that it listens on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from agentbeat_sdk import Limits, Run, SQLiteStore, Target

__all__ = ["SECRET", "StubProcess", "stub_target"]

SECRET = "test-token"

TESTS = Path(__file__).parents[1]


def stub_target(note: Callable[[str], None], **options: Any) -> Target:
    """The Agent's Target; `note` is called with the id of every run that begins."""
    target = Target("stub-agent", **({"token": SECRET, "tier": "L2"} | options))

    @target.invoke
    def answer(run: Run) -> str:
        note(run.run_id)
        run.record.message("user", run.text)
        if run.text == "boom":
            raise RuntimeError("the stub agent was asked to fail")
        if run.text in ("slow", "hang"):
            time.sleep(1 if run.text == "slow" else 60)
        return f"done: {run.text}" if run.text.isascii() else "done"

    return target


class StubProcess:
    """The stub agent in a process of its own, on a free port.

    Args:
        folder: where its store and its list of runs are. A second process on the folder goes on with them.
        drain_timeout: as in `Limits`.
    """

    def __init__(self, folder: Path, *, drain_timeout: float = 30) -> None:
        self._runs = folder / "runs.txt"
        self._runs.touch()
        path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "support.stub_agent"),
                *(str(folder / "runs.sqlite3"), str(self._runs), str(drain_timeout)),
            ],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url.startswith("http://"), "the stub agent did not start"

    def __enter__(self) -> StubProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def runs(self) -> list[str]:
        """The ids of the runs that have begun, in order, those of earlier processes on the folder too."""
        return self._runs.read_text().splitlines()

    def kill(self) -> None:
        """`kill -9`."""
        self._process.kill()
        self.wait()

    def terminate(self) -> None:
        """SIGTERM: it begins to stop."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Wait for its end; gives the exit status."""
        assert self._process.stdout is not None
        status = self._process.wait(timeout=20)
        self._process.stdout.close()
        return status


def main(store: str, runs: str, drain_timeout: str) -> None:
    """Serve the stub agent until it is told to stop."""
    limits = Limits(drain_timeout=float(drain_timeout))
    with Path(runs).open("a", buffering=1) as file:
        target = stub_target(lambda run_id: print(run_id, file=file), store=SQLiteStore(store), limits=limits)
        target.run(port=0, on_start=lambda url: print(url, flush=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
