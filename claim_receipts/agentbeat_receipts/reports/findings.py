"""Findings by reason: how many of each, its rule, and the first few places.

A batch can break one rule in a hundred thousand places. A reader needs the rule, the number and some places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from agentbeat_protocol import cut
from agentbeat_receipts.claims.results import ClaimFinding, ClaimVerdict
from agentbeat_receipts.verification.reasons import Scope, Verdict
from agentbeat_receipts.verification.results import ChainReport, Finding

__all__ = ["Place", "ReasonGroup", "chain_reasons", "claim_reasons"]

#: How many places of a reason are kept.
PLACES: Final = 20

_SUBJECT: Final = 200
_DETAIL: Final = 300

_ORDER: Final = tuple(Verdict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reason was found, and got and expected; both are safe to print."""

    subject: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonGroup:
    """One reason, with its rule.

    Args:
        code: the reason.
        layer: L1, L2 or L3.
        concerns: the question or the claim that it is found for.
        verdict: of that; Pass for what is only noted.
        rule: what holds where the reason is not found.
        count: how often it was found.
        at_least: it was found more often; a long batch's findings are kept up to a limit.
        places: the first few.
    """

    code: str
    layer: Literal["L1", "L2", "L3"]
    concerns: str
    verdict: Verdict
    rule: str
    count: int
    at_least: bool = False
    places: tuple[Place, ...]

    @property
    def more(self) -> int:
        """How many places are left out."""
        return self.count - len(self.places)

    @property
    def times(self) -> str:
        """How often it was found, to stand after its code; empty for once."""
        return "" if self.count == 1 else f" ×{self.count}{' or more' if self.at_least else ''}"


def chain_reasons(chain: ChainReport) -> tuple[ReasonGroup, ...]:
    """The reasons of bytes, chain and coverage; Invalid first, notes last."""
    found: dict[str, list[Finding]] = {}
    for finding in chain.findings:
        found.setdefault(finding.reason, []).append(finding)
    groups = [
        ReasonGroup(
            code=str(code),
            layer=held[0].rule.layer,
            concerns=str(held[0].rule.scope),
            verdict=held[0].rule.verdict,
            rule=held[0].rule.text,
            count=sum(not finding.more for finding in held),
            at_least=any(finding.more for finding in held),
            places=_places(finding for finding in held if not finding.more),
        )
        for code, held in found.items()
    ]
    return tuple(sorted(groups, key=_rank))


def claim_reasons(verdict: ClaimVerdict) -> tuple[ReasonGroup, ...]:
    """The reasons of one claim; Invalid first."""
    found: dict[str, list[ClaimFinding]] = {}
    for finding in verdict.findings:
        found.setdefault(finding.fault, []).append(finding)
    groups = [
        ReasonGroup(
            code=str(code),
            layer=held[0].rule.layer,
            concerns=verdict.claim,
            verdict=held[0].rule.verdict,
            rule=held[0].rule.text,
            # A verdict has the first few findings of a fault, and then one that stands for all.
            count=max(len(held), *(finding.count for finding in held)),
            at_least=any(finding.more for finding in held),
            places=_places(finding for finding in held if finding.count == 1 and not finding.more),
        )
        for code, held in found.items()
    ]
    return tuple(sorted(groups, key=_rank))


def _places(found: Iterable[Finding | ClaimFinding]) -> tuple[Place, ...]:
    held = list(found)[:PLACES]
    return tuple(Place(cut(item.subject, _SUBJECT), cut(item.detail, _DETAIL)) for item in held)


def _rank(group: ReasonGroup) -> tuple[bool, bool, int, str]:
    invalid = group.verdict is Verdict.INVALID
    return (group.concerns == Scope.NOTE, not invalid, _ORDER.index(group.verdict), group.code)
