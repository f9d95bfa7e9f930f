"""`agentbeat agentdojo` from its options to its exit code: start, run, tell, stop.

Whatever happens, the children are stopped and the temporary folder is removed: at the end, at an error, at
Ctrl-C, SIGTERM and SIGHUP.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
from rich.console import Console

from agentbeat_core.agentdojo.plays import AGENTS, DEFAULT_AGENTS, SUITES, Play, planned
from agentbeat_core.agentdojo.report import print_report, report_document
from agentbeat_core.agentdojo.runs import perform
from agentbeat_core.agentdojo.stage import set_up
from agentbeat_core.agentdojo.tally import Seen
from agentbeat_core.demo.children import ChildError
from agentbeat_core.demo.consoles import console_on, say
from agentbeat_core.demo.interruptions import InterruptedBySignal, until_signal
from agentbeat_core.demo.progress import Progress, progress_on
from agentbeat_core.demo.supervision import Supervisor, free_ports
from agentbeat_protocol.evaluation import EvalRunResponse

__all__ = ["AgentDojoOptions", "run_agentdojo"]

#: All runs as expected; one not; a wrong command line; a server failed.
_AS_EXPECTED, _SURPRISE, _USAGE, _FAILED = 0, 1, 2, 4
#: In a log, a line for so many runs.
_LINE_EVERY: Final = 50


@dataclass(frozen=True, kw_only=True)
class AgentDojoOptions:
    """What `agentbeat agentdojo` is asked for.

    Attributes:
        full: all pairs instead of one for each injection task.
        suites: these suites; empty: all.
        agents: these Agents; empty: all that the published figures are about.
        as_json: print one JSON document instead of the table.
        at_once: how many runs are under way at once.
        start_seconds: how long the servers may take to start.
        on_response: told each response as it comes.
    """

    full: bool = False
    suites: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    as_json: bool = False
    at_once: int = 4
    start_seconds: float = 120.0
    on_response: Callable[[Play, EvalRunResponse], None] | None = None


def run_agentdojo(options: AgentDojoOptions) -> int:
    """Play the benchmark; the exit code.

    Returns:
        0 when every run came out as expected, 1 when one did not, 2 when the benchmark is not installed,
        4 when a server failed, 128 and the signal's number when a signal ended it.
    """
    messages = console_on(sys.stderr)
    if importlib.util.find_spec("agentdojo") is None:
        say(messages, "agentbeat agentdojo: the benchmark is missing: pip install 'agentbeat-kit[agentdojo]'")
        return _USAGE
    return asyncio.run(_Show(options, messages).run())


class _Show:
    def __init__(self, options: AgentDojoOptions, messages: Console) -> None:
        self._options = options
        self._messages = messages
        self._suites = tuple(suite for suite in SUITES if suite in (options.suites or SUITES))
        self._agents = tuple(agent for agent in AGENTS if agent in (options.agents or DEFAULT_AGENTS))
        self._supervisor = Supervisor(start_seconds=options.start_seconds)

    async def run(self) -> int:
        started = time.monotonic()
        try:
            runs = await until_signal(self._work(), impatient=self._supervisor.kill)
        except InterruptedBySignal as interrupted:
            say(self._messages, f"agentbeat agentdojo: {interrupted.signal.name}; all servers are stopped")
            return interrupted.exit_code
        except (ChildError, httpx.HTTPError, OSError) as error:
            say(self._messages, f"agentbeat agentdojo: {error}")
            return _FAILED
        if self._options.as_json:
            print(report_document(runs))
        else:
            print_report(console_on(sys.stdout), runs, seconds=time.monotonic() - started)
        return _SURPRISE if any(seen.problems for seen in runs) else _AS_EXPECTED

    async def _work(self) -> list[Seen]:
        with (
            tempfile.TemporaryDirectory(prefix="agentbeat-agentdojo-") as scratch,
            progress_on(self._messages, every=_LINE_EVERY) as progress,
        ):
            async with self._supervisor:
                runs = await self._on_stage(Path(scratch), progress)
                progress.stage("stopping the servers")
            return runs

    async def _on_stage(self, scratch: Path, progress: Progress) -> list[Seen]:
        progress.stage(f"starting a State Controller and {len(self._agents)} Targets")
        ports = iter(free_ports(2 + len(self._agents)))
        stage = await set_up(self._supervisor, scratch, ports, agents=self._agents, suites=self._suites)
        plays = planned(stage.entries, agents=self._agents, full=self._options.full)
        work = perform(
            plays,
            stage=stage,
            at_once=self._options.at_once,
            progress=progress,
            on_response=self._options.on_response,
        )
        return await self._supervisor.guard(work)
