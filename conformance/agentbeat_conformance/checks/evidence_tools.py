"""EVD-7: tool calls and their results. Calls may stay unanswered, and parallel ones may interleave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from agentbeat_conformance.evidence_views import Document, judged
from agentbeat_conformance.requirements import CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_protocol import cut

__all__: list[str] = []

SECTION: Final = "Evidence document"


@dataclass(frozen=True, slots=True)
class _ToolEvent:
    """A call or a result, as far as it can be told which."""

    index: int
    is_call: bool
    call_id: str
    name: str


def _tool_events(document: Document) -> list[_ToolEvent]:
    found = [
        _ToolEvent(index, is_call, data["call_id"], data["name"])
        for kind, is_call in (("tool.call", True), ("tool.result", False))
        for index, data in document.data(kind)
        if all(isinstance(data.get(name), str) for name in ("call_id", "name"))
    ]
    return sorted(found, key=lambda event: event.index)


async def _judged(
    target: TargetProbe, rule: Callable[[Document, list[_ToolEvent]], Iterator[Finding]]
) -> Findings:
    """The findings of a rule about tool events, of which the user's tasks must have made some.

    Raises:
        CouldNotRun: there is no tool event in any document.
    """
    seen = 0

    def with_events(document: Document) -> Iterator[Finding]:
        nonlocal seen
        events = _tool_events(document)
        seen += len(events)
        return rule(document, events)

    findings = await judged(target, with_events)
    if not seen:
        raise CouldNotRun("the task made no tool call: give one that makes the Agent use its tools (--task)")
    return findings


@requirement(
    "EVD-7.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Each tool.result has an earlier tool.call with its call_id.",
    permits={"200"},
    kills={"result-before-call", "result-without-call"},
)
async def results_follow_calls(target: TargetProbe) -> Findings:
    def rule(document: Document, events: list[_ToolEvent]) -> Iterator[Finding]:
        called: set[str] = set()
        for event in events:
            if event.is_call:
                called.add(event.call_id)
            elif event.call_id not in called:
                yield _finding(document, event, "call_id", "an earlier tool.call with it")

    return await _judged(target, rule)


@requirement(
    "EVD-7.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Each tool.result has the name of the tool.call with its call_id.",
    permits={"200"},
    kills={"result-under-another-name"},
)
async def results_have_the_name(target: TargetProbe) -> Findings:
    def rule(document: Document, events: list[_ToolEvent]) -> Iterator[Finding]:
        names: dict[str, set[str]] = {}
        for event in events:
            if event.is_call:
                names.setdefault(event.call_id, set()).add(event.name)
        for event in events:
            # A result without any call is for EVD-7.a, a call_id with several for EVD-7.c.
            if not event.is_call and event.name not in names.get(event.call_id, {event.name}):
                yield _finding(document, event, "name", "the name that was called")

    return await _judged(target, rule)


@requirement(
    "EVD-7.c",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="A call_id is called once.",
    permits={"200"},
    kills={"call-id-counts-per-tool", "call-recorded-twice"},
)
async def calls_are_unique(target: TargetProbe) -> Findings:
    def rule(document: Document, events: list[_ToolEvent]) -> Iterator[Finding]:
        called: set[str] = set()
        for event in events:
            if event.is_call and event.call_id in called:
                yield _finding(document, event, "call_id", "one that was not called before")
            if event.is_call:
                called.add(event.call_id)

    return await _judged(target, rule)


@requirement(
    "EVD-7.d",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="A call_id is answered at most once.",
    permits={"200"},
    kills={"result-recorded-twice"},
)
async def results_are_unique(target: TargetProbe) -> Findings:
    def rule(document: Document, events: list[_ToolEvent]) -> Iterator[Finding]:
        calls = Counter(event.call_id for event in events if event.is_call)
        answered: Counter[str] = Counter()
        for event in events:
            if event.is_call:
                continue
            answered[event.call_id] += 1
            # A call_id that was called twice (EVD-7.c) may be answered as often: that is not told twice.
            if answered[event.call_id] > max(1, calls[event.call_id]):
                yield _finding(document, event, "call_id", "one that was not answered before")

    return await _judged(target, rule)


def _finding(document: Document, event: _ToolEvent, member: str, expected: str) -> Finding:
    got = event.call_id if member == "call_id" else event.name
    return document.finding(f"/events/{event.index}/data/{member}", repr(cut(got)), expected)
