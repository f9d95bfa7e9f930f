"""Deterministic rules of a scoring profile: what is looked for, and which outcome is good for the defender.

Rules are ours, so strict. A rule is one matcher over one channel; `passes_when` says whether the rule passes
when the matcher finds its pattern (`matched`, the default) or when it does not (`not_matched`). The matchers
named for an absence (`not_contains`, `tool_not_called`) match when the thing is absent. What a run makes of a
rule is decided in `matching`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from agentbeat_protocol.evaluation.paths import check_path
from agentbeat_protocol.evaluation.patterns import check_pattern
from agentbeat_protocol.models import Array, ExactDecimal, Integral, Name, NotNull, Strict, rule_error

__all__ = [
    "CommandRun",
    "Contains",
    "JSONPath",
    "Matcher",
    "Matches",
    "MessageMatches",
    "MetricPolicy",
    "NotContains",
    "Rule",
    "RuleDimension",
    "ToolArguments",
    "ToolCalled",
    "ToolCount",
    "ToolNotCalled",
    "ToolOrder",
    "ToolResultMatches",
]

RuleDimension = Literal["utility", "security", "asr"]

Phrase = Annotated[str, StringConstraints(min_length=1, max_length=32_768)]
#: A regular expression, searched for anywhere in the text in linear time: no look-around, no back-references.
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=4_096)]
#: A singular JSONPath query (RFC 9535, section 2.3.5.1): names and indexes only, such as `$.order['id']`.
Path = Annotated[str, StringConstraints(min_length=1, max_length=1_024)]
Count = Annotated[Annotated[int, Field(ge=0), Integral] | None, NotNull]


class _Matcher(Strict):
    @field_validator("pattern", check_fields=False)
    @classmethod
    def _pattern_compiles(cls, pattern: str) -> str:
        return check_pattern(pattern)

    @field_validator("path", check_fields=False)
    @classmethod
    def _path_is_singular(cls, path: str) -> str:
        return check_path(path)


class Contains(_Matcher):
    """The final response contains the text."""

    kind: Literal["contains"]
    text: Phrase
    ignore_case: bool = False


class NotContains(_Matcher):
    """The final response does not contain the text."""

    kind: Literal["not_contains"]
    text: Phrase
    ignore_case: bool = False


class Matches(_Matcher):
    """The pattern is found in the final response."""

    kind: Literal["matches"]
    pattern: Pattern


class JSONPath(_Matcher):
    """The final response is strict JSON and holds `equals` at `path`."""

    kind: Literal["json_path"]
    path: Path
    equals: Any


class ToolCalled(_Matcher):
    """A tool of this name was called."""

    kind: Literal["tool_called"]
    name: Name


class ToolNotCalled(_Matcher):
    """No tool of this name was called."""

    kind: Literal["tool_not_called"]
    name: Name


class ToolArguments(_Matcher):
    """A call of this tool has `equals` at `path` in its arguments."""

    kind: Literal["tool_arguments"]
    name: Name
    path: Path
    equals: Any


class ToolOrder(_Matcher):
    """The tools were called in this order, others may stand between."""

    kind: Literal["tool_order"]
    names: Annotated[Array[Name], Field(min_length=2)]


class ToolCount(_Matcher):
    """The tool was called at least `min` and at most `max` times."""

    kind: Literal["tool_count"]
    name: Name
    min: Count = None
    max: Count = None

    @model_validator(mode="after")
    def _has_a_bound(self) -> ToolCount:
        if self.min is None and self.max is None:
            raise rule_error("S-REQUIRED", "at least one of min and max")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise rule_error("S-RANGE", "min not above max")
        return self


class ToolResultMatches(_Matcher):
    """A result of this tool has `equals` at `path`, or is (no) error where only `is_error` is given."""

    kind: Literal["tool_result"]
    name: Name
    path: Annotated[Path | None, NotNull] = None
    equals: Any = None
    is_error: Annotated[bool | None, NotNull] = None

    @model_validator(mode="after")
    def _has_a_condition(self) -> ToolResultMatches:
        if self.path is None and self.is_error is None:
            raise rule_error("S-REQUIRED", "path and equals, or is_error")
        if (self.path is None) == ("equals" in self.model_fields_set):
            raise rule_error("S-REQUIRED", "path and equals together")
        return self


class MessageMatches(_Matcher):
    """The pattern is found in a message, of this role where one is given."""

    kind: Literal["message_matches"]
    pattern: Pattern
    role: Annotated[Literal["system", "user", "assistant", "tool"] | None, NotNull] = None


class CommandRun(_Matcher):
    """The pattern is found in a command that was run."""

    kind: Literal["command_run"]
    pattern: Pattern


Matcher = Annotated[
    Contains
    | NotContains
    | Matches
    | JSONPath
    | ToolCalled
    | ToolNotCalled
    | ToolArguments
    | ToolOrder
    | ToolCount
    | ToolResultMatches
    | MessageMatches
    | CommandRun,
    Field(discriminator="kind"),
]


class Rule(Strict):
    """One deterministic rule."""

    rule_id: Name
    dimension: RuleDimension
    weight: Annotated[int, Field(gt=0), Integral] = 1
    matcher: Matcher
    passes_when: Literal["matched", "not_matched"] = "matched"


class MetricPolicy(Strict):
    """How verdicts are fixed from scores."""

    #: A verified native security failure or attack success decides, whatever a judge says.
    native_security_gate: bool = True
    #: Scores from the first to the second number, both included, are for review; none by default.
    review_band: Annotated[Array[ExactDecimal] | None, NotNull] = None

    @field_validator("review_band")
    @classmethod
    def _band_is_an_interval(cls, band: tuple[Decimal, ...] | None) -> tuple[Decimal, ...] | None:
        if band is not None and (len(band) != 2 or not 0 <= band[0] <= band[1] <= 1):
            raise rule_error("S-RANGE", "two numbers from 0 to 1, the lower one first")
        return band
