"""A session over again, from its transcript: the same questions get the same answers, and nothing is sent."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

from agentbeat_conformance.exchanges import Exchange, Request
from agentbeat_conformance.transcript_records import CommandEntry, Entry, ExchangeEntry
from agentbeat_protocol import cut

__all__ = ["Replay", "ReplayCommands", "ReplayError", "ReplayWire", "Stopped"]

EntryT = TypeVar("EntryT", ExchangeEntry, CommandEntry)


class ReplayError(Exception):
    """A check asks for something else than it did when the transcript was made.

    Then the suite, the options or the transcript have changed, and nothing can be said.
    """


class Stopped(BaseException):
    """Here nobody waited any longer when the transcript was made.

    Like the cancellation that it repeats it is no `Exception`, so that no check takes it for its own.
    """


class Replay:
    """The entries of a transcript, by scope.

    Within a scope a question gets the first answer that it got and that was not given yet. Requests that were
    under way side by side may so be asked again in another order.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._left: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            self._left[entry.scope].append(entry)

    def exchange(self, request: Request, scope: str) -> ExchangeEntry:
        """The entry for this request.

        Raises:
            ReplayError: the transcript does not hold it, or not so often.
            Stopped: nobody waited for the answer.
        """
        asked = (request.raw, request.withhold)
        left = self._left.get(scope, [])
        for place, entry in enumerate(left):
            if isinstance(entry, ExchangeEntry) and (entry.request.raw, entry.request.withhold) == asked:
                return self._taken(left, place, entry)
        what = f"{cut(request.method, 16)} {cut(request.target)}"
        raise ReplayError(f"{scope} asks for {what} once more, or otherwise, than the transcript holds it")

    def command(self, asked: CommandEntry) -> bool:
        """Whether this command succeeded; raises as `exchange`."""
        left = self._left.get(asked.scope, [])
        for place, entry in enumerate(left):
            if isinstance(entry, CommandEntry) and dataclasses.replace(entry, done=None) == asked:
                return bool(self._taken(left, place, entry).done)
        raise ReplayError(f"{asked.scope} runs the {asked.command} command; the transcript does not hold it")

    def _taken(self, left: list[Entry], place: int, entry: EntryT) -> EntryT:
        del left[place]
        if entry.stopped:
            raise Stopped
        return entry


class ReplayWire:
    """Answers from a transcript.

    Args:
        replay: the transcript's entries.
        has_sockets: whether the wire had real connections when the transcript was made.
    """

    def __init__(self, replay: Replay, *, has_sockets: bool) -> None:
        self.has_sockets = has_sockets
        self._replay = replay

    async def exchange(self, request: Request, *, scope: str) -> Exchange:
        """See `Wire`; raises as `Replay.exchange`."""
        entry = self._replay.exchange(request, scope)
        return Exchange(request=request, answer=entry.answer, failure=entry.failure)


class ReplayCommands:
    """Commands whose ends are known from a transcript."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    async def restart(self, *, scope: str) -> bool:
        """See `Commands`; raises as `Replay.command`."""
        return self._replay.command(CommandEntry(scope=scope, command="restart"))

    async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
        """See `Commands`; raises as `Replay.command`."""
        return self._replay.command(CommandEntry(scope=scope, command="write", run_id=run_id, canary=canary))
