"""A Core as a command: a process for each run, the request on its standard input, the result on its output.

The command gets the environment of the suite without what is named `AIBEAT_…`, and what the scene sets. A
proxy of the environment is told to leave this machine alone. What the command starts ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from typing import Final

from agentbeat_conformance.core_side.results import Spoken

__all__ = ["CommandCore", "CommandError"]

#: How much of an output is kept, in bytes: of a result's beginning, and of the end of the messages.
_MAX_OUTPUT: Final = 64 * 1024 * 1024
_MAX_MESSAGES: Final = 8 * 1024

_HERE: Final = "127.0.0.1,localhost,::1"


class CommandError(Exception):
    """The command cannot be started; the message says why."""


class CommandCore:
    """Runs a command.

    Args:
        command: split as a shell would; no shell is involved.

    Raises:
        CommandError: the text is no command line.
    """

    def __init__(self, command: str) -> None:
        try:
            self.arguments = tuple(shlex.split(command))
        except ValueError as error:
            raise CommandError(f"{error}".lower()) from None
        if not self.arguments:
            raise CommandError("it is empty")

    async def __call__(self, request: bytes, environment: Mapping[str, str | None]) -> Spoken:
        """One run. A run that is cancelled leaves no process behind.

        Raises:
            CommandError: the command cannot be started.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *self.arguments,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=_environment(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise CommandError(f"{self.arguments[0]}: {error.strerror or error}") from None
        try:
            _, output, messages = await asyncio.gather(
                _feed(process, request),
                _kept(process.stdout, first=_MAX_OUTPUT),
                _kept(process.stderr, last=_MAX_MESSAGES),
            )
            code = await process.wait()
        finally:
            await _end(process)
        return Spoken(output=output, messages=messages.decode("utf-8", "replace"), exit_code=code)


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIBEAT_")}
    kept |= {"NO_PROXY": _HERE, "no_proxy": _HERE}
    return {name: value for name, value in (kept | dict(changes)).items() if value is not None}


async def _feed(process: Process, request: bytes) -> None:
    """Write the request; a command that does not read it says so by its result."""
    if process.stdin is None:
        raise ValueError("got a process without a standard input")
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(request)
        await process.stdin.drain()
    process.stdin.close()


async def _kept(
    stream: asyncio.StreamReader | None, *, first: int | None = None, last: int | None = None
) -> bytes:
    """The first or the last bytes of a stream, which is read to its end."""
    if stream is None:
        raise ValueError("got a process without an output")
    kept = bytearray()
    while chunk := await stream.read(65536):
        if first is None or len(kept) <= first:
            kept += chunk
        if last is not None:
            del kept[:-last]
    return bytes(kept)


async def _end(process: Process) -> None:
    """Kill the process and what it has started, if it still runs."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
