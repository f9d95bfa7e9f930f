"""EVD-5: how many events, in which order, under which ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from agentbeat_conformance.evidence_views import Document, judged
from agentbeat_conformance.requirements import Finding, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_protocol import cut

__all__: list[str] = []

SECTION: Final = "Evidence document"
MAX_EVENTS: Final = 5_000
MAX_EVENT_ID: Final = 192
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
        for index, event in document.events():
            number = _integer(event.get("sequence"))
            if number is None:
                continue
            if last is not None and number <= last:
                yield document.finding(
                    f"/events/{index}/sequence", cut(str(number), 24), f"more than {cut(str(last), 24)}"
                )
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
    return await judged(target, _event_ids)


def _event_ids(document: Document) -> Iterator[Finding]:
    """A document of another run (EVD-2.a) may at least be at one with itself: that is not told twice."""
    given = document.members.get("run_id")
    owners = (document.ids.run_id, given if isinstance(given, str) else document.ids.run_id)
    ids = [(index, _string(event, "event_id")) for index, event in document.events()]
    found = [(index, value, _EVENT_ID.fullmatch(value)) for index, value in ids if value is not None]
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
        for index, event in document.events():
            value = _string(event, "event_id")
            if value is None:
                continue
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
        for index, event in document.events():
            number, value = _integer(event.get("sequence")), _string(event, "event_id")
            if number is not None and number != index:
                yield document.finding(f"/events/{index}/sequence", cut(str(number), 24), str(index))
            elif number is not None and value is not None and not value.endswith(f":{number}"):
                yield document.finding(
                    f"/events/{index}/event_id", repr(cut(value)), f"one that ends in :{number}"
                )

    return await judged(target, rule)


def _integer(value: Any) -> int | None:
    """An integer, also one that is written `1.0`; None for anything else, which is for EVD-1.e to say."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _string(event: Any, name: str) -> str | None:
    value = event.get(name)
    return value if isinstance(value, str) else None
