"""Evidence documents as the checks of EVD-1 to EVD-15 look at them: each rule by itself.

`read_evidence` stops at the first rule that is broken. A report names every broken rule and no other, so here
a rule looks only at the members that it is about, and only as far as they have the JSON type that it needs.
What lies outside is left to the rule that asks for it:

    document = Document.of(await target.traced())
    list(shape_faults(document))  # what is wrong with its members, whatever run it is of

Where nothing of the kind is there at all, a rule has shown nothing: that is `CouldNotRun`, never a pass.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeAlias

from agentbeat_conformance.exchanges import MAX_ANSWER_BYTES, Exchange, Failure
from agentbeat_conformance.requirements import CouldNotRun, Finding
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import TargetProbe, Traced
from agentbeat_protocol import Instant, ProtocolError, read_evidence, read_json

__all__ = [
    "Document",
    "Event",
    "answered",
    "instant",
    "judged",
    "judged_runs",
    "runs",
    "served",
    "shape_faults",
]

#: How many findings one document gives for one rule: enough to see the pattern.
MAX_FINDINGS: Final = 8

#: An event's place in the document, and its members.
Event: TypeAlias = tuple[int, Mapping[str, Any]]


async def runs(target: TargetProbe) -> list[Traced]:
    """Every run whose evidence is judged: one for each of the user's tasks, and the shared control.

    The control's Agent needs no tool, so its document shows how an observed, empty channel is written.

    Raises:
        CouldNotRun: there is no task, or an invocation was not answered 200.
    """
    traced = [await target.traced(number) for number in range(max(1, len(target.tasks)))]
    return [*traced, await target.plain()]


async def judged(target: TargetProbe, rule: Callable[[Document], Iterable[Finding]]) -> list[Finding]:
    """The findings of one rule in all documents.

    Raises:
        CouldNotRun: a document could not be judged, and no other one breaks the rule.
    """
    return await judged_runs(target, lambda run: rule(Document.of(run)))


async def judged_runs(target: TargetProbe, rule: Callable[[Traced], Iterable[Finding]]) -> list[Finding]:
    """As `judged`, for a rule about a run's exchanges and not only its document."""
    findings: list[Finding] = []
    missing: CouldNotRun | None = None
    for run in await runs(target):
        try:
            findings += islice(rule(run), MAX_FINDINGS)
        except CouldNotRun as error:
            missing = missing or error
    if missing is not None and not findings:
        raise missing
    return findings


def served(run: Traced) -> bytes:
    """The bytes of a run's document.

    Raises:
        CouldNotRun: it was not served whole with status 200.
    """
    if run.evidence.failure is Failure.TOO_LARGE:
        raise CouldNotRun("the document goes on past where the suite stops reading (EVD-15)")
    if run.evidence.answer is None or run.evidence.status != 200:
        raise CouldNotRun(f"the evidence was answered {run.evidence.outcome}, not 200 (EVD-1.a)")
    return run.evidence.answer.body


def answered(run: Traced) -> Mapping[str, Any]:
    """The members of a run's invocation answer.

    Raises:
        CouldNotRun: it is no JSON object, which is for INV-1 to say.
    """
    body = run.invocation.answer.body if run.invocation.answer else b""
    try:
        value = _decoded(body)
    except ProtocolError as error:
        raise CouldNotRun(f"the invocation's answer is no strict JSON: {error.rule} (INV-1)") from None
    if not isinstance(value, dict):
        raise CouldNotRun("the invocation's answer is no JSON object (INV-1)")
    return value


# A document is read once for some twenty rules; nobody changes the value.
@lru_cache(maxsize=4)
def _decoded(raw: bytes) -> Any:
    return read_json(raw, max_bytes=MAX_ANSWER_BYTES)


@dataclass(frozen=True, slots=True)
class Document:
    """A run's document: a JSON object with any members.

    Attributes:
        ids: the run that it was asked for.
        members: what was served.
        invocation: the exchange that ran the Agent.
        evidence: the exchange that the document is from.
    """

    ids: Ids
    members: Mapping[str, Any]
    invocation: Exchange
    evidence: Exchange

    @classmethod
    def of(cls, run: Traced) -> Document:
        """The document of a run.

        Raises:
            CouldNotRun: there is none: not served, no strict JSON, or no object. EVD-1 says which.
        """
        try:
            value = _decoded(served(run))
        except ProtocolError as error:
            raise CouldNotRun(f"the document is no strict JSON: {error.rule} (EVD-1.b)") from None
        if not isinstance(value, dict):
            raise CouldNotRun("the document is no JSON object (EVD-1.b)")
        return cls(run.ids, value, run.invocation, run.evidence)

    def text(self, name: str) -> str:
        """A member that is a string.

        Raises:
            CouldNotRun: it is not.
        """
        value = self.members.get(name)
        if not isinstance(value, str):
            raise CouldNotRun(f"the document has no string {name} (EVD-1)")
        return value

    def array(self, name: str) -> list[Any]:
        """A member that is an array.

        Raises:
            CouldNotRun: it is not.
        """
        value = self.members.get(name)
        if not isinstance(value, list):
            raise CouldNotRun(f"the document has no array {name} (EVD-1)")
        return value

    def events(self, *types: str) -> Iterator[Event]:
        """The events that are objects, of these types if any are given, each with its place.

        Raises:
            CouldNotRun: there is no array of events.
        """
        for index, event in enumerate(self.array("events")):
            if isinstance(event, dict) and (not types or event.get("type") in types):
                yield index, event

    def data(self, *types: str) -> Iterator[Event]:
        """The data of the events of these types, as far as they are objects, each with its event's place."""
        for index, event in self.events(*types):
            if isinstance(event.get("data"), dict):
                yield index, event["data"]

    def finding(self, path: str, got: str, expected: str) -> Finding:
        """A finding at a place in the document, shown by the read that served it."""
        return Finding(f"{path or 'the document'}: got {got}, expected {expected}", self.evidence.index)


