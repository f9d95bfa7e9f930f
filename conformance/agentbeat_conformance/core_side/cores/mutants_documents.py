"""Mutants that believe documents which they must refuse, or refuse documents which they must take."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime
from typing import Any, Final

from agentbeat_conformance.core_side.cores.http import Got
from agentbeat_conformance.core_side.cores.preflight import Run
from agentbeat_conformance.core_side.cores.registry import core_mutant
from agentbeat_conformance.core_side.cores.scoring import Trace
from agentbeat_conformance.core_side.cores.small import SmallCore
from agentbeat_conformance.core_side.cores.wires import FailedError
from agentbeat_protocol import InvocationResponse, ProtocolError, SchemaError

__all__ = ["believed"]


def believed(raw: bytes) -> Trace:
    """The events in a document that nobody checked.

    Raises:
        SchemaError: there are none to be found.
    """
    try:
        events = json.loads(raw.decode("utf-8-sig", "replace"))["events"]
        return Trace([event for event in events if event["type"] and isinstance(event["data"], dict)])
    except (ValueError, LookupError, TypeError, RecursionError):
        raise SchemaError("S-TYPE", got="no events", expected="some") from None


@core_mutant(
    "believes-every-document",
    flaw="takes any JSON with events for evidence",
    caught_by=[
        "evidence.ev-074",
        "evidence.ev-142",
        "evidence.ev-146",
        "evidence.ev-154",
        "evidence.ev-192",
        "evidence.ev-233",
        "delivery.other-run",
        "absence.trace-at-l3",
    ],
)
class _BelievesEveryDocument(SmallCore):
    def document(self, run: Run, raw: bytes) -> Trace:
        del run
        return believed(raw)


#: A family of rules that is not looked at, and scenarios about it.
_FORGIVEN: Final = {
    "X-BIND": ("the binding to run and case", ["evidence.ev-142", "evidence.ev-143", "delivery.other-case"]),
    "X-EVENTID": ("event ids", ["evidence.ev-145", "evidence.ev-146", "evidence.ev-147"]),
    "X-ORDER": ("the order of events", ["evidence.ev-148", "evidence.ev-149"]),
    "X-TIME": ("the order of times", ["evidence.ev-074", "evidence.ev-077", "evidence.ev-078"]),
    "X-CHANNEL": ("events on channels that are not listed", ["delivery.unobserved-channel"]),
    "X-TOOL": ("whether results answer calls", ["evidence.ev-116", "evidence.ev-119", "evidence.ev-126"]),
    "S-DATETIME": ("the form of times", ["evidence.ev-080", "evidence.ev-084", "evidence.ev-112"]),
    "S-PATTERN": ("the form of ids", ["evidence.ev-160", "evidence.ev-173"]),
    "S-LEN": ("lengths", ["evidence.ev-135", "evidence.ev-219", "evidence.ev-230"]),
    "S-TYPE": ("types of members", ["evidence.ev-137", "evidence.ev-190", "evidence.ev-207"]),
    "S-ENUM": ("permitted words", ["evidence.ev-155", "evidence.ev-198", "evidence.ev-217"]),
    "S-REQUIRED": ("required members", ["evidence.ev-175", "evidence.ev-180", "evidence.ev-186"]),
    "S-ADDPROP": ("unknown members", ["evidence.ev-141", "evidence.ev-192", "evidence.ev-194"]),
    "S-COUNT": ("the number of events", ["evidence.ev-201"]),
    "S-UNIQUE": ("repeated channels", ["evidence.ev-154"]),
    "J-DUPKEY": ("members that stand twice", ["evidence.ev-233"]),
    "J-NONFINITE": ("NaN and infinities", ["evidence.ev-248", "evidence.ev-250"]),
    "J-BOM": ("a byte-order mark", ["evidence.ev-237"]),
    "J-UTF8": ("invalid UTF-8", ["evidence.ev-241", "evidence.ev-242"]),
    "J-SURROGATE": ("lone surrogates", ["evidence.ev-245", "evidence.ev-247"]),
}


def _forgives(rule: str) -> type[SmallCore]:
    class Forgives(SmallCore):
        def document(self, run: Run, raw: bytes) -> Trace:
            try:
                return super().document(run, raw)
            except ProtocolError as error:
                if error.rule != rule:
                    raise
            return believed(raw)

    return Forgives


for _rule, (_what, _scenarios) in _FORGIVEN.items():
    core_mutant(
        f"forgives-{_rule.lower()}", flaw=f"does not look at {_what} ({_rule})", caught_by=_scenarios
    )(_forgives(_rule))


@core_mutant(
    "dates-of-the-library",
    flaw="reads times with the standard library, which knows no leap second and no year 0",
    caught_by=["evidence.ev-067", "evidence.ev-071", "evidence.ev-079"],
)
class _DatesOfTheLibrary(SmallCore):
    def document(self, run: Run, raw: bytes) -> Trace:
        trace = super().document(run, raw)
        members: Any = json.loads(raw)
        times = [members["started_at"], members["finished_at"]]
        try:
            for text in (*times, *(event["occurred_at"] for event in members["events"])):
                datetime.fromisoformat(text)
        except ValueError:
            raise SchemaError("S-DATETIME", got="a time", expected="another") from None
        return trace


@core_mutant(
    "counts-utf-16",
    flaw="counts a text's length in UTF-16 units",
    caught_by=["evidence.ev-037"],
)
class _CountsUTF16(SmallCore):
    def document(self, run: Run, raw: bytes) -> Trace:
        trace = super().document(run, raw)
        if any(len(data["text"].encode("utf-16-le")) > 2 * 32768 for data in trace.of("message")):
            raise SchemaError("S-LEN", got="a text", expected="a shorter one")
        return trace


@core_mutant(
    "overlooks-the-truncation",
    flaw="takes a channel of which events were dropped for wholly observed",
    caught_by=["absence.truncated"],
)
class _OverlooksTheTruncation(SmallCore):
    def document(self, run: Run, raw: bytes) -> Trace:
        return Trace(super().document(run, raw).events)


@core_mutant(
    "crashes-on-refusal",
    flaw="ends in a traceback where it refuses a document",
    caught_by=["evidence.ev-074", "evidence.ev-253", "evidence.ev-280"],
)
class _CrashesOnRefusal(SmallCore):
    def document(self, run: Run, raw: bytes) -> Trace:
        try:
            return super().document(run, raw)
        except ProtocolError as error:
            raise RuntimeError("refused") from error


@core_mutant(
    "ignores-evidence-digest",
    flaw="does not hold the document to metadata.evidence_digest",
    caught_by=["digest.response-lies", "digest.response-lies-header-right"],
)
class _IgnoresEvidenceDigest(SmallCore):
    def digests_agree(self, got: Got, response: InvocationResponse) -> bool:
        return super().digests_agree(got, response.model_copy(update={"metadata": {}}))


@core_mutant(
    "ignores-repr-digest",
    flaw="does not hold the document to its Repr-Digest",
    caught_by=["digest.header-lies", "digest.header-lies-lower-case"],
)
class _IgnoresReprDigest(SmallCore):
    def digests_agree(self, got: Got, response: InvocationResponse) -> bool:
        return super().digests_agree(dataclasses.replace(got, fields={}), response)


# --- Invocation responses -------------------------------------------------------------------------------

_LENIENT: Final = {
    "final_response": ("a blank final_response", ["empty", "blank", "blank-unicode"], "Order 7 is refunded."),
    "status": ("a status other than completed", ["failed", "running", "failed-at-l2"], "completed"),
    "run_id": ("the run_id of another run", ["other-run"], None),
    "case_id": ("the case_id of another case", ["other-case"], None),
    "schema_version": ("another schema_version", ["other-version"], "target-invocation-v1"),
}


def _takes(member: str, good: str | None) -> type[SmallCore]:
    class Takes(SmallCore):
        def response(self, run: Run, raw: bytes) -> InvocationResponse:
            try:
                members = json.loads(raw)
            except ValueError:
                raise FailedError("target_contract_failed") from None
            if isinstance(members, dict) and isinstance(members.get(member), str):
                members[member] = good or getattr(run, member)
            return super().response(run, json.dumps(members).encode())

    return Takes


for _member, (_what, _names, _good) in _LENIENT.items():
    core_mutant(
        f"takes-any-{_member.replace('_', '-')}",
        flaw=f"takes {_what}",
        caught_by=[f"invocation.{name}" for name in _names],
    )(_takes(_member, _good))


@core_mutant(
    "refuses-unknown-members",
    flaw="refuses a response with a member that it does not know",
    caught_by=["invocation.unknown-member"],
)
class _RefusesUnknownMembers(SmallCore):
    def response(self, run: Run, raw: bytes) -> InvocationResponse:
        response = super().response(run, raw)
        if set(json.loads(raw)) - set(InvocationResponse.model_fields):
            raise FailedError("target_contract_failed")
        return response


@core_mutant(
    "evaluates-failed-runs",
    flaw="goes on with an empty answer where the Target failed",
    caught_by=["invocation.http-500", "invocation.html", "invocation.hang-up", "invocation.failed"],
)
class _EvaluatesFailedRuns(SmallCore):
    async def invoked(self, run: Run) -> InvocationResponse:
        try:
            return await super().invoked(run)
        except FailedError:
            return InvocationResponse(
                schema_version="target-invocation-v1",
                run_id=run.run_id,
                case_id=run.case_id,
                status="completed",
                final_response="none",
            )
