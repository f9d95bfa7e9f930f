"""`target-evidence-v1`: the ordered evidence document of one run, in the Target's own word (L2).

Reading goes from the bytes outward, and stops at the first rule that is broken:

1. size and strict JSON (EVD-15, J-*),
2. shape: every member, type and length (EVD-1, S-*),
3. binding to the invocation (EVD-2, X-BIND),
4. event ids and order (EVD-5, X-EVENTID, X-ORDER),
5. time (EVD-4, X-TIME),
6. channels (EVD-8, X-CHANNEL),
7. calls and their results (EVD-7, X-TOOL).

What is odd but allowed is not refused; `evidence_notes` names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from agentbeat_protocol.errors import MeaningError
from agentbeat_protocol.events import (
    CHANNEL_OF,
    TRUNCATED,
    Channel,
    CommandResultEvent,
    Event,
    LifecycleEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from agentbeat_protocol.identifiers import CaseId, RunId
from agentbeat_protocol.invocations import check_binding
from agentbeat_protocol.models import Array, At, Strict, rule_error, validated
from agentbeat_protocol.strict_json import read_json

__all__ = [
    "CHANNEL_OF",
    "MAX_EVENTS",
    "MAX_EVIDENCE_BYTES",
    "TRUNCATED",
    "CommandResultEvent",
    "Event",
    "EvidenceDocument",
    "ToolCallEvent",
    "ToolResultEvent",
    "dropped_counts",
    "evidence_notes",
    "read_evidence",
]

#: Where Core stops reading an evidence document, in bytes (EVD-15).
MAX_EVIDENCE_BYTES: Final = 16 * 1024 * 1024
#: The most events of a document (EVD-5).
MAX_EVENTS: Final = 5_000


class EvidenceDocument(Strict):
    """One run's evidence: which channels were observed, and every event on them in order."""

    schema_version: Literal["target-evidence-v1"]
    run_id: RunId
    case_id: CaseId
    assurance_level: Literal["L2"]
    observed_channels: Array[Channel]
    started_at: At
    finished_at: At
    events: Annotated[
        Array[Annotated[Event, Field(discriminator="type")]], Field(min_length=1, max_length=MAX_EVENTS)
    ]

    @field_validator("observed_channels")
    @classmethod
    def _channels(cls, channels: tuple[str, ...]) -> tuple[str, ...]:
        """EVD-6."""
        if len(set(channels)) < len(channels):
            raise rule_error("S-UNIQUE", "each channel once")
        if not {"messages", "tools"} <= set(channels):
            raise rule_error("S-CHANNELS", "messages and tools, and otherwise only files")
        return channels


def read_evidence(raw: bytes, *, run_id: str, case_id: str) -> EvidenceDocument:
    """The evidence document of this run, every rule of spec 1 held.

    Raises:
        ProtocolError: the first rule that is broken; nothing of the document may be projected then.
    """
    document = validated(EvidenceDocument, read_json(raw, max_bytes=MAX_EVIDENCE_BYTES))
    check_binding(document, run_id=run_id, case_id=case_id, rule="X-BIND")
    _check_order(document)
    if document.finished_at < document.started_at:
        raise MeaningError(
            "X-TIME", path="/finished_at", got="an earlier instant", expected="no instant before started_at"
        )
    _check_channels(document)
    _check_tools(document)
    return document


def _check_order(document: EvidenceDocument) -> None:
    """EVD-5: ids are this run's and unique, the sequence rises strictly."""
    prefix = f"{document.run_id}:event:"
    seen: set[str] = set()
    last = -1
    for index, event in enumerate(document.events):
        if not event.event_id.startswith(prefix) or event.event_id in seen:
            got = "a repeated id" if event.event_id in seen else "an id of another run"
            raise MeaningError(
                "X-EVENTID", path=f"/events/{index}/event_id", got=got, expected="a new id of this run"
            )
        if event.sequence <= last:
            raise MeaningError(
                "X-ORDER",
                path=f"/events/{index}/sequence",
                got=str(event.sequence)[:24],
                expected=f"more than {str(last)[:24]}",
            )
        seen.add(event.event_id)
        last = event.sequence


def _check_channels(document: EvidenceDocument) -> None:
    for index, event in enumerate(document.events):
        channel = CHANNEL_OF[event.type]
        if channel not in document.observed_channels:
            raise MeaningError(
                "X-CHANNEL",
                path=f"/events/{index}/type",
                got=f"an event on {channel}",
                expected="events on observed channels only",
            )


def _check_tools(document: EvidenceDocument) -> None:
    """EVD-7: a result answers one earlier call of the same id and name; ids are called and answered once."""
    names: dict[str, str] = {}
    answered: set[str] = set()
    for index, event in enumerate(document.events):
        if isinstance(event, ToolCallEvent):
            if event.data.call_id in names:
                raise _tool_error(index, "call_id", "a call_id called before", "a new call_id")
            names[event.data.call_id] = event.data.name
        elif isinstance(event, ToolResultEvent):
            call_id = event.data.call_id
            if call_id not in names:
                raise _tool_error(index, "call_id", "a result without an earlier call", "the call_id of one")
            if names[call_id] != event.data.name:
                raise _tool_error(index, "name", "another name", "the name that was called")
            if call_id in answered:
                raise _tool_error(index, "call_id", "a second result", "at most one result for a call")
            answered.add(call_id)


def _tool_error(index: int, member: str, got: str, expected: str) -> MeaningError:
    return MeaningError("X-TOOL", path=f"/events/{index}/data/{member}", got=got, expected=expected)


def evidence_notes(document: EvidenceDocument) -> tuple[str, ...]:
    """What is odd but legal, each named once: `sequence_gap` (EVD-5), `event_outside_bounds` (EVD-12)."""
    return tuple(dict.fromkeys(_notes(document)))


def _notes(document: EvidenceDocument) -> Iterator[str]:
    for index, event in enumerate(document.events):
        if event.sequence != index or not event.event_id.endswith(f":{index}"):
            yield "sequence_gap"
        if not document.started_at <= event.occurred_at <= document.finished_at:
            yield "event_outside_bounds"


def dropped_counts(document: EvidenceDocument) -> dict[str, int] | None:
    """How many events of each type the Target says it dropped: none is an empty mapping.

    None means that the document was truncated, but does not say of what: then no channel is whole.
    """
    counts: dict[str, int] = {}
    for event in document.events:
        if not (isinstance(event, LifecycleEvent) and event.data.name == TRUNCATED):
            continue
        dropped = event.data.attributes.get("dropped")
        if not isinstance(dropped, dict) or not dropped:
            return None
        for kind, count in dropped.items():
            if kind not in CHANNEL_OF or isinstance(count, bool) or not isinstance(count, int) or count < 1:
                return None
            counts[kind] = counts.get(kind, 0) + count
    return counts
