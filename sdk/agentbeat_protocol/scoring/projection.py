"""From what was observed to what may be judged: only the channels of the agreed tier.

    L1  final_response
    L2  and message_event, tool_call, tool_result
    L3  and state_before_after, native_score

Each required channel has one of four states. *Observed, empty* is an observation: the channel was
watched and nothing happened on it. *Truncated* is none: something is known to be lost, so the channel
counts as missing, whatever can still be seen of it. L3's channels come from the State Controller's
accepted word alone.

A projection holds references into the evidence document, never copies, and is built in one pass over it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from agentbeat_protocol.evaluation import (
    TIER_CHANNELS,
    ChannelState,
    EvidenceChannel,
    EvidenceReport,
    KeptDocument,
    ObservationTier,
    StateReport,
)
from agentbeat_protocol.evidence import (
    CommandResultEvent,
    Event,
    EvidenceDocument,
    ToolCallEvent,
    ToolResultEvent,
    dropped_counts,
    evidence_notes,
)
from agentbeat_protocol.models import Ratio
from agentbeat_protocol.scoring.observations import Observations
from agentbeat_protocol.scoring.receipt_records import UNSIGNED

__all__ = ["PROJECTED", "Projection", "project"]

#: The channel that events of each type are projected on. `file.change` stays with the document.
PROJECTED: Final[Mapping[str, EvidenceChannel]] = {
    "message": "message_event",
    "message.delta": "message_event",
    "run.error": "message_event",
    "lifecycle": "message_event",
    "tool.call": "tool_call",
    "tool.result": "tool_result",
    "command.result": "tool_result",
}

_EVENT_CHANNELS: Final[tuple[EvidenceChannel, ...]] = ("message_event", "tool_call", "tool_result")
_WHOLE: Final = frozenset({"observed", "observed_empty"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Projection:
    """The evidence of the agreed tier; it is also the view that rules look at.

    Attributes:
        tier: the tier that was asked for.
        channels: the state of each channel that the tier requires, in the tier's order.
        final_response: the Agent's answer; None when it was not observed.
        events: the projected events in the order of the document.
        messages, tool_calls, tool_results, commands: the same events by kind.
        state: the State Controller's accepted report; None below L3 and when there is none.
        notes: what was odd but allowed in the document.
    """

    tier: ObservationTier
    channels: tuple[ChannelState, ...]
    final_response: str | None
    events: tuple[Event, ...] = ()
    messages: tuple[Event, ...] = ()
    tool_calls: tuple[ToolCallEvent, ...] = ()
    tool_results: tuple[ToolResultEvent, ...] = ()
    commands: tuple[CommandResultEvent, ...] = ()
    state: StateReport | None = None
    notes: tuple[str, ...] = ()

    def unobserved(self, channel: EvidenceChannel) -> str | None:
        """Why the channel was not wholly observed, such as `tool_call_truncated`; None when it was."""
        for each in self.channels:
            if each.channel == channel:
                return None if each.state in _WHOLE else f"{channel}_{each.state}"
        return f"{channel}_not_in_tier"

    @property
    def missing_channels(self) -> tuple[EvidenceChannel, ...]:
        """The required channels that were not wholly observed."""
        return tuple(each.channel for each in self.channels if each.state not in _WHOLE)

    @property
    def complete(self) -> bool:
        """Whether every required channel was wholly observed."""
        return not self.missing_channels

    @property
    def observed_tier(self) -> ObservationTier | None:
        """The highest tier that the evidence supports, never above the one that was asked for."""
        missing = set(self.missing_channels)
        observed: ObservationTier | None = None
        for tier, channels in TIER_CHANNELS.items():
            if tier <= self.tier and missing.isdisjoint(channels):
                observed = tier
        return observed

    def report(self, documents: Iterable[KeptDocument] = ()) -> EvidenceReport:
        """The projection as it is published, with the documents that were kept."""
        channels = tuple(each.channel for each in self.channels)
        missing = self.missing_channels
        return EvidenceReport(
            observation_tier=self.tier,
            channels=channels,
            missing_channels=missing,
            coverage=Ratio.of(len(channels) - len(missing), len(channels)),
            status="partial" if missing else "complete",
            observations=self.channels,
            notes=self.notes,
            documents=tuple(documents),
        )


def project(observations: Observations, *, tier: ObservationTier) -> Projection:
    """The projection of `observations` on the channels that `tier` requires, and on no others."""
    required = TIER_CHANNELS[tier]
    response = observations.final_response
    # A blank answer is none: INV-1 asks for a character that is not white space.
    if response is not None and not response.strip():
        response = None
    states = [_response_state(observations.final_response, response)]
    document = observations.evidence if "tool_call" in required else None
    events: dict[str, list[Event]] = {channel: [] for channel in _EVENT_CHANNELS}
    ordered: list[Event] = []
    if document is not None:
        for event in document.events:
            channel = PROJECTED.get(event.type)
            if channel is not None:
                events[channel].append(event)
                ordered.append(event)
    if "tool_call" in required:
        states += _event_states(document, observations.evidence_reason, events)
    state = _accepted(observations.state) if "native_score" in required else None
    if "native_score" in required:
        states += _native_states(state, observations)
    results = events["tool_result"]
    return Projection(
        tier=tier,
        channels=tuple(states),
        final_response=response,
        events=tuple(ordered),
        messages=tuple(events["message_event"]),
        # The channel's events are of this one type: `PROJECTED` says so.
        tool_calls=cast("tuple[ToolCallEvent, ...]", tuple(events["tool_call"])),
        tool_results=tuple(event for event in results if isinstance(event, ToolResultEvent)),
        commands=tuple(event for event in results if isinstance(event, CommandResultEvent)),
        state=state,
        notes=() if document is None else evidence_notes(document),
    )


def _response_state(received: str | None, response: str | None) -> ChannelState:
    reason = (
        None
        if response is not None
        else "final_response_absent"
        if received is None
        else "final_response_blank"
    )
    return ChannelState(
        channel="final_response",
        state="missing" if response is None else "observed",
        count=0 if response is None else 1,
        source="target_response",
        reason=reason,
    )


def _event_states(
    document: EvidenceDocument | None, missing_reason: str | None, events: Mapping[str, list[Event]]
) -> list[ChannelState]:
    if document is None:
        reason = missing_reason or "evidence_not_observed"
        return [_events_of(channel, "missing", 0, reason) for channel in _EVENT_CHANNELS]
    dropped = dropped_counts(document)
    # A type that is projected nowhere, `file.change`, may have been dropped without harm to the others.
    lost = Counter(PROJECTED.get(kind) for kind in dropped) if dropped is not None else None
    states = []
    for channel in _EVENT_CHANNELS:
        count = len(events[channel])
        if lost is None or lost[channel]:
            states.append(_events_of(channel, "truncated", count, "evidence_truncated"))
        else:
            states.append(_events_of(channel, "observed" if count else "observed_empty", count, None))
    return states


def _events_of(
    channel: EvidenceChannel,
    state: Literal["observed", "observed_empty", "truncated", "missing"],
    count: int,
    reason: str | None,
) -> ChannelState:
    return ChannelState(channel=channel, state=state, count=count, source="target_evidence", reason=reason)


def _accepted(report: StateReport | None) -> StateReport | None:
    """The report, if its receipt was accepted: signed and verified, or unsigned with no key registered."""
    usable = report is not None and report.accepted and report.signature != "refused"
    return report if usable else None


def _native_states(state: StateReport | None, observations: Observations) -> list[ChannelState]:
    codes = observations.state.reason_codes if observations.state is not None else ()
    # That it is unsigned is never why a receipt was refused.
    refusing = next((code for code in codes if code != UNSIGNED), "state_not_observed")
    refused = observations.state_reason or refusing
    scored = state is not None and state.native_score is not None and state.verdicts is not None
    return [
        ChannelState(
            channel="state_before_after",
            state="missing" if state is None else "observed",
            count=0 if state is None else 2,
            source="state_controller",
            reason=refused if state is None else None,
        ),
        ChannelState(
            channel="native_score",
            state="observed" if scored else "missing",
            count=1 if scored else 0,
            source="state_controller",
            # Accepted, but no check was decided: there is no number, and that is no 0.
            reason=None if scored else refused if state is None else "native_score_undecided",
        ),
    ]
