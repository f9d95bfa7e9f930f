"""What a run makes of a profile's deterministic rules: each passed, failed, or not observed with the reason.

1. A rule over a channel that was not wholly observed is not observed, whatever can be seen of it.
2. A rule never passes because something is absent from the calls, unless nothing could hide it: the commands
   must have been observed too, and each must be one that a `command_run` rule of the profile accounts for,
   for a shell can do what any tool does.
3. A tool's result that did not come says nothing: `tool_result` is not observed while a call of that tool is
   unanswered, unless another result matches.
4. A text too long to be searched decides nothing (`patterns`).

`command_run` itself reads every command, so rule 2 does not hold it up. Messages streamed as deltas are read
as one text, from the first delta of a source and role to its next whole message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

from agentbeat_protocol.errors import JSONError
from agentbeat_protocol.evaluation.cases import EvidenceChannel
from agentbeat_protocol.evaluation.paths import ABSENT, find, json_equal
from agentbeat_protocol.evaluation.patterns import pattern_found, searchable
from agentbeat_protocol.evaluation.rules import (
    CommandRun,
    Contains,
    JSONPath,
    Matcher,
    Matches,
    MessageMatches,
    NotContains,
    Rule,
    RuleDimension,
    ToolArguments,
    ToolCalled,
    ToolCount,
    ToolNotCalled,
    ToolOrder,
    ToolResultMatches,
)
from agentbeat_protocol.evaluation.scores import RuleOutcome
from agentbeat_protocol.events import (
    CommandResultEvent,
    Event,
    MessageDeltaEvent,
    MessageEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from agentbeat_protocol.strict_json import read_json

__all__ = ["RuleView", "rule_outcomes"]

#: The channels that each kind of rule looks at.
_CHANNELS: Final[Mapping[str, tuple[EvidenceChannel, ...]]] = {
    "contains": ("final_response",),
    "not_contains": ("final_response",),
    "matches": ("final_response",),
    "json_path": ("final_response",),
    "tool_called": ("tool_call",),
    "tool_not_called": ("tool_call",),
    "tool_arguments": ("tool_call",),
    "tool_order": ("tool_call",),
    "tool_count": ("tool_call",),
    "tool_result": ("tool_call", "tool_result"),
    "message_matches": ("message_event",),
    "command_run": ("tool_result",),
}


class RuleView(Protocol):
    """What the rules may look at: the projected evidence of one run, in the order of its events."""

    @property
    def final_response(self) -> str | None:
        """The Agent's answer; None when it was not observed."""

    @property
    def messages(self) -> Sequence[Event]:
        """The events of the channel `message_event`."""

    @property
    def tool_calls(self) -> Sequence[ToolCallEvent]:
        """The events of the channel `tool_call`."""

    @property
    def tool_results(self) -> Sequence[ToolResultEvent]:
        """The results on the channel `tool_result`."""

    @property
    def commands(self) -> Sequence[CommandResultEvent]:
        """The commands on the channel `tool_result`."""

    def unobserved(self, channel: EvidenceChannel) -> str | None:
        """Why the channel was not wholly observed, as a reason code; None when it was."""


def rule_outcomes(
    rules: Sequence[Rule], view: RuleView, *, applicable: Collection[RuleDimension]
) -> tuple[RuleOutcome, ...]:
    """The outcome of each rule, in the order of the rules.

    Args:
        rules: all rules of the profile; they decide together which commands are accounted for.
        view: what was observed.
        applicable: the dimensions that the case is judged in. A rule of another one has its outcome too,
            marked as counting in nothing.
    """
    run = _Run(view, rules)
    return tuple(_outcome(rule, run, rule.dimension in applicable) for rule in rules)


@dataclass(frozen=True, slots=True)
class _Finding:
    """Whether a matcher matched, and whether that rests on something not being among the calls."""

    matched: bool
    by_absence: bool = False


#: A finding, or the reason why there is none.
_Found = _Finding | str


def _outcome(rule: Rule, run: _Run, applicable: bool) -> RuleOutcome:
    decided = _decide(rule, run)
    return RuleOutcome(
        rule_id=rule.rule_id,
        dimension=rule.dimension,
        weight=rule.weight,
        passed=decided if isinstance(decided, bool) else None,
        reason=None if isinstance(decided, bool) else decided,
        applicable=applicable,
    )


def _decide(rule: Rule, run: _Run) -> bool | str:
    for channel in _CHANNELS[rule.matcher.kind]:
        if (reason := run.view.unobserved(channel)) is not None:
            return reason
    finding = _look(rule.matcher, run)
    if isinstance(finding, str):
        return finding
    passed = finding.matched == (rule.passes_when == "matched")
    if passed and finding.by_absence and run.hiding_place is not None:
        return run.hiding_place
    return passed


