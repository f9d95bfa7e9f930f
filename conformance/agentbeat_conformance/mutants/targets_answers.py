"""Targets that break INV-1: what they answer, and what they will not take."""

# ruff: noqa: ARG002 - an override keeps its parent's signature
from __future__ import annotations

from typing import Any

from agentbeat_conformance.mutants.base_target import Asked, BaseTarget, Refused, Reply
from agentbeat_conformance.mutants.registry import target_mutant
from agentbeat_protocol import INVOCATION_PATH, Invocation

__all__: list[str] = []


@target_mutant("answers-202", breaks={"INV-1.a"}, text="It says that it has accepted the run, with 202.")
class Answers202(BaseTarget):
    def finished(self, reply: Reply, asked: Asked) -> Reply:
        if reply.status == 200 and asked.path == INVOCATION_PATH:
            reply.status = 202
        return super().finished(reply, asked)


@target_mutant("always-busy", breaks={"INV-1.a"}, text="It is at its limit without running anything.")
class AlwaysBusy(BaseTarget):
    max_runs = 0


@target_mutant("answers-prose", breaks={"INV-1.b"}, text="Its answer is the Agent's text and nothing else.")
class AnswersProse(BaseTarget):
    async def completed(self, invocation: Invocation) -> Reply:
        reply = await super().completed(invocation)
        return Reply(200, reply.members()["final_response"].encode(), [("Content-Type", "text/plain")])


class _Answering(BaseTarget):
    """Says something else in its answer; a value of `...` leaves a member out."""

    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {}

    def response(self, invocation: Invocation, final_response: str) -> dict[str, Any]:
        members = {**super().response(invocation, final_response), **self.amended(invocation)}
        return {name: value for name, value in members.items() if value is not ...}


@target_mutant(
    "answers-other-version", breaks={"INV-1.b"}, text="Its answer is of a version that nobody asked for."
)
class AnswersOtherVersion(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"schema_version": "target-invocation-v2"}


@target_mutant("answers-another-run", breaks={"INV-1.c"}, text="Its answer has a run_id of its own making.")
class AnswersAnotherRun(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"run_id": f"{invocation.run_id}-internal"}


@target_mutant("answers-another-case", breaks={"INV-1.c"}, text="Its answer has no case_id but the run's.")
class AnswersAnotherCase(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"case_id": invocation.run_id.replace("run-", "case-", 1) + "-x"}


@target_mutant(
    "answers-the-first-run", breaks={"INV-1.c"}, text="It keeps its first answer and gives it to every run."
)
class AnswersTheFirstRun(BaseTarget):
    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, Any] | None = None

    def response(self, invocation: Invocation, final_response: str) -> dict[str, Any]:
        self._first = self._first or super().response(invocation, final_response)
        return self._first


@target_mutant("status-success", breaks={"INV-1.d"}, text="Its answer has the status success.")
class StatusSuccess(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"status": "success"}


@target_mutant("no-final-response", breaks={"INV-1.e"}, text="Its answer has no final_response.")
class NoFinalResponse(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"final_response": ..., "response": "I am ready."}


@target_mutant("blank-final-response", breaks={"INV-1.e"}, text="Its final_response is blank.")
class BlankFinalResponse(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"final_response": "\n\u2003"}


@target_mutant(
    "structured-final-response", breaks={"INV-1.e"}, text="Its final_response is a list of content parts."
)
class StructuredFinalResponse(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"final_response": [{"type": "text", "text": "I am ready."}]}


@target_mutant("usage-is-a-list", breaks={"INV-1.f"}, text="Its usage is a list of one entry for each call.")
class UsageIsAList(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"usage": [{"total": 12}]}


@target_mutant("metadata-is-text", breaks={"INV-1.f"}, text="The metadata of its answer is text.")
class MetadataIsText(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"metadata": "none"}


@target_mutant("task-id-is-a-number", breaks={"INV-1.f"}, text="Its task_id is a number.")
class TaskIdIsANumber(_Answering):
    def amended(self, invocation: Invocation) -> dict[str, Any]:
        return {"task_id": 7}


@target_mutant("wants-metadata", breaks={"INV-1.g"}, text="It refuses an invocation without metadata.")
class WantsMetadata(BaseTarget):
    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        if "metadata" not in members:
            raise Refused("invalid_metadata", "expected metadata")
        return members


@target_mutant(
    "reads-members-in-order",
    breaks={"INV-1.g"},
    text="It refuses members in another order than the example's.",
)
class ReadsMembersInOrder(BaseTarget):
    def tolerate(self, members: dict[str, Any]) -> dict[str, Any]:
        order = [name for name in ("schema_version", "run_id", "case_id", "input") if name in members]
        if [name for name in members if name in order] != order:
            raise Refused("invalid_request_schema", "expected the members in order")
        return members


@target_mutant(
    "content-type-to-the-letter", breaks={"INV-1.h"}, text="It compares Content-Type to the letter."
)
class ContentTypeToTheLetter(BaseTarget):
    def check_media_type(self, asked: Asked) -> None:
        if asked.value("content-type") != "application/json":
            raise Refused("unsupported_media_type", "expected application/json")


@target_mutant("short-ids-only", breaks={"INV-1.i"}, text="It refuses ids over 128 characters.")
class ShortIdsOnly(BaseTarget):
    def validate(self, value: object) -> Invocation:
        invocation = super().validate(value)
        if len(invocation.run_id) > 128 or len(invocation.case_id) > 128:
            raise Refused("invalid_run_id", "expected a shorter id")
        return invocation


class _ShortTexts(BaseTarget):
    longest = 0

    def validate(self, value: object) -> Invocation:
        invocation = super().validate(value)
        if len(invocation.input.text.encode()) > self.longest:
            raise Refused("invalid_input", "expected a shorter text")
        return invocation


@target_mutant("text-limit-is-exclusive", breaks={"INV-1.j"}, text="It refuses a text of exactly 512 KiB.")
class TextLimitIsExclusive(_ShortTexts):
    longest = 512 * 1024 - 1


@target_mutant("short-texts-only", breaks={"INV-1.j"}, text="It refuses texts over 32 KiB as invalid.")
class ShortTextsOnly(_ShortTexts):
    longest = 32 * 1024
