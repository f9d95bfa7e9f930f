"""Targets that break EVD-1, EVD-2, EVD-3 or EVD-15: the document as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Reply
from agentbeat_conformance.mutants.evidence_altered import AlteredDocument, every_event, inserted
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_conformance.requirements import Tier

__all__: list[str] = []

L2: Final[Tier] = "target-L2"

# --- EVD-1.a: served


@target_mutant(
    "evidence-redirected",
    tier=L2,
    breaks={"EVD-1.a"},
    text="It sends the reader of evidence to another host.",
)
class EvidenceRedirected(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        super().evidence(run_id, asked)
        return Reply(302, b"", [("Location", f"https://evidence.example/v1/evidence/{run_id}")])


@target_mutant(
    "evidence-no-content", tier=L2, breaks={"EVD-1.a"}, text="It answers the read of evidence with 204."
)
class EvidenceNoContent(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        super().evidence(run_id, asked)
        return Reply(204)


# --- EVD-1.b: strict JSON


@target_mutant(
    "evidence-bare-events", tier=L2, breaks={"EVD-1.b"}, text="It serves the list of events alone."
)
class EvidenceBareEvents(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        return json.dumps(document["events"]).encode()


@target_mutant(
    "evidence-bom", tier=L2, breaks={"EVD-1.b"}, text="Its documents begin with a byte-order mark."
)
class EvidenceBom(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        return b"\xef\xbb\xbf" + super().encode(document)


@target_mutant(
    "evidence-duplicate-member", tier=L2, breaks={"EVD-1.b"}, text="Its documents name the run twice."
)
class EvidenceDuplicateMember(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        return b'{"run_id": "run-first", ' + super().encode(document)[1:]


@target_mutant("evidence-latin-1", tier=L2, breaks={"EVD-1.b"}, text="Its documents are not UTF-8.")
class EvidenceLatin1(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        return super().encode(document).replace(b'"agent"', b'"agent \xe9"')


@target_mutant(
    "evidence-lone-surrogate",
    tier=L2,
    breaks={"EVD-1.b"},
    text="It cuts texts by UTF-16 units and leaves half a character.",
)
class EvidenceLoneSurrogate(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        return super().encode(document).replace(b'"agent"', b'"agent \\ud83d"')


@target_mutant(
    "evidence-nan", tier=L2, breaks={"EVD-1.b"}, text="It writes NaN for a cost that it does not know."
)
class EvidenceNaN(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        return super().encode(document).replace(b'"attributes": {}', b'"attributes": {"cost": NaN}')


# --- EVD-1.c: no other member


@target_mutant(
    "evidence-extra-member", tier=L2, breaks={"EVD-1.c"}, text="Its documents have a score beside the events."
)
class EvidenceExtraMember(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["score"] = 1


@target_mutant(
    "event-extra-member", tier=L2, breaks={"EVD-1.c"}, text="Its events have a duration beside the data."
)
class EventExtraMember(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["events"][-1]["duration_ms"] = 12


@target_mutant(
    "event-data-extra-member",
    tier=L2,
    breaks={"EVD-1.c"},
    text="Its tool results have a duration in the data.",
)
class EventDataExtraMember(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        every_event(document, "tool.result", lambda event: event["data"].update(duration_ms=12))


# --- EVD-1.d: every member


@target_mutant(
    "evidence-without-start", tier=L2, breaks={"EVD-1.d"}, text="Its documents do not say when the run began."
)
class EvidenceWithoutStart(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        del document["started_at"]


@target_mutant(
    "event-without-attributes",
    tier=L2,
    breaks={"EVD-1.d"},
    text="It leaves attributes out where there are none.",
)
class EventWithoutAttributes(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for event in document["events"]:
            del event["data"]["attributes"]


@target_mutant(
    "file-change-without-change",
    tier=L2,
    breaks={"EVD-1.d"},
    text="It names the file that was changed, and neither diff nor changes.",
)
class FileChangeWithoutChange(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["observed_channels"].append("files")
        inserted(document, "file.change", {"path": "notes/tea.txt"})


# --- EVD-1.e: types, values, lengths


@target_mutant(
    "evidence-schema-version",
    tier=L2,
    breaks={"EVD-1.e"},
    text="Its documents are of a version that is not there.",
)
class EvidenceSchemaVersion(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["schema_version"] = "target-evidence-v2"


@target_mutant(
    "event-type-unknown",
    tier=L2,
    breaks={"EVD-1.e"},
    text="It has a type of event that the spec does not have.",
)
class EventTypeUnknown(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        inserted(document, "reasoning", {"text": "I think."})


@target_mutant(
    "arguments-as-text",
    tier=L2,
    breaks={"EVD-1.e"},
    text="Its tool calls hold their arguments as JSON in a string, as model providers send them.",
)
class ArgumentsAsText(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        def as_text(event: dict[str, Any]) -> None:
            event["data"]["arguments"] = json.dumps(event["data"]["arguments"])

        every_event(document, "tool.call", as_text)


@target_mutant("is-error-as-number", tier=L2, breaks={"EVD-1.e"}, text="It writes is_error as 0 or 1.")
class IsErrorAsNumber(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        every_event(document, "tool.result", lambda event: event["data"].update(is_error=0))


@target_mutant(
    "exit-code-null",
    tier=L2,
    breaks={"EVD-1.e"},
    text="A command that was killed has null for its exit code.",
)
class ExitCodeNull(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        inserted(document, "command.result", {"command": "sleep 9", "exit_code": None, "output": ""})


@target_mutant(
    "message-empty",
    tier=L2,
    breaks={"EVD-1.e"},
    text="It records an empty message for a turn of tool calls alone.",
)
class MessageEmpty(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        inserted(document, "message", {"role": "assistant", "text": ""})


@target_mutant("message-too-long", tier=L2, breaks={"EVD-1.e"}, text="It does not cut long messages.")
class MessageTooLong(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        inserted(document, "message", {"role": "tool", "text": "x" * 32_769})


@target_mutant("sequence-as-text", tier=L2, breaks={"EVD-1.e"}, text="It writes the sequence as a string.")
class SequenceAsText(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for event in document["events"]:
            event["sequence"] = str(event["sequence"])


# --- EVD-2: whose it is


@target_mutant(
    "evidence-other-run-id",
    tier=L2,
    breaks={"EVD-2.a"},
    text="Its documents name a run id of the Target's own.",
)
class EvidenceOtherRunId(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["run_id"] = "run-inner-" + document["run_id"].removeprefix("run-")


@target_mutant(
    "evidence-other-case-id", tier=L2, breaks={"EVD-2.b"}, text="Its documents name one case for all runs."
)
class EvidenceOtherCaseId(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["case_id"] = "case-default"


@target_mutant(
    "evidence-of-latest-run",
    tier=L2,
    breaks={"EVD-2.c"},
    consequences={"EVD-2.a", "EVD-2.b", "EVD-11.a"},
    text="It serves the document of its latest run for every run that it knows, so what is read changes.",
)
class EvidenceOfLatestRun(BaseTarget):
    def evidence(self, run_id: str, asked: Asked) -> Reply:
        super().evidence(run_id, asked)
        return super().evidence(list(self.documents)[-1], asked)


# --- EVD-3 and EVD-15


@target_mutant(
    "evidence-claims-l3", tier=L2, breaks={"EVD-3"}, text="It claims the level that is not its to claim."
)
class EvidenceClaimsL3(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["assurance_level"] = "L3"


@target_mutant(
    "evidence-over-16-mib",
    tier=L2,
    breaks={"EVD-15"},
    text="The document of a run with tools is a byte longer than 16 MiB.",
)
class EvidenceOver16MiB(BaseTarget):
    def encode(self, document: Mapping[str, Any]) -> bytes:
        raw = super().encode(document)
        return raw.ljust(16 * 1024 * 1024 + 1) if b'"tool.call"' in raw else raw
