"""A session over again, from its transcript: the same questions get the same answers, and nothing is sent."""

from __future__ import annotations

from collections import Counter, defaultdict
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
    """The entries of a transcript, by scope and in order."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            self._entries[entry.scope].append(entry)
        self._taken: Counter[str] = Counter()

    def take(self, scope: str, kind: type[EntryT], what: str) -> EntryT:
        """The next entry of the scope.

        Raises:
            ReplayError: there is none, or one of another kind.
        """
        entries, number = self._entries.get(scope, []), self._taken[scope]
        if number >= len(entries):
            raise ReplayError(
                f"{what} is number {number + 1} of {scope}; the transcript holds {len(entries)} of it"
            )
        entry = entries[number]
        if not isinstance(entry, kind):
            raise ReplayError(
                f"{what} is number {number + 1} of {scope}; the transcript holds another step there"
            )
        self._taken[scope] += 1
        return entry

    def different(self, scope: str, what: str) -> ReplayError:
        """The error for an entry, the one taken last, that is not what the check asks for."""
        return ReplayError(
            f"{what} is number {self._taken[scope]} of {scope}; the transcript holds another there"
        )


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
        """See `Wire`.

        Raises:
            ReplayError: the transcript does not hold this request here.
            Stopped: nobody waited for the answer.
        """
        what = f"{cut(request.method, 16)} {cut(request.target)}"
        entry = self._replay.take(scope, ExchangeEntry, what)
        if (request.raw, request.withhold) != (entry.request.raw, entry.request.withhold):
            raise self._replay.different(scope, what)
        if entry.stopped:
            raise Stopped
        return Exchange(request=request, answer=entry.answer, failure=entry.failure)


class ReplayCommands:
    """Commands whose ends are known from a transcript."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    async def restart(self, *, scope: str) -> bool:
        """See `Commands`; raises as `ReplayWire.exchange`."""
        return self._take(CommandEntry(scope=scope, command="restart"))

    async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
        """See `Commands`; raises as `ReplayWire.exchange`."""
        return self._take(CommandEntry(scope=scope, command="write", run_id=run_id, canary=canary))

    def _take(self, asked: CommandEntry) -> bool:
        what = f"the {asked.command} command"
        entry = self._replay.take(asked.scope, CommandEntry, what)
        if (entry.command, entry.run_id, entry.canary) != (asked.command, asked.run_id, asked.canary):
            raise self._replay.different(asked.scope, what)
        if entry.done is None:
            raise Stopped
        return entry.done