def instant(value: object) -> Instant | None:
    """The instant that a member names; None when it names none, which is for EVD-4.a to say."""
    try:
        return Instant.parse(value) if isinstance(value, str) else None
    except ProtocolError:
        return None


# --- The shape by itself (EVD-1)

_RUN: Final = "run-a"
_CASE: Final = "case-a"
_TIME: Final = "2026-01-01T00:00:00Z"
_CHANNELS: Final = ["messages", "tools", "files"]
_EVENT: Final[Mapping[str, Any]] = {
    "event_id": f"{_RUN}:event:0",
    "sequence": 0,
    "occurred_at": _TIME,
    "source": "agent",
    "type": "message",
    "data": {"role": "user", "text": "-", "attributes": {}},
}


def shape_faults(document: Document) -> Iterator[tuple[str, Finding]]:
    """Where the document departs from the strict shape: the S-* rule and the finding.

    What other rules judge is put right first, as long as it has the right JSON type: ids (EVD-2, EVD-5), the
    level (EVD-3), times (EVD-4), the number of events (EVD-5), channels (EVD-6). At most one fault is told of
    each event, and one of the rest.
    """
    raw = document.evidence.answer.body if document.evidence.answer else b""
    for rule, path, got, expected in _faults(raw):
        yield rule, document.finding(path, got, expected)


# Three requirements ask for it, of each document in turn.
@lru_cache(maxsize=8)
def _faults(raw: bytes) -> tuple[tuple[str, str, str, str], ...]:
    """Rule, place, what was got and what was expected, for each fault of shape."""
    members = _put_right(_decoded(raw))
    if _fault(members) is None:
        return ()
    events = members.get("events")
    if not isinstance(events, list):
        events = []
    else:
        members["events"] = [_EVENT]
    found = [("", _fault(members))]
    found += [(f"/events/{index}", _fault(_around(event))) for index, event in enumerate(events)]
    return tuple(
        (error.rule, place + error.path.removeprefix("/events/0"), error.got, error.expected)
        if place
        else (error.rule, error.path, error.got, error.expected)
        for place, error in found
        if error is not None and error.rule.startswith("S-")
    )


def _put_right(members: Mapping[str, Any]) -> dict[str, Any]:
    good = {"run_id": _RUN, "case_id": _CASE, "assurance_level": "L2", "started_at": _TIME}
    right = {**members, **_strings(members, {**good, "finished_at": _TIME})}
    channels, events = members.get("observed_channels"), members.get("events")
    if isinstance(channels, list) and all(isinstance(channel, str) for channel in channels):
        right["observed_channels"] = _CHANNELS
    if isinstance(events, list):
        right["events"] = [_event_put_right(event) for event in events[:5_000]] or [_EVENT]
    return right


def _event_put_right(event: Any) -> Any:
    if not isinstance(event, dict):
        return event
    return {**event, **_strings(event, {"event_id": _EVENT["event_id"], "occurred_at": _TIME})}


def _strings(members: Mapping[str, Any], good: Mapping[str, str]) -> dict[str, str]:
    """The good values of those members that are strings."""
    return {name: value for name, value in good.items() if isinstance(members.get(name), str)}


def _around(event: Any) -> dict[str, Any]:
    """A document without a fault around one event."""
    return {
        "schema_version": "target-evidence-v1",
        "run_id": _RUN,
        "case_id": _CASE,
        "assurance_level": "L2",
        "observed_channels": _CHANNELS,
        "started_at": _TIME,
        "finished_at": _TIME,
        "events": [event],
    }


def _fault(members: Mapping[str, Any]) -> ProtocolError | None:
    """The first fault before the meaning is looked at, which other rules judge."""
    try:
        read_evidence(json.dumps(members, ensure_ascii=False).encode(), run_id=_RUN, case_id=_CASE)
    except ProtocolError as error:
        return None if error.rule.startswith("X-") else error
    return None
