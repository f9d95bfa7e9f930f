"""Legal oddities of evidence: what the events tell."""

from __future__ import annotations

from typing import Any

from agentbeat_conformance.mutants.base_evidence import Recording
from agentbeat_conformance.mutants.base_target import BaseTarget
from agentbeat_conformance.mutants.evidence_altered import AlteredDocument, every_event, inserted, numbered
from agentbeat_conformance.mutants.registry import oddity

__all__: list[str] = []


class _Working(BaseTarget):
    """A Target whose Agent works in its own way on a task with tools."""

    async def agent(self, recording: Recording) -> str:
        text = recording.invocation.input.text
        recording.message("user", text)
        if "tools" in text:
            self.work(recording)
        recording.message("assistant", "I am ready.")
        return "I am ready."

    def work(self, recording: Recording) -> None:
        """Call tools and record it."""
        raise NotImplementedError


@oddity("parallel-calls-interleaved", text="Its Agent calls two tools at once; the second answers first.")
class ParallelCallsInterleaved(_Working):
    def work(self, recording: Recording) -> None:
        first = recording.call("notes.find", {"about": "tea"})
        second = recording.call("notes.find", {"about": "bread"})
        recording.result(second, "notes.find", [2])
        recording.result(first, "notes.find", [1])


@oddity("call-unanswered", text="One of its calls never came back.")
class CallUnanswered(_Working):
    def work(self, recording: Recording) -> None:
        found = recording.call("notes.find", {"about": "tea"})
        recording.call("notes.add", {"line": "Two minutes."})
        recording.result(found, "notes.find", [1])


@oddity("calls-without-results", text="It records its calls and no result.")
class CallsWithoutResults(_Working):
    def work(self, recording: Recording) -> None:
        recording.call("notes.find", {"about": "tea"})
        recording.call("notes.add", {"line": "Two minutes."})


@oddity(
    "tools-for-one-task-only",
    text="Its Agent needs tools for the first task alone: an observed, empty channel.",
)
class ToolsForOneTaskOnly(_Working):
    def work(self, recording: Recording) -> None:
        if "bread" not in recording.invocation.input.text:
            recording.result(recording.call("notes.find", {"about": "tea"}), "notes.find", [1])


@oddity("results-of-any-kind", text="Its results are null, numbers and deep objects, some of them errors.")
class ResultsOfAnyKind(_Working):
    def work(self, recording: Recording) -> None:
        deep: Any = None
        for _ in range(40):
            deep = {"": [deep], "__proto__": 1e-300, "constructor": 10**300}
        results: list[Any] = [None, False, "", 1.5, [], deep]
        for result in results:
            call_id = recording.call("notes.find", {"": deep, "schema_version": 1})
            answer = {"call_id": call_id, "name": "notes.find", "result": result, "is_error": True}
            recording.add("tool.result", {**answer, "status": "", "error": {"attributes": None}})


@oddity("call-ids-alike", text="Its call ids differ in case, blanks and normal form alone.")
class CallIdsAlike(_Working):
    def work(self, recording: Recording) -> None:
        for call_id in ("call-é", "call-e\u0301", "Call-é", "call-é ", "constructor"):
            call = {"call_id": call_id, "name": "notes.find"}
            recording.add("tool.call", {**call, "arguments": {}})
            recording.add("tool.result", {**call, "result": 1, "is_error": False})


@oddity(
    "files-channel", text="It lists the files first, and records changed files, one outside of the workspace."
)
class FilesChannel(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["observed_channels"] = ["files", "tools", "messages"]
        inserted(document, "file.change", {"path": "../../etc/passwd", "changes": []})
        inserted(document, "file.change", {"path": "tea.txt", "diff": "", "changes": [None, {"line": 1}]})


@oddity("files-channel-empty", text="It lists the files, none of which changed.")
class FilesChannelEmpty(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        document["observed_channels"].append("files")


@oddity("streamed-messages", text="It records the pieces of a message as they came, and then the message.")
class StreamedMessages(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        for piece in (" ready.", " am", "I"):
            delta = {"role": "assistant", "delta": piece}
            inserted(document, "message.delta", delta, at=len(document["events"]) - 1)
        inserted(document, "message.delta", {"role": "tool", "delta": "1"})


@oddity("commands", text="Its Agent runs commands; one was killed and said nothing.")
class Commands(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        inserted(document, "command.result", {"command": "sleep 9", "exit_code": -9, "output": ""})
        done = {"command": "ls\n-l", "exit_code": 2**53 - 1, "output": "\u001b[0m", "status": "odd"}
        inserted(document, "command.result", done)


@oddity("error-after-which-it-goes-on", text="Something failed on the way; the Agent went on to its answer.")
class ErrorAfterWhichItGoesOn(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        inserted(document, "run.error", {"message": "The model did not answer; tried again."})


@oddity("evidence-truncated", text="It stopped recording at a bound, and says what it dropped.")
class EvidenceTruncated(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        event = inserted(
            document, "lifecycle", {"name": "evidence.truncated"}, at=len(document["events"]) - 1
        )
        event["data"]["attributes"] = {"dropped": {"tool.call": 3, "tool.result": 3}}


@oddity("five-thousand-events", text="The run with bread has 5,000 events, the most that there may be.")
class FiveThousandEvents(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        events = document["events"]
        if "bread" in events[0]["data"]["text"]:
            step = {**events[0], "type": "lifecycle", "data": {"name": "step", "attributes": {}}}
            events[1:1] = [dict(step) for _ in range(5_000 - len(events))]
            numbered(document)


@oddity(
    "messages-of-other-roles",
    text="It records what the system said, and each result as a message of the tool.",
)
class MessagesOfOtherRoles(AlteredDocument):
    def alter(self, document: dict[str, Any]) -> None:
        inserted(document, "message", {"role": "tool", "text": "null"}, at=len(document["events"]))
        inserted(document, "message", {"role": "assistant", "text": " "}, at=0)
        inserted(document, "message", {"role": "system", "text": "Use the notes."}, at=0)
        every_event(document, "message", lambda event: event.update(source="Agent № 7, " + "x" * 140))
