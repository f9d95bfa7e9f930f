"""The user's own commands: what they are told, and what counts as having worked."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from agentbeat_conformance.mutants.base_target import BaseTarget
from agentbeat_conformance.mutants.streams import Connections, listening
from agentbeat_conformance.server_commands import ShellCommands, answers
from agentbeat_conformance.wires import SocketWire


async def up() -> bool:
    return True


async def down() -> bool:
    return False


def commands(**options: Any) -> ShellCommands:
    return ShellCommands(**{"is_up": up, **options})


async def test_the_write_command_is_told_the_canary_and_the_run(tmp_path: Path) -> None:
    told = tmp_path / "told"
    write = f'printf "%s|%s" "$AGENTBEAT_CANARY" "$AGENTBEAT_RUN_ID" > {shlex.quote(str(told))}'
    assert await commands(write=write).write("it's $HOME; tea", run_id="run-1", scope="CTL-3.b")
    assert told.read_text() == "it's $HOME; tea|run-1"


@pytest.mark.parametrize("command", ["exit 3", "no-such-command-anywhere", "kill -9 $$"])
async def test_a_command_that_does_not_return_0_has_not_worked(command: str) -> None:
    assert not await commands(write=command).write("tea", run_id="run-1", scope="a")
    assert not await commands(restart=command).restart(scope="a")


async def test_without_a_command_nothing_works() -> None:
    assert not await commands().restart(scope="a")
    assert not await commands().write("tea", run_id="run-1", scope="a")


async def test_a_restart_waits_until_the_server_answers() -> None:
    looks: list[bool] = []

    async def third_time() -> bool:
        looks.append(len(looks) == 2)
        return looks[-1]

    assert await commands(restart="true", is_up=third_time).restart(scope="a")
    assert looks == [False, False, True]


async def test_a_server_that_does_not_come_back_has_not_been_restarted() -> None:
    assert not await commands(restart="true", is_up=down, start_seconds=0.05).restart(scope="a")


async def test_a_command_that_takes_too_long_has_not_worked() -> None:
    assert not await commands(restart="sleep 60", command_seconds=0.05).restart(scope="a")


async def test_a_command_that_is_given_up_is_ended_with_everything_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hanging = f"sleep 60 & echo $! > {shlex.quote(str(pid))}; wait"
    begun = asyncio.create_task(commands(restart=hanging, command_seconds=60).restart(scope="a"))
    while not (pid.exists() and pid.read_text().endswith("\n")):
        await asyncio.sleep(0.005)
    begun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await begun
    child = int(pid.read_text())
    try:
        async with asyncio.timeout(5):
            while is_running(child):
                await asyncio.sleep(0.005)
    finally:
        if is_running(child):
            os.kill(child, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether the process has not ended; one that has may still wait to be collected."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


async def test_a_server_is_up_when_its_health_route_gives_any_answer() -> None:
    async with listening(Connections(app=BaseTarget().serve)) as port:
        wire = SocketWire(f"http://127.0.0.1:{port}")
        assert await answers(wire)()
    assert not await answers(wire)()
