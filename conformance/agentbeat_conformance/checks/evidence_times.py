"""EVD-4 and EVD-12: times, compared as instants and to the last digit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.evidence_views import Document, instant, judged
from agentbeat_conformance.requirements import CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_protocol import Instant, ProtocolError

__all__: list[str] = []

SECTION: Final = "Evidence document"


@requirement(
    "EVD-4.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="started_at, finished_at and every occurred_at are RFC 3339 times with an offset.",
    permits={"200"},
    kills={"leap-second-in-mid-month", "time-of-no-day", "time-without-offset"},
)
async def times_are_rfc_3339(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        times = [(f"/{name}", document.members.get(name)) for name in ("started_at", "finished_at")]
        times += [
            (f"/events/{index}/occurred_at", event.get("occurred_at")) for index, event in document.events()
        ]
        for path, value in times:
            if isinstance(value, str):
                try:
                    Instant.parse(value)
                except ProtocolError as error:
                    yield document.finding(path, error.got, error.expected)

    return await judged(target, rule)


@requirement(
    "EVD-4.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="finished_at is no earlier than started_at, to the last digit and as instants.",
    permits={"200"},
    kills={"finished-an-offset-before-started", "finished-a-nanosecond-before-started"},
)
async def ends_after_it_starts(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        started, finished = _bounds(document)
        if finished < started:
            yield document.finding("/finished_at", finished.text[:64], f"no earlier than {started.text[:64]}")

    return await judged(target, rule)


@requirement(
    "EVD-12",
    level=Level.SHOULD,
    tier="target-L2",
    section=SECTION,
    text="Every occurred_at lies within started_at and finished_at.",
    permits={"200"},
    kills={"event-after-finish"},
)
async def happens_within_the_run(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        started, finished = _bounds(document)
        for index, event in document.events():
            occurred = instant(event.get("occurred_at"))
            if occurred is not None and not started <= occurred <= finished:
                expected = f"within {started.text[:64]} and {finished.text[:64]}"
                yield document.finding(f"/events/{index}/occurred_at", occurred.text[:64], expected)

    return await judged(target, rule)


def _bounds(document: Document) -> tuple[Instant, Instant]:
    started, finished = (instant(document.text(name)) for name in ("started_at", "finished_at"))
    if started is None or finished is None:
        raise CouldNotRun("started_at or finished_at is no time (EVD-4.a)")
    return started, finished
