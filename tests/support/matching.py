"""The outcomes of rules over what was observed, projected as Core projects it."""

from __future__ import annotations

from typing import Any

from agentbeat_core.scoring import project
from agentbeat_protocol.evaluation import ObservationTier, RuleOutcome
from agentbeat_protocol.evaluation.matching import rule_outcomes
from agentbeat_protocol.evidence import EvidenceDocument
from agentbeat_protocol.scoring import Observations
from support.scoring import profile

__all__ = ["outcome", "outcomes"]

DIMENSIONS = frozenset({"utility", "security", "asr"})


def outcomes(
    *rules: dict[str, Any],
    evidence: EvidenceDocument | None = None,
    final_response: str | None = "Done.",
    tier: ObservationTier = "L2",
) -> list[RuleOutcome]:
    """The outcomes of these rules over what was observed."""
    view = project(Observations(final_response=final_response, evidence=evidence), tier=tier)
    return list(rule_outcomes(profile(*rules).rules, view, applicable=DIMENSIONS))


def outcome(shape: dict[str, Any], **observed: Any) -> tuple[bool | None, str | None]:
    """Whether one rule passed, and its reason."""
    (only,) = outcomes(shape, **observed)
    return only.passed, only.reason
