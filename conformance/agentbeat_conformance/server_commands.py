"""The user's commands: one that restarts the server, one that writes to a State Controller's environment.

Both are shell commands. What they print goes to standard error, beside the suite's own messages.

* `--restart-command` returns when the old process has ended and a new one is on its way; the suite waits
  until it answers. Only what a durable server keeps may be left.
* `--write-command` gets `AGENTBEAT_CANARY`, the text to write into any record of the environment, and
  `AGENTBEAT_RUN_ID`, the run whose environment it is. It returns 0 when the business plane has taken it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from agentbeat_conformance.exchanges import Request
from agentbeat_conformance.wires.sockets import SocketWire
from agentbeat_protocol import HEALTH_PATH

__all__ = ["ShellCommands", "answers"]

#: How long a command may take, and how long the server may take to answer again, in seconds.
COMMAND_SECONDS: Final = 120.0
START_SECONDS: Final = 60.0
_BETWEEN_LOOKS: Final = 0.1
_ONE_LOOK: Final = 2.0


class ShellCommands:
    """See `sessions.Commands`.

    Args:
        restart: the command that restarts the server; None for none.
        write: the command that writes; None for none.
        is_up: whether the server answers.
    """

    def __init__(
        self,
        *,
        restart: str | None = None,
        write: str | None = None,
        is_up: Callable[[], Awaitable[bool]],
        command_seconds: float = COMMAND_SECONDS,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self._restart = restart
        self._write = write
        self._is_up = is_up
        self._command_seconds = command_seconds
        self._start_seconds = start_seconds

    async def restart(self, *, scope: str) -> bool:  # noqa: ARG002 - the signature of Commands
        """Run the restart command and wait until the server answers; whether it does."""
        return self._restart is not None and await self._run(self._restart, {}) and await self._came_back()

    async def write(self, canary: str, *, run_id: str, scope: str) -> bool:  # noqa: ARG002 - as above
        """Run the write command; whether it returned 0."""
        told = {"AGENTBEAT_CANARY": canary, "AGENTBEAT_RUN_ID": run_id}
        return self._write is not None and await self._run(self._write, told)

    async def _run(self, command: str, told: Mapping[str, str]) -> bool:
        process = await asyncio.create_subprocess_shell(
            command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=sys.stderr,
            stderr=sys.stderr,
            env={**os.environ, **told},
            # So that a command that hangs ends with everything that it waits for.
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._command_seconds):
                return await process.wait() == 0
        except TimeoutError:
            return False
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    async def _came_back(self) -> bool:
        try:
            async with asyncio.timeout(self._start_seconds):
                while not await self._is_up():  # noqa: ASYNC110 - another process gives no event
                    await asyncio.sleep(_BETWEEN_LOOKS)
        except TimeoutError:
            return False
        return True


def answers(wire: SocketWire) -> Callable[[], Awaitable[bool]]:
    """Whether the endpoint of this wire answers its health route."""
    request = Request.build(
        "GET", wire.endpoint.prefix + HEALTH_PATH, host=wire.endpoint.authority, seconds=_ONE_LOOK
    )

    async def look() -> bool:
        exchange = await wire.exchange(request, scope="restart")
        return exchange.answer is not None

    return look
