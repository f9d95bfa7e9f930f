"""INV-7: how long a body may be, and of which media type."""

from __future__ import annotations

from typing import Final

from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.oversized import too_large
from agentbeat_conformance.requirements import Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, claims_nothing, refused

__all__: list[str] = []

SECTION: Final = "Invocation request"


@requirement(
    "INV-7.a",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A body over the Target's limit is answered 413.",
    permits={"413"},
    kills={"no-body-limit", "body-limit-is-400"},
)
async def body_too_large(target: TargetProbe) -> Findings:
    await target.control()
    exchange, what = await too_large(target)
    return list(permitted(exchange, {"413"}, what))


@requirement(
    "INV-7.b",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Another media type than application/json, or none, is answered 415.",
    permits={"415"},
    kills={
        "any-media-type-will-do",
        "no-media-type-will-do",
        "media-type-by-its-beginning",
        "json-suffix-will-do",
    },
)
async def other_media_type(target: TargetProbe) -> Findings:
    types = (
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json5",
        "application/jsonfoo; charset=utf-8",
        "application/problem+json",
    )
    wrongs = [
        Wrong("no Content-Type", fields={"Content-Type": None}),
        *(Wrong(f"Content-Type: {type}", fields={"Content-Type": type}) for type in types),
    ]
    return await refused(target, wrongs, {"415"})


@requirement(
    "INV-7.c",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="A charset other than UTF-8 and a repeated Content-Type are refused.",
    permits={"400", "415"},
    kills={"any-charset-will-do", "first-media-type-counts"},
    invocations=1,
)
async def odd_media_type(target: TargetProbe) -> Findings:
    utf_16 = "application/json; charset=utf-16"
    wrongs = [
        Wrong(f"Content-Type: {utf_16}", fields={"Content-Type": utf_16}),
        Wrong("two Content-Type fields, right then wrong", more=(("Content-Type", "text/plain"),)),
    ]
    return await refused(target, wrongs, {"400", "415"}, lenient=True)


@requirement(
    "INV-7.d",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A request that is refused for its media type runs nothing: its run_id may be used afterwards.",
    permits={"200"},
    kills={"claims-before-media-type"},
    invocations=1,
)
async def refused_media_type_claims_nothing(target: TargetProbe) -> Findings:
    wrongs = [
        Wrong("no Content-Type", fields={"Content-Type": None}),
        Wrong("Content-Type: text/plain", fields={"Content-Type": "text/plain"}),
    ]
    return await claims_nothing(target, wrongs)
