"""`agentbeat demo` from its options to its exit code: start, run, tell, stop.

Whatever happens, the children are stopped and the temporary folder is removed: at the end, at an error, at
Ctrl-C, SIGTERM and SIGHUP. A second signal does not wait for the children's own end.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.console import Console

from agentbeat_core.demo.case_set import DEMO_CASES, DemoCase
from agentbeat_core.demo.children import ChildError
from agentbeat_core.demo.consoles import console_on, say
from agentbeat_core.demo.interruptions import InterruptedBySignal, until_signal
from agentbeat_core.demo.output import OutputFolder, OutputFolderError, default_folder
from agentbeat_core.demo.performance import Performed, perform
from agentbeat_core.demo.progress import Progress, progress_on
from agentbeat_core.demo.report import print_report, report_document
from agentbeat_core.demo.stage import PROCESSES, set_up
from agentbeat_core.demo.supervision import Supervisor, free_ports

__all__ = ["DemoOptions", "run_demo"]

#: All rows as expected; a surprise; the folder cannot be used; a server failed.
_AS_EXPECTED, _SURPRISE, _USAGE, _FAILED = 0, 1, 2, 4


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """What `agentbeat demo` is asked for.

    Attributes:
        out: the folder for results; None makes a new one under `agentbeat-demo/`.
        as_json: print one JSON document instead of the table.
        first_port: the servers take ports from here on; None: free ones.
        start_seconds: how long the servers may take to start.
        cases: what is run.
    """

    out: Path | None = None
    as_json: bool = False
    first_port: int | None = None
    start_seconds: float = 60.0
    cases: Sequence[DemoCase] = DEMO_CASES


def run_demo(options: DemoOptions) -> int:
    """Run the demo; the exit code.

    Returns:
        0 when every row came out as its case expects, 1 when one did not, 2 when the folder cannot be used,
        4 when a server failed, 128 and the signal's number when a signal ended it.
    """
    messages = console_on(sys.stderr)
    try:
        folder = OutputFolder.make(options.out or default_folder())
    except OutputFolderError as error:
        say(messages, f"agentbeat demo: {error}")
        return _USAGE
    return asyncio.run(_Show(options, folder, messages).run())


class _Show:
    def __init__(self, options: DemoOptions, folder: OutputFolder, messages: Console) -> None:
        self._options = options
        self._folder = folder
        self._messages = messages
        self._supervisor = Supervisor(start_seconds=options.start_seconds)

    async def run(self) -> int:
        """The whole demo; the exit code."""
        started = time.monotonic()
        try:
            performed = await until_signal(self._work(), impatient=self._supervisor.kill)
        except InterruptedBySignal as interrupted:
            say(self._messages, f"agentbeat demo: {interrupted.signal.name}; all servers are stopped")
            return interrupted.exit_code
        except (ChildError, httpx.HTTPError, OSError) as error:
            say(self._messages, f"agentbeat demo: {error}")
            return _FAILED
        finally:
            self._folder.discard_if_empty()
        return self._tell(performed, time.monotonic() - started)

    async def _work(self) -> list[Performed]:
        with (
            tempfile.TemporaryDirectory(prefix="agentbeat-demo-") as scratch,
            progress_on(self._messages) as progress,
        ):
            async with self._supervisor:
                performed = await self._on_stage(Path(scratch), progress)
                progress.stage("stopping the servers")
            return performed

    async def _on_stage(self, scratch: Path, progress: Progress) -> list[Performed]:
        progress.stage(f"starting {PROCESSES} servers")
        stage = await set_up(self._supervisor, scratch, self._ports())
        return await self._supervisor.guard(
            perform(
                self._options.cases,
                stage=stage,
                supervisor=self._supervisor,
                folder=self._folder,
                progress=progress,
            )
        )

    def _ports(self) -> Iterator[int]:
        if self._options.first_port is not None:
            return itertools.count(self._options.first_port)
        # Two for a Controller, and some to spare.
        return iter(free_ports(2 * PROCESSES))

    def _tell(self, performed: list[Performed], seconds: float) -> int:
        if self._options.as_json:
            print(report_document(performed, self._folder))
        else:
            print_report(console_on(sys.stdout), performed, self._folder, seconds=seconds)
        return _SURPRISE if any(each.row.surprises for each in performed) else _AS_EXPECTED
