"""Whether the guards did what their flags promised, stage by stage (spec 4, "Fidelity").

A flag that is on: exactly one decision at each stage that was reached, and what was let through is what the
enforcer makes of what came. A flag that is off: nothing applied, and what came was let through as it was.
The value of a fidelity claim is 1; what is not faithful is a contradiction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agentbeat_receipts.claims.cases import Absent, Case, Contradiction
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.domains.market.evidence import MarketEvidence
from agentbeat_receipts.domains.market.exact_values import same
from agentbeat_receipts.domains.market.guards import (
    CONDUCT,
    INFO,
    STAGES,
    hide_fields,
    hide_sentences,
    temper,
)
from agentbeat_receipts.domains.market.materials import Enforcer
from agentbeat_receipts.domains.market.traces import shown_offers
from agentbeat_receipts.objects import TreatmentEvent

__all__ = ["conduct_fidelity", "information_fidelity"]


@dataclass(frozen=True, slots=True)
class _Passage:
    """Something that passed a guard: what came, what was let through, and the guard itself."""

    stage: str
    came: Any
    passed: Any
    guard: Callable[[Any, Enforcer], tuple[Any, int]]


def information_fidelity(case: Case, evidence: MarketEvidence) -> int:
    """1 where the information guard is faithful in every attempt (A T G Q)."""
    on, enforcer, treatments = INFO in case.flags, _enforcer(case, evidence), case.treatments
    for place, dealing in enumerate(evidence.dealings):
        passages = [_Passage("brief", dealing.brief, dealing.seen, hide_fields)]
        if dealing.noted is not None:
            passages.append(_Passage("note", dealing.note, dealing.noted, hide_sentences))
        _hold(place, INFO, on, passages, treatments[place], enforcer)
    return 1


def conduct_fidelity(
    case: Case, evidence: MarketEvidence, *, parsed: Sequence[Any], enforced: Sequence[Any]
) -> int:
    """1 where the conduct guard is faithful in every attempt (A T O G Q).

    Args:
        parsed: the offers of each attempt, as the parser reads them; None where there are none.
        enforced: the offers of each attempt that were let through.
    """
    on, enforcer, treatments = CONDUCT in case.flags, _enforcer(case, evidence), case.treatments
    for place, dealing in enumerate(evidence.dealings):
        if (dealing.shown is None) != (parsed[place] is None):
            raise Contradiction(
                Fault.STAGE_CONTRADICTS_REPLAY, f"attempt {place + 1}: offers in trace or answer only"
            )
        passages = []
        if parsed[place] is not None:
            passages.append(_Passage("offers", parsed[place], enforced[place], temper))
        _hold(place, CONDUCT, on, passages, treatments[place], enforcer)
        if passages and not same(dealing.shown, shown_offers(enforced[place])):
            raise Contradiction(
                Fault.STAGE_CONTRADICTS_REPLAY, f"attempt {place + 1}: other offers shown than let through"
            )
    return 1


def _enforcer(case: Case, evidence: MarketEvidence) -> Enforcer:
    """The arm's enforcer (A Q). That the opening's is the receipt's, the engine sees to."""
    ran, promised = case.components["enforcer"], case.promised_components["enforcer"]
    if ran is None:
        raise Absent(Group.Q, "enforcer: not recorded")
    if ran != promised:
        raise Contradiction(Fault.ENFORCEMENT_DIFFERS, "enforcer: another one than the arm's")
    return evidence.enforcer


def _hold(
    place: int,
    flag: str,
    on: bool,
    passages: Sequence[_Passage],
    treatments: Sequence[TreatmentEvent],
    enforcer: Enforcer,
) -> None:
    """Hold one guard's decisions in one attempt against what passed it."""
    decisions = _decisions(place, flag, [passage.stage for passage in passages], treatments)
    for passage in passages:
        where = f"attempt {place + 1}, {flag} at {passage.stage}"
        decision = decisions.get(passage.stage)
        if on and decision is None:
            raise Contradiction(Fault.DECISION_MISSING, where)
        if not on and decision is not None and decision.decision == "applied":
            raise Contradiction(Fault.APPLIED_WHILE_OFF, where)
        expected, changes = passage.guard(passage.came, enforcer) if on else (passage.came, 0)
        if not same(passage.passed, expected):
            raise Contradiction(Fault.ENFORCEMENT_DIFFERS, where)
        if decision is None:
            continue
        told = [decision.decision, decision.data]
        if not same(told, ["applied" if changes else "nothing_to_do", {"changes": changes}]):
            raise Contradiction(Fault.ENFORCEMENT_DIFFERS, f"{where}: told otherwise than done")


def _decisions(
    place: int, flag: str, reached: Sequence[str], treatments: Sequence[TreatmentEvent]
) -> dict[str, TreatmentEvent]:
    """One guard's decisions by stage.

    Raises:
        Contradiction: two at one stage, or one of another guard or at a stage that was not reached.
    """
    decisions: dict[str, TreatmentEvent] = {}
    for event in treatments:
        where = f"attempt {place + 1}, {event.flag[:40]} at {event.stage[:40]}"
        if event.stage not in STAGES.get(event.flag, ()):
            raise Contradiction(Fault.EVIDENCE_MALFORMED, f"{where}: no stage of this guard")
        if event.flag != flag:
            continue
        if event.stage not in reached:
            raise Contradiction(Fault.EVIDENCE_MALFORMED, f"{where}: a stage that was not reached")
        if event.stage in decisions:
            raise Contradiction(Fault.DECISION_REPEATED, where)
        decisions[event.stage] = event
    return decisions
