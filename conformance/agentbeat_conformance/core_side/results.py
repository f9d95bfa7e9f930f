"""A Core's result as the suite reads it: only the members that spec 3 names, and tolerant of all others.

Another Core may add members of its own, so nothing is refused for being unknown. What is not there, or is of
another type, reads as None, and the expectation that needs it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from agentbeat_protocol import ProtocolError, read_json
from agentbeat_protocol.evaluation import METRICS

__all__ = ["ChannelWord", "CoreResult", "MetricWord", "Spoken", "UnreadableResultError", "read_result"]

_MAX_RESULT: Final = 64 * 1024 * 1024


class UnreadableResultError(Exception):
    """What came is no `eval-run-response-v1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a Core gave for one request.

    Attributes:
        output: its standard output.
        messages: the end of its standard error.
        exit_code: None where it is no process, or was ended.
        overdue: whether it was ended because it took too long.
    """

    output: bytes
    messages: str = ""
    exit_code: int | None = None
    overdue: bool = False


@dataclass(frozen=True, slots=True)
class ChannelWord:
    """What a result says of one channel."""

    state: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class MetricWord:
    """What a result says of one dimension."""

    verdict: str | None
    score: Decimal | None
    official: bool | None


@dataclass(frozen=True, slots=True)
class CoreResult:
    """A view of an `eval-run-response-v1`."""

    members: Mapping[str, Any]

    def at(self, path: str) -> Any:
        """The value at a dotted path of member names; None where there is none."""
        value: Any = self.members
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def number(self, path: str) -> Decimal | None:
        """The number at a path; a decimal written as a string is one."""
        return _number(self.at(path))

    @property
    def status(self) -> Any:
        """`completed`, `failed` or `refused`."""
        return self.at("eval_run.status")

    @property
    def failure_code(self) -> Any:
        """Why there is no evaluation."""
        return self.at("failure.code")

    @property
    def evaluated(self) -> bool:
        """Whether there is an evaluation."""
        return self.at("evaluation") is not None

    @property
    def missing(self) -> frozenset[str] | None:
        """The missing channels; None when the result does not list them."""
        value = self.at("evaluation.evidence.missing_channels")
        if not isinstance(value, list):
            return None
        return frozenset(name for name in value if isinstance(name, str))

    def channel(self, name: str) -> ChannelWord:
        """What became of a channel."""
        observations = self.at("evaluation.evidence.observations")
        for each in observations if isinstance(observations, list) else []:
            if isinstance(each, dict) and each.get("channel") == name:
                reason = each.get("reason")
                return ChannelWord(_text(each.get("state")), _text(reason))
        return ChannelWord(None, None)

    def metric(self, name: str) -> MetricWord:
        """What a dimension's verdict and score are."""
        at = f"evaluation.metrics.{name}"
        official = self.at(f"{at}.official")
        return MetricWord(
            _text(self.at(f"{at}.verdict")),
            self.number(f"{at}.score"),
            official if isinstance(official, bool) else None,
        )

    @property
    def metrics(self) -> dict[str, MetricWord]:
        """Every dimension."""
        return {name: self.metric(name) for name in METRICS}

    def accepted_documents(self, kind: str) -> int:
        """How many kept documents of a kind are said to be accepted, where the result keeps any."""
        documents = self.at("evaluation.evidence.documents")
        listed = documents if isinstance(documents, list) else []
        return sum(
            isinstance(each, dict) and each.get("kind") == kind and each.get("accepted") is True
            for each in listed
        )


def read_result(spoken: Spoken) -> CoreResult:
    """The result in a Core's standard output.

    Raises:
        UnreadableResultError: it holds none; the message says what it holds instead.
    """
    if spoken.overdue:
        raise UnreadableResultError("no result in time; the command was ended")
    ended = "" if spoken.exit_code is None else f", exit code {spoken.exit_code}"
    try:
        value = read_json(spoken.output, max_bytes=_MAX_RESULT, max_depth=512)
    except ProtocolError as error:
        what = "nothing" if not spoken.output.strip() else f"no JSON ({error.rule})"
        raise UnreadableResultError(f"got {what} on standard output{ended}") from None
    if not isinstance(value, dict):
        raise UnreadableResultError(f"got JSON that is no object{ended}")
    if value.get("schema_version") != "eval-run-response-v1":
        raise UnreadableResultError(
            f"got an object without schema_version eval-run-response-v1{ended}; "
            f"its members are {', '.join(sorted(map(str, value)))[:200]}"
        )
    return CoreResult(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return None
