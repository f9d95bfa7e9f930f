"""Targets that break EVD-4 to EVD-8 or EVD-12: times, order, channels, and tool events."""

from __future__ import annotations

from typing import Any, Final

from agentbeat_conformance.mutants.evidence_altered import (
    AlteredDocument,
    every_event,
    inserted,
    numbered,
)
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_conformance.requirements import Tier

__all__: list[str] = []

L2: Final[Tier] = "target-L2"

# --- EVD-4 and EVD-12: times


@target_mutant("time-without-offset", tier=L2, breaks={"EVD-4.a"}, text="Its events have local times.")
class TimeWithoutOffset(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for event in document["events"]:
            event["occurred_at"] = event["occurred_at"].removesuffix("Z")


@target_mutant("time-of-no-day", tier=L2, breaks={"EVD-4.a"}, text="It begins on a day that no month has.")
class TimeOfNoDay(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["started_at"] = "2026-02-30T10:00:00Z"


@target_mutant(
    "leap-second-in-mid-month", tier=L2, breaks={"EVD-4.a"}, text="It has a leap second where none can be."
)
class LeapSecondInMidMonth(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["events"][0]["occurred_at"] = "2026-03-15T23:59:60Z"


@target_mutant(
    "finished-a-nanosecond-before-started",
    tier=L2,
    breaks={"EVD-4.b"},
    text="Its documents end a nanosecond before they begin.",
)
class FinishedANanosecondBeforeStarted(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["started_at"] = "2026-03-01T10:00:00.123456789Z"
        document["finished_at"] = "2026-03-01T10:00:00.123456788Z"


@target_mutant(
    "finished-an-offset-before-started",
    tier=L2,
    breaks={"EVD-4.b"},
    text="Its documents end before they begin, though the texts are in order.",
)
class FinishedAnOffsetBeforeStarted(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["started_at"] = "2026-03-01T08:00:00-05:00"
        document["finished_at"] = "2026-03-01T09:00:00Z"


@target_mutant("event-after-finish", tier=L2, breaks={"EVD-12"}, text="Its last event comes after the end.")
class EventAfterFinish(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["events"][-1]["occurred_at"] = "2100-01-01T00:00:00Z"


# --- EVD-5: order


@target_mutant(
    "sequence-falls", tier=L2, breaks={"EVD-5.a"}, text="Its last two events have each other's place."
)
class SequenceFalls(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        events = document["events"]
        events[-2]["sequence"], events[-1]["sequence"] = events[-1]["sequence"], events[-2]["sequence"]


@target_mutant("sequence-repeats", tier=L2, breaks={"EVD-5.a"}, text="Two events have one sequence.")
class SequenceRepeats(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["events"][1]["sequence"] = 0


@target_mutant("sequence-with-gap", tier=L2, breaks={"EVD-5.e"}, text="Its sequence leaves a number out.")
class SequenceWithGap(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        event = document["events"][-1]
        event["sequence"] += 1
        event["event_id"] = f"{document['run_id']}:event:{event['sequence']}"


@target_mutant(
    "event-id-of-other-run", tier=L2, breaks={"EVD-5.b"}, text="One of its events is another run's."
)
class EventIdOfOtherRun(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["events"][0]["event_id"] = f"{document['run_id']}x:event:0"


@target_mutant("event-id-random", tier=L2, breaks={"EVD-5.b"}, text="Its event ids are made without the run.")
class EventIdRandom(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for event in document["events"]:
            event["event_id"] = f"evt_{event['sequence']:08x}"


@target_mutant("event-id-too-long", tier=L2, breaks={"EVD-5.b"}, text="An event id has 193 characters.")
class EventIdTooLong(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        prefix = f"{document['run_id']}:event:"
        document["events"][0]["event_id"] = prefix + "0" * (193 - len(prefix))


@target_mutant(
    "event-id-repeats", tier=L2, breaks={"EVD-5.c"}, text="All its events have the id of the first."
)
class EventIdRepeats(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for event in document["events"]:
            event["event_id"] = f"{document['run_id']}:event:0"


@target_mutant(
    "no-events", tier=L2, breaks={"EVD-5.d"}, text="A run without tool calls has a document without events."
)
class NoEvents(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        if all(event["type"] == "message" for event in document["events"]):
            document["events"] = []


@target_mutant("too-many-events", tier=L2, breaks={"EVD-5.d"}, text="It records 5,001 events.")
class TooManyEvents(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        events = document["events"]
        if any(event["type"] == "tool.call" for event in events):
            delta = {"role": "assistant", "delta": "-", "attributes": {}}
            template = {**events[0], "type": "message.delta", "data": delta}
            events[1:1] = [dict(template) for _ in range(5_001 - len(events))]
            numbered(document)


# --- EVD-6 and EVD-8: channels


@target_mutant("channel-repeats", tier=L2, breaks={"EVD-6.a"}, text="It lists the tools twice.")
class ChannelRepeats(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["observed_channels"].append("tools")


@target_mutant(
    "empty-channel-unlisted", tier=L2, breaks={"EVD-6.b"}, text="It lists the tools only when one was called."
)
class EmptyChannelUnlisted(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        if all(event["type"] != "tool.call" for event in document["events"]):
            document["observed_channels"] = ["messages"]


@target_mutant(
    "channel-unknown", tier=L2, breaks={"EVD-6.c"}, text="It lists a channel that the spec has not."
)
class ChannelUnknown(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["observed_channels"].append("network")


@target_mutant(
    "file-change-on-unlisted-channel",
    tier=L2,
    breaks={"EVD-8"},
    text="It records a changed file and does not list the files.",
)
class FileChangeOnUnlistedChannel(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        inserted(document, "file.change", {"path": "notes/tea.txt", "diff": "+Two minutes."})


# --- EVD-7: tool events


@target_mutant("result-before-call", tier=L2, breaks={"EVD-7.a"}, text="A result stands before its call.")
class ResultBeforeCall(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        events = document["events"]
        results = [index for index, event in enumerate(events) if event["type"] == "tool.result"]
        for index in results[:1]:
            events[index - 1], events[index] = events[index], events[index - 1]
        numbered(document)


@target_mutant("result-without-call", tier=L2, breaks={"EVD-7.a"}, text="It records results and no calls.")
class ResultWithoutCall(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["events"] = [event for event in document["events"] if event["type"] != "tool.call"]
        numbered(document)


@target_mutant(
    "result-under-another-name",
    tier=L2,
    breaks={"EVD-7.b"},
    text="Its results name the tool without its group.",
)
class ResultUnderAnotherName(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        def shorten(event: dict[str, Any]) -> None:
            event["data"]["name"] = event["data"]["name"].rpartition(".")[2]

        every_event(document, "tool.result", shorten)


@target_mutant(
    "call-id-counts-per-tool", tier=L2, breaks={"EVD-7.c"}, text="It counts its calls for each tool from 1."
)
class CallIdCountsPerTool(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for type in ("tool.call", "tool.result"):
            every_event(document, type, lambda event: event["data"].update(call_id="1"))


@target_mutant(
    "call-recorded-twice", tier=L2, breaks={"EVD-7.c"}, text="It records a call when asked and when made."
)
class CallRecordedTwice(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for index in _backwards(document, "tool.call"):
            inserted(document, "tool.call", document["events"][index]["data"], at=index)


@target_mutant(
    "result-recorded-twice", tier=L2, breaks={"EVD-7.d"}, text="It records a result for each attempt."
)
class ResultRecordedTwice(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for index in _backwards(document, "tool.result"):
            inserted(document, "tool.result", document["events"][index]["data"], at=index + 1)


def _backwards(document: dict[str, Any], type: str) -> list[int]:
    """The places of the events of a type, the last one first."""
    return [index for index, event in enumerate(document["events"]) if event["type"] == type][::-1]
