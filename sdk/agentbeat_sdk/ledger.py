"""Where the recorder's events go: under one lock, in order, counted, within bounds.

A `Ledger` takes the data of events as JSON text (`drafts`) and knows no value of the Agent's. It decides what
becomes of each event, and every event is counted once:

    recorded   it stands in the document
    dropped    a bound stood against it, or a result had no open call; `evidence.truncated` says so
    late       the document was finished

At the first bound recording stops for good, so that the document holds the beginning of the run whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from agentbeat_protocol import Instant
from agentbeat_sdk.bounded import encoded
from agentbeat_sdk.calls import CallBook, OpenCall
from agentbeat_sdk.documents import EventLog, truncated, unfinished
from agentbeat_sdk.drafts import joined
from agentbeat_sdk.limits import RecordingLimits
from agentbeat_sdk.redaction import Redactor
from agentbeat_sdk.streams import DeltaStream

__all__ = ["Ledger"]

Members = dict[str, str]


class Ledger:
    """The events of one run; every method may be called from any thread.

    Args:
        source: what every event names as its source, not empty.
        channels: the observed channels.
        clock: gives the present instant. One that is set back is held at the latest instant seen.
    """

    def __init__(
        self,
        run_id: str,
        case_id: str,
        *,
        source: str,
        channels: Sequence[str],
        limits: RecordingLimits,
        redactor: Redactor,
        clock: Callable[[], Instant],
    ) -> None:
        self._limits = limits
        self._redactor = redactor
        self._clock = clock
        self._latest = clock()
        self._lock = threading.Lock()
        self._log: EventLog | None = EventLog(
            run_id, case_id, started_at=str(self._latest), channels=channels, source=source, limits=limits
        )
        self._calls = CallBook(longest=limits.max_name)
        self._streams: dict[str, DeltaStream] = {}
        self._counts: dict[str, dict[str, int]] = {"recorded": {}, "dropped": {}, "late": {}}
        self._reason = ""
        self._stopped = False
        self._last: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether the document is finished."""
        return self._log is None

    @property
    def size(self) -> int:
        """Bytes of the events in the document; 0 when it is finished."""
        with self._lock:
            return 0 if self._log is None else self._log.size

    def counts(self, outcome: str) -> dict[str, int]:
        """How many events of each type were `recorded`, `dropped` or `late`."""
        with self._lock:
            return dict(self._counts[outcome])

    def refuses(self, kind: str) -> bool:
        """Whether an event could not be recorded any more; then it is counted, and need not be drafted."""
        with self._lock:
            return self._refusing(kind) is None

    def add(self, kind: str, members: Members) -> None:
        """An event that stands for itself."""
        with self._lock:
            self._append(kind, members)

    def add_delta(self, text: str, members: Members) -> None:
        """A piece of streamed text, not yet redacted: the pieces before it may belong to the same secret."""
        with self._lock:
            log = self._refusing("message.delta")
            if log is None:
                return
            role = members["role"]
            if role not in self._streams:
                self._streams[role] = DeltaStream(self._redactor, limit=self._limits.max_text)
            stream = self._streams[role]
            piece = stream.feed(text)
            if self._append("message.delta", {**members, "delta": encoded(piece.shown)}):
                piece.event, piece.members = len(log) - 1, members
            for older in stream.changed:
                if older.event is not None:
                    log.shrink(older.event, joined({**older.members, "delta": encoded(older.shown)}))

    def add_call(self, given: str, cleaned: str, members: Members) -> str:
        """A tool call; the id under which its result is to be given.

        Args:
            given: the Agent's id for it; empty lets the ledger choose one.
            cleaned: that id as it may be shown.
        """
        with self._lock:
            if self._refusing("tool.call") is None:
                return given or self._calls.spare()
            call_id = self._calls.claim(given, cleaned)
            call = OpenCall(encoded(call_id), members["name"])
            if self._append("tool.call", {**members, "call_id": call.call_id}, hold=call.held):
                self._calls.open(given, call_id, call)
            return call_id

    def spare_call_id(self) -> str:
        """An id for a call that is not recorded."""
        with self._lock:
            return self._calls.spare()

    def returned(self, call_id: str) -> None:
        """A call has returned, and its result is not recorded."""
        with self._lock:
            self._calls.answer(call_id)

    def add_result(self, call_id: str, members: Members) -> None:
        """The result of a call."""
        with self._lock:
            call = self._calls.answer(call_id)
            if self._refusing("tool.result") is None:
                return
            if call is None:
                self._drop("tool.result", "unmatched_result")
                return
            ids = {"call_id": call.call_id, "name": call.name}
            self._append("tool.result", {**members, **ids}, hold=-call.held)

    def finish(self, kind: str, members: Members) -> bytes:
        """Close the document with this event, unless the Agent has just recorded the same.

        Raises:
            RuntimeError: it is finished already.
        """
        with self._lock:
            log = self._take_log()
            at = self._now()
            dropped = self._counts["dropped"]
            unanswered = self._calls.unanswered()
            if unanswered:
                log.close("lifecycle", at, unfinished(call.entry for call in unanswered))
            if dropped:
                log.close("lifecycle", at, truncated(dropped, self._reason))
            if dropped or self._last != _said(kind, members):
                log.close(kind, at, joined(members))
            return log.document(at)

    def discard(self) -> None:
        """Finish without a document.

        Raises:
            RuntimeError: it is finished already.
        """
        with self._lock:
            self._take_log()

    # What follows is called with the lock held.

    def _take_log(self) -> EventLog:
        """The log, which takes no event any more."""
        log = self._log
        if log is None:
            raise RuntimeError("the document is finished, expected one call of complete or fail")
        self._log = None
        self._streams.clear()
        return log

    def _count(self, outcome: str, kind: str) -> None:
        counts = self._counts[outcome]
        counts[kind] = counts.get(kind, 0) + 1

    def _refusing(self, kind: str) -> EventLog | None:
        """The log, if it takes events; otherwise this one is counted."""
        if self._log is None:
            self._count("late", kind)
        elif self._stopped:
            self._count("dropped", kind)
        else:
            return self._log
        return None

    def _drop(self, kind: str, reason: str) -> None:
        self._count("dropped", kind)
        self._reason = reason

    def _append(self, kind: str, members: Members, *, hold: int = 0) -> bool:
        log = self._refusing(kind)
        if log is None:
            return False
        bound = log.append(kind, self._now(), joined(members), hold=hold)
        if bound is not None:
            self._stopped = True
            self._drop(kind, bound)
            return False
        self._count("recorded", kind)
        self._last = _said(kind, members)
        return True

    def _now(self) -> str:
        self._latest = max(self._latest, self._clock())
        return str(self._latest)


def _said(kind: str, members: Mapping[str, str]) -> tuple[str, ...]:
    """What an event says, to tell whether the Agent has just recorded its own end."""
    return (kind, *(value for name, value in members.items() if name != "attributes"))
