"""Legal oddities of evidence: how a document is written down, and what its times and numbers look like."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentbeat_conformance.mutants.base_evidence import Recording
from agentbeat_conformance.mutants.base_target import BaseTarget
from agentbeat_conformance.mutants.evidence_altered import AlteredDocument
from agentbeat_conformance.mutants.registry import oddity

__all__: list[str] = []

# --- How the JSON is written


@oddity("members-in-reverse-order", text="Its documents have their members in reverse order at every level.")
class MembersInReverseOrder(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        return super().encode(_reversed(document))


def _reversed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _reversed(member) for name, member in reversed(list(value.items()))}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


@oddity(
    "pretty-printed-with-crlf", text="Its documents are indented with tabs and CRLF, and end in a newline."
)
class PrettyPrintedWithCrlf(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        return (json.dumps(document, indent="\t") + "\n").replace("\n", "\r\n").encode()


@oddity("escaped-member-names", text="Its documents escape letters in member names and full stops in values.")
class EscapedMemberNames(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        text = json.dumps(document).replace('"run_id"', '"\\u0072un_id"')
        return text.replace("notes.", "notes\\u002E").replace("tool.call", "tool\\u002ecall").encode()


@oddity("integers-as-numbers", text="It writes its integers as 0.0, 1.0 and 2e0.")
class IntegersAsNumbers(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        text = super().encode(document)
        return text.replace(b'"sequence": 2,', b'"sequence": 2E0,').replace(
            b'"sequence": 1,', b'"sequence": 1.0,'
        )


@oddity("sixteen-mib", text="Its documents are filled up with blanks to 16 MiB, and not a byte more.")
class SixteenMiB(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        raw = super().encode(document)
        return raw.ljust(16 * 1024 * 1024) if b"bread" in raw else raw


# --- Times


class _Times(AlteredDocument):
    """A Target with times of its own: (the start, each event in turn, the end)."""

    start = ""
    events: tuple[str, ...] = ()
    end = ""

    def alter(self, document: dict[str, Any]) -> None:
        document["started_at"], document["finished_at"] = self.start, self.end
        for index, event in enumerate(document["events"]):
            event["occurred_at"] = self.events[index % len(self.events)]


@oddity("nanoseconds", text="Its times have nine digits of a second, and some have fifteen.")
class Nanoseconds(_Times):
    start = "2026-03-01T10:00:00.123456788Z"
    events = ("2026-03-01T10:00:00.123456788Z", "2026-03-01T10:00:00.123456788999999Z")
    end = "2026-03-01T10:00:00.123456789Z"


@oddity("leap-second", text="The run begins before a leap second, and its events happen within it.")
class LeapSecond(_Times):
    start = "2026-06-30T23:59:59.9Z"
    events = ("2026-06-30T23:59:60Z", "2026-07-01T08:59:60.5+09:00")
    end = "2026-07-01T00:00:00Z"


@oddity("offsets-of-all-kinds", text="Its times have +00:00, -00:00, half hours, and small letters t and z.")
class OffsetsOfAllKinds(_Times):
    start = "2026-03-01T10:00:00+00:00"
    events = ("2026-03-01T10:00:01-00:00", "2026-03-01T15:30:02+05:30", "2026-03-01t10:00:03z")
    end = "2026-03-01T05:00:04-05:00"


@oddity("all-at-one-instant", text="A coarse clock: both ends and all events are at one instant.")
class AllAtOneInstant(_Times):
    start = end = "2026-03-01T10:00:00Z"
    events = (start,)


@oddity("clock-of-1970", text="Its clock was never set.")
class ClockOf1970(_Times):
    start = "1970-01-01T00:00:00Z"
    events = ("1970-01-01T00:00:00.5Z",)
    end = "1970-01-01T00:00:01Z"


@oddity("times-go-back", text="Its events are in order, and their times go back and forth within the run.")
class TimesGoBack(_Times):
    start = "2026-03-01T10:00:00Z"
    events = ("2026-03-01T10:00:05Z", "2026-03-01T10:00:03Z", "2026-03-01T10:00:04Z")
    end = "2026-03-01T10:00:09Z"


# --- Numbers of events


@oddity("sequence-from-seven", text="Its sequence begins with 7.")
class SequenceFromSeven(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for event in document["events"]:
            event["sequence"] += 7
            event["event_id"] = f"{document['run_id']}:event:{event['sequence']}"


@oddity("event-ids-with-leading-zeros", text="Its event ids have six digits.")
class EventIdsWithLeadingZeros(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for event in document["events"]:
            event["event_id"] = f"{document['run_id']}:event:{event['sequence']:06d}"


# --- Texts


@oddity(
    "texts-beyond-the-basic-plane",
    text="Its texts and call ids are as long as may be, counted in code points.",
)
class TextsBeyondTheBasicPlane(BaseTarget):
    async def agent(self, recording: Recording) -> str:
        recording.message("user", recording.invocation.input.text)
        if "tools" in recording.invocation.input.text:
            data = {"call_id": "\U0001f600" * 256, "name": "\U0001f9ed" * 256}
            recording.add("tool.call", {**data, "arguments": {}})
            recording.add("tool.result", {**data, "result": "\u0000\u2028\u202e", "is_error": False})
        answer = "\U0001f600" * 40_000
        recording.message("assistant", answer)
        return answer

    def encode(self, document: Mapping[str, Any]) -> bytes:
        return json.dumps(document, ensure_ascii=False).encode()


@oddity(
    "answer-with-redacted-part",
    text="Its answer holds what looks like a secret; the document has it redacted.",
)
class AnswerWithRedactedPart(BaseTarget):
    async def agent(self, recording: Recording) -> str:
        await super().agent(recording)
        answer = "Ask for sk-example-0123456789 at the desk, or for Bearer example-0123456789."
        recording.message("assistant", answer)
        return answer
