"""Keeps what goes over a wire and what the commands did, in the order in which it began."""

from __future__ import annotations

import dataclasses

from agentbeat_conformance.exchanges import Exchange, Request
from agentbeat_conformance.sessions import Commands, Wire
from agentbeat_conformance.transcript_records import CommandEntry, Entry, ExchangeEntry

__all__ = ["Recorder", "RecordingCommands", "RecordingWire"]


class Recorder:
    """The entries so far.

    An entry is written when its request goes out and completed when the answer is there. One that was never
    completed says that nobody waited for its end.
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything recorded, in the order in which it began."""
        return tuple(self._entries)

    def begin(self, entry: Entry) -> int:
        """Write an entry without its end; its number."""
        self._entries.append(entry)
        return len(self._entries) - 1

    def complete(self, number: int, entry: Entry) -> None:
        """Write the entry with that number anew, with its end."""
        self._entries[number] = entry


class RecordingWire:
    """A wire that writes into a recorder what goes over it.

    It belongs outside of a `ConcealingWire`, where no secret is left.
    """

    def __init__(self, wire: Wire, recorder: Recorder) -> None:
        self._wire = wire
        self._recorder = recorder

    @property
    def has_sockets(self) -> bool:
        """See `Wire`."""
        return self._wire.has_sockets

    async def exchange(self, request: Request, *, scope: str) -> Exchange:
        """See `Wire`."""
        begun = ExchangeEntry(scope=scope, request=request)
        number = self._recorder.begin(begun)
        exchange = await self._wire.exchange(request, scope=scope)
        ended = dataclasses.replace(begun, answer=exchange.answer, failure=exchange.failure)
        self._recorder.complete(number, ended)
        return exchange


class RecordingCommands:
    """Commands that write into a recorder whether they succeeded."""

    def __init__(self, commands: Commands, recorder: Recorder) -> None:
        self._commands = commands
        self._recorder = recorder

    async def restart(self, *, scope: str) -> bool:
        """See `Commands`."""
        begun = CommandEntry(scope=scope, command="restart")
        number = self._recorder.begin(begun)
        done = await self._commands.restart(scope=scope)
        self._recorder.complete(number, dataclasses.replace(begun, done=done))
        return done

    async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
        """See `Commands`."""
        begun = CommandEntry(scope=scope, command="write", run_id=run_id, canary=canary)
        number = self._recorder.begin(begun)
        done = await self._commands.write(canary, run_id=run_id, scope=scope)
        self._recorder.complete(number, dataclasses.replace(begun, done=done))
        return done