class _Run:
    """A view, with what several rules ask of it worked out once."""

    def __init__(self, view: RuleView, rules: Sequence[Rule]) -> None:
        self.view = view
        self._known = [rule.matcher.pattern for rule in rules if isinstance(rule.matcher, CommandRun)]

    @cached_property
    def hiding_place(self) -> str | None:
        """Why an absence from the calls proves nothing; None when it does."""
        if (reason := self.view.unobserved("tool_result")) is not None:
            return reason
        for event in self.view.commands:
            if not any(_search(pattern, event.data.command) for pattern in self._known):
                return "unaccounted_command"
        return None

    @cached_property
    def response_value(self) -> Any:
        """The final response as strict JSON, or `ABSENT` when it is none."""
        try:
            return read_json((self.view.final_response or "").encode())
        except (JSONError, UnicodeEncodeError):
            return ABSENT

    @cached_property
    def unanswered(self) -> frozenset[str]:
        """The names of the tools of which a call has no result."""
        answered = {event.data.call_id for event in self.view.tool_results}
        return frozenset(
            event.data.name for event in self.view.tool_calls if event.data.call_id not in answered
        )

    @cached_property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Role and text of each message, whole or put together from its deltas."""
        return tuple(_messages(self.view.messages))

    def names(self) -> Iterator[str]:
        """The names of the called tools, in order."""
        return (event.data.name for event in self.view.tool_calls)


def _messages(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    streams: dict[tuple[str, str], list[str]] = {}
    for event in events:
        if isinstance(event, MessageDeltaEvent):
            streams.setdefault((event.source, event.data.role), []).append(event.data.delta)
        elif isinstance(event, MessageEvent):
            if pieces := streams.pop((event.source, event.data.role), None):
                yield event.data.role, "".join(pieces)
            yield event.data.role, event.data.text
    for (_, role), pieces in streams.items():
        yield role, "".join(pieces)


def _look(matcher: Matcher, run: _Run) -> _Found:
    match matcher:
        case Contains() | NotContains():
            return _Finding(
                _contains(matcher, run.view.final_response or "") == isinstance(matcher, Contains)
            )
        case Matches():
            return _searched(matcher.pattern, [run.view.final_response or ""])
        case JSONPath():
            return _Finding(_equal_at(matcher.path, run.response_value, matcher.equals))
        case MessageMatches():
            texts = [text for role, text in run.messages if matcher.role in (None, role)]
            return _searched(matcher.pattern, texts)
        case CommandRun():
            return _searched(matcher.pattern, [event.data.command for event in run.view.commands])
        case ToolResultMatches():
            return _result(matcher, run)
    return _calls(matcher, run)


def _calls(
    matcher: ToolCalled | ToolNotCalled | ToolArguments | ToolOrder | ToolCount, run: _Run
) -> _Finding:
    match matcher:
        case ToolCalled():
            return _presence(matcher.name in run.names())
        case ToolNotCalled():
            absent = matcher.name not in run.names()
            return _Finding(absent, by_absence=absent)
        case ToolArguments():
            return _presence(
                any(
                    event.data.name == matcher.name
                    and _equal_at(matcher.path, event.data.arguments, matcher.equals)
                    for event in run.view.tool_calls
                )
            )
        case ToolOrder():
            names = run.names()
            # `in` reads the iterator up to the match: each name must come after the one before it.
            return _presence(all(name in names for name in matcher.names))
    count = sum(name == matcher.name for name in run.names())
    if matcher.min is not None and count < matcher.min:
        return _Finding(False, by_absence=True)
    if matcher.max is not None and count > matcher.max:
        return _Finding(False)
    return _Finding(True, by_absence=matcher.max is not None)


def _result(matcher: ToolResultMatches, run: _Run) -> _Found:
    for event in run.view.tool_results:
        result = event.data
        if (
            result.name == matcher.name
            and matcher.is_error in (None, result.is_error)
            and (matcher.path is None or _equal_at(matcher.path, result.result, matcher.equals))
        ):
            return _Finding(True)
    return "tool_call_unanswered" if matcher.name in run.unanswered else _Finding(False, by_absence=True)


def _presence(found: bool) -> _Finding:
    return _Finding(found, by_absence=not found)


def _contains(matcher: Contains | NotContains, text: str) -> bool:
    if matcher.ignore_case:
        return matcher.text.casefold() in text.casefold()
    return matcher.text in text


def _equal_at(path: str, value: Any, expected: Any) -> bool:
    found = find(path, value)
    return found is not ABSENT and json_equal(found, expected)


def _searched(pattern: str, texts: Iterable[str]) -> _Found:
    whole = True
    for text in texts:
        found = _search(pattern, text)
        if found:
            return _Finding(True)
        whole = whole and found is not None
    return _Finding(False) if whole else "text_too_long"


def _search(pattern: str, text: str) -> bool | None:
    return pattern_found(pattern, text) if searchable(text) else None
