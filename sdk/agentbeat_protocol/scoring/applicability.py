"""Which dimensions a case is judged in.

The case says it for each dimension. A sample of the role `utility_only` has no attack in it: security
and attack success are then structurally not applicable, whatever the case says of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from agentbeat_protocol.evaluation import METRICS, AgentCase, Applicability, MetricName, RuleDimension

__all__ = ["RULE_DIMENSIONS", "Applies", "applicability", "judged_dimensions"]

#: The dimensions that have a number of their own; `overall` is a gate over their verdicts.
RULE_DIMENSIONS: Final[tuple[RuleDimension, ...]] = get_args(RuleDimension)

_STRUCTURAL: Final = frozenset({"security", "asr"})


@dataclass(frozen=True, slots=True)
class Applies:
    """Whether a dimension applies, and the reason code when it is not plainly so."""

    applicability: Applicability
    reason: str | None = None


def applicability(case: AgentCase) -> Mapping[MetricName, Applies]:
    """What the case is judged in, for each of the four metrics."""
    return {name: _applies(case, name) for name in METRICS}


def judged_dimensions(case: AgentCase) -> frozenset[RuleDimension]:
    """The dimensions whose rules count: all but those that do not apply. One in review may apply."""
    applies = applicability(case)
    return frozenset(name for name in RULE_DIMENSIONS if applies[name].applicability != "not_applicable")


def _applies(case: AgentCase, name: MetricName) -> Applies:
    if case.sample_role == "utility_only" and name in _STRUCTURAL:
        return Applies("not_applicable", "utility_only_sample")
    match getattr(case.expected, name).applicability:
        case "not_applicable":
            return Applies("not_applicable", "not_applicable_to_case")
        case "review":
            return Applies("review", "applicability_in_review")
    return Applies("applicable")
