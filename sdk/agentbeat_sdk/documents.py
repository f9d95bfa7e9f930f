"""The evidence document as it grows: every event is bytes at once, and the places for its end are kept.

An `EventLog` takes an event only if the document can still be closed after it, within both bounds. What
closes a document, each at most once and in this order:

    lifecycle `tool.unfinished`     the calls that never returned, by id and name
    lifecycle `evidence.truncated`  what was dropped, type → count, and why
    `message` or `run.error`        how the run ended

Bytes are counted as they are written. For what is not written yet, the most that it can become is kept free:
the closing text at six bytes a code point (the escape of a control character), and for every open call its
own entry in `tool.unfinished`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from agentbeat_protocol.evidence import CHANNEL_OF, TRUNCATED
from agentbeat_sdk.bounded import encoded
from agentbeat_sdk.drafts import joined
from agentbeat_sdk.limits import RecordingLimits

__all__ = ["TRUNCATED", "UNFINISHED", "EventLog", "truncated", "unfinished"]

#: The `lifecycle` event that names the calls which never returned.
UNFINISHED: Final = "tool.unfinished"

_CLOSING_EVENTS: Final = 3
#: Bytes of an RFC 3339 time: 30 with nanoseconds, and room for a clock with a finer fraction.
_TIME: Final = 64
_COUNT: Final = 10**18
_ESCAPE: Final = 6
_DATA: Final = b',"data":'
_EVENTS: Final = b',"events":['
_END: Final = b"]}"


def unfinished(entries: Iterable[str]) -> str:
    """The data of `tool.unfinished`; each entry is the JSON of one call."""
    return joined({"name": encoded(UNFINISHED), "attributes": f'{{"calls":[{",".join(entries)}]}}'})


def truncated(dropped: Mapping[str, int], reason: str) -> str:
    """The data of `evidence.truncated`."""
    attributes = encoded({"dropped": dict(dropped), "reason": reason})
    return joined({"name": encoded(TRUNCATED), "attributes": attributes})


def _most_closing_data() -> int:
    """Bytes of the longest data of the closing events, but for a text and the entries of open calls."""
    lengths = f'{{"truncated":true,"original_lengths":{{"message":{_COUNT}}}}}'
    ends = joined({"role": '"assistant"', "message": '""', "attributes": lengths})
    marks = unfinished([]) + truncated(dict.fromkeys(CHANNEL_OF, _COUNT), "max_document_bytes")
    return len(marks) + len(ends)


_MOST_CLOSING_DATA: Final = _most_closing_data()


class EventLog:
    """The events of one run in order. It is not safe for threads by itself: the recorder holds a lock.

    Args:
        started_at: the RFC 3339 time at which the run began.
        channels: the observed channels (EVD-6).
        source: the source of every event, not empty.
        limits: the bounds of the document.

    Raises:
        ValueError: the bounds leave no room for the closing events.
    """

    def __init__(
        self,
        run_id: str,
        case_id: str,
        *,
        started_at: str,
        channels: Sequence[str],
        source: str,
        limits: RecordingLimits,
    ) -> None:
        self._run_id = run_id
        self._source = encoded(source)
        self._limits = limits
        observed = '","'.join(channels)
        self._head = (
            f'{{"schema_version":"target-evidence-v1","run_id":"{run_id}","case_id":"{case_id}",'
            f'"assurance_level":"L2","observed_channels":["{observed}"],'
            f'"started_at":"{started_at}","finished_at":'
        ).encode()
        self._events: list[bytes] = []
        #: Bytes of the document without the ends that are kept free, a comma after every event.
        self._bytes = self._frame = len(self._head) + _TIME + len(_EVENTS) + len(_END)
        self._kept = self._most_for_closing()
        if limits.max_events < _CLOSING_EVENTS or self._bytes + self._kept > limits.max_document_bytes:
            raise ValueError(
                f"recording limits: got {limits.max_events} events and {limits.max_document_bytes} bytes, "
                f"expected at least {_CLOSING_EVENTS} and {self._bytes + self._kept}"
            )

    def __len__(self) -> int:
        return len(self._events)

    @property
    def size(self) -> int:
        """Bytes of the events, a comma after each."""
        return self._bytes - self._frame

    def append(self, kind: str, at: str, data: str, *, hold: int = 0) -> str | None:
        """Add an event, unless a bound stands against it.

        Args:
            data: the event's data as JSON text.
            hold: bytes that this event may still cost when the document is closed; negative when it gives
                back what an earlier one held.

        Returns:
            None, or the name of the bound; then nothing has changed.
        """
        if len(self._events) + 1 + _CLOSING_EVENTS > self._limits.max_events:
            return "max_events"
        event = self._event(kind, at, data)
        size = len(event) + 1
        if self._bytes + size + self._kept + hold > self._limits.max_document_bytes:
            return "max_document_bytes"
        self._events.append(event)
        self._bytes += size
        self._kept += hold
        return None

    def shrink(self, index: int, data: str) -> None:
        """Replace an event's data by data that is no longer."""
        old = self._events[index]
        new = old[: old.index(_DATA) + len(_DATA)] + data.encode() + b"}"
        if len(new) > len(old):
            raise ValueError(f"event {index}: got {len(new)} bytes, expected at most {len(old)}")
        self._events[index] = new
        self._bytes -= len(old) - len(new)

    def close(self, kind: str, at: str, data: str) -> None:
        """Add one of the closing events, whose place has been kept."""
        self._events.append(self._event(kind, at, data))

    def document(self, finished_at: str) -> bytes:
        """The finished document: compact JSON in UTF-8."""
        return b"".join((self._head, b'"%b"' % finished_at.encode(), _EVENTS, b",".join(self._events), _END))

    def _event(self, kind: str, at: str, data: str, sequence: int | None = None) -> bytes:
        number = len(self._events) if sequence is None else sequence
        return (
            f'{{"event_id":"{self._run_id}:event:{number}","sequence":{number},"occurred_at":"{at}",'
            f'"source":{self._source},"type":"{kind}","data":{data}}}'
        ).encode()

    def _most_for_closing(self) -> int:
        """Bytes of the longest closing events, but for the entries of open calls."""
        around = len(self._event("lifecycle", "0" * _TIME, "", sequence=_COUNT)) + 1
        return _CLOSING_EVENTS * around + _MOST_CLOSING_DATA + _ESCAPE * self._limits.max_text
