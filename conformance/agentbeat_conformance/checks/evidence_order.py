"""EVD-5: how many events, in which order, under which ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar

from agentbeat_conformance.evidence_views import Document, judged
from agentbeat_conformance.requirements import CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_protocol import cut

__all__: list[str] = []

SECTION: Final = "Evidence document"
MAX_EVENTS: Final = 5_000
MAX_EVENT_ID: Final = 192
ValueT = TypeVar("ValueT")
_EVENT_ID = re.compile(r"(run-[a-z0-9][a-z0-9-]*):event:[0-9]+")


@requirement(
    "EVD-5.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="sequence rises strictly in document order.",
    permits={"200"},
    kills={"sequence-falls", "sequence-repeats"},
)
async def sequence_rises(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        last: int | None = None
        for index, number in _sequences(document):
            if last is not None and number <= last:
                got, least = cut(str(number), 24), cut(str(last), 24)
                yield document.finding(f"/events/{index}/sequence", got, f"more than {least}")
            last = number

    return await judged(target, rule)


@requirement(
    "EVD-5.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Every event_id is this run's: run_id, `:event:` and decimal digits, at most 192 characters.",
    permits={"200"},
    kills={"event-id-of-other-run", "event-id-random", "event-id-too-long"},
)
async def event_ids_are_the_runs(target: TargetProbe) -> Findings:
    return await judged(target, _foreign_ids)


def _foreign_ids(document: Document) -> Iterator[Finding]:
    """A document of another run (EVD-2.a) may at least be at one with itself: that is not told twice."""
    given = document.members.get("run_id")
    owners = (document.ids.run_id, given if isinstance(given, str) else document.ids.run_id)
    found = [(index, value, _EVENT_ID.fullmatch(value)) for index, value in _event_ids(document)]
    owner = next((match[1] for _, _, match in found if match and match[1] in owners), owners[0])
    for index, value, match in found:
        if match is None or match[1] != owner or len(value) > MAX_EVENT_ID:
            expected = f"{owner}:event:<decimal>, at most {MAX_EVENT_ID} characters"
            yield document.finding(f"/events/{index}/event_id", repr(cut(value)), expected)


@requirement(
    "EVD-5.c",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="No event_id stands there twice.",
    permits={"200"},
    kills={"event-id-repeats"},
)
async def event_ids_are_unique(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        seen: set[str] = set()
        for index, value in _event_ids(document):
            if value in seen:
                yield document.finding(f"/events/{index}/event_id", "an id that stands before", "a new one")
            seen.add(value)

    return await judged(target, rule)


@requirement(
    "EVD-5.d",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="The document has 1 to 5,000 events.",
    permits={"200"},
    kills={"no-events", "too-many-events"},
)
async def has_events(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        count = len(document.array("events"))
        if not 1 <= count <= MAX_EVENTS:
            yield document.finding("/events", f"{count} events", f"1 to {MAX_EVENTS}")

    return await judged(target, rule)


@requirement(
    "EVD-5.e",
    level=Level.SHOULD,
    tier="target-L2",
    section=SECTION,
    text="sequence is 0, 1, 2 and so on, and each event_id ends in it.",
    permits={"200"},
    kills={"sequence-with-gap"},
)
async def sequence_has_no_gap(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        ids = dict(_event_ids(document))
        for index, number in _sequences(document):
            if number != index:
                yield document.finding(f"/events/{index}/sequence", cut(str(number), 24), str(index))
            elif not ids.get(index, f":{index}").endswith(f":{index}"):
                got = repr(cut(ids[index]))
                yield document.finding(f"/events/{index}/event_id", got, f"one that ends in :{index}")

    return await judged(target, rule)


def _sequences(document: Document) -> list[tuple[int, int]]:
    """The place and the number of every event whose `sequence` is an integer, also one written `1.0`."""
    values = [(index, event.get("sequence")) for index, event in document.events()]
    whole = [(index, _integer(value)) for index, value in values]
    return _some([(index, number) for index, number in whole if number is not None], document, "sequence")


def _event_ids(document: Document) -> list[tuple[int, str]]:
    """The place and the id of every event whose `event_id` is a string."""
    values = [(index, event.get("event_id")) for index, event in document.events()]
    return _some([(index, value) for index, value in values if isinstance(value, str)], document, "event_id")


def _some(found: list[tuple[int, ValueT]], document: Document, name: str) -> list[tuple[int, ValueT]]:
    """What was found; a document with events but nothing to look at shows nothing."""
    if not found and document.array("events"):
        raise CouldNotRun(f"no event has {name} with the type that it has to have (EVD-1)")
    return found


def _integer(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
