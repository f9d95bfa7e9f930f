"""EVD-6 and EVD-8: which channels were observed. An observed, empty channel is listed like any other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.evidence_views import Document, judged
from agentbeat_conformance.requirements import Finding, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_protocol import CHANNEL_OF, cut

__all__: list[str] = []

SECTION: Final = "Evidence document"


@requirement(
    "EVD-6.a",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="observed_channels names no channel twice.",
    permits={"200"},
    kills={"channel-repeats"},
)
async def channels_are_unique(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        channels = _channels(document)
        for channel in dict.fromkeys(channels):
            if channels.count(channel) > 1:
                yield document.finding(
                    "/observed_channels", f"{cut(channel)!r} repeated", "each channel once"
                )

    return await judged(target, rule)


@requirement(
    "EVD-6.b",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="observed_channels holds messages and tools, also when nothing happened on one of them.",
    permits={"200"},
    kills={"empty-channel-unlisted"},
)
async def channels_hold_both(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        channels = _channels(document)
        for channel in ("messages", "tools"):
            if channel not in channels:
                yield document.finding("/observed_channels", f"no {channel}", "messages and tools")

    return await judged(target, rule)


@requirement(
    "EVD-6.c",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="observed_channels holds nothing but messages, tools and files.",
    permits={"200"},
    kills={"channel-unknown"},
)
async def channels_are_known(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        for channel in dict.fromkeys(_channels(document)):
            if channel not in CHANNEL_OF.values():
                yield document.finding(
                    "/observed_channels", repr(cut(channel)), "messages, tools and at most files"
                )

    return await judged(target, rule)


@requirement(
    "EVD-8",
    level=Level.MUST,
    tier="target-L2",
    section=SECTION,
    text="Every event's channel is in observed_channels.",
    permits={"200"},
    kills={"file-change-on-unlisted-channel"},
)
async def events_are_on_channels(target: TargetProbe) -> Findings:
    def rule(document: Document) -> Iterator[Finding]:
        channels = _channels(document)
        for index, event in document.events(*CHANNEL_OF):
            channel = CHANNEL_OF[event["type"]]
            if channel not in channels:
                yield document.finding(
                    f"/events/{index}/type", f"an event on {channel}", "one on a channel listed"
                )

    return await judged(target, rule)


def _channels(document: Document) -> list[str]:
    return [channel for channel in document.array("observed_channels") if isinstance(channel, str)]
