"""Guardrail fidelity: each guardrail of the arm decided once at each of its stages, and no other one acted.

A Target tells of a decision with a `lifecycle` event:

    name    guardrail.decision
    status  applied | nothing_to_do
    attributes  {"flag": …, "stage": …, "raw": "sha256:…", "enforced": "sha256:…"}

`raw` and `enforced`, digests of the text before and after, are optional: a guardrail that had nothing to do
left the text as it was, one that applied changed it, and what came out of the stage `final_response` is the
final response. An event of another form is no decision.

Decisions are carried as the attempt's treatments (G), and must be those of the evidence document (T).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agentbeat_protocol import EvidenceDocument, dropped_counts, is_digest
from agentbeat_protocol.events import LifecycleEvent
from agentbeat_receipts.claims import Contradiction, Fault
from agentbeat_receipts.objects import TreatmentEvent

__all__ = ["DECISION", "FINAL_RESPONSE", "check_decisions", "check_final", "decisions_lost", "decisions_of"]

#: The name of a `lifecycle` event that tells of a decision.
DECISION: Final = "guardrail.decision"
#: The stage whose outcome is the final response.
FINAL_RESPONSE: Final = "final_response"

_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
_WORDS: Final = ("applied", "nothing_to_do")
_TEXTS: Final = ("raw", "enforced")


def decisions_of(document: EvidenceDocument) -> tuple[TreatmentEvent, ...]:
    """The decisions in an evidence document, in its order."""
    found = (_decision(event) for event in document.events if isinstance(event, LifecycleEvent))
    return tuple(decision for decision in found if decision is not None)


def decisions_lost(document: EvidenceDocument) -> bool:
    """Whether a decision may have been dropped from the document."""
    dropped = dropped_counts(document)
    return dropped is None or "lifecycle" in dropped


def check_decisions(
    decisions: Sequence[TreatmentEvent], *, flags: Iterable[str], stages: Mapping[str, Sequence[str]]
) -> None:
    """Every guardrail that is on decided once at each stage, none that is off applied, no text was bent.

    Args:
        flags: the treatment flags that are on.
        stages: the stages of each guardrail of the arm.

    Raises:
        Contradiction: decision_missing, decision_repeated, applied_while_off or enforcement_differs.
    """
    on = set(flags)
    counts = Counter((decision.flag, decision.stage) for decision in decisions)
    for flag in sorted(on):
        if flag not in stages:
            raise Contradiction(Fault.DECISION_MISSING, f"{flag}: the arm's enforcer has no such guardrail")
        for stage in stages[flag]:
            if counts[flag, stage] == 0:
                raise Contradiction(Fault.DECISION_MISSING, f"{flag} at {stage}")
            if counts[flag, stage] > 1:
                raise Contradiction(Fault.DECISION_REPEATED, f"{flag} at {stage}: {counts[flag, stage]}")
    for decision in decisions:
        if decision.decision == "applied" and decision.flag not in on:
            raise Contradiction(Fault.APPLIED_WHILE_OFF, f"{decision.flag} at {decision.stage}")
        raw, enforced = (decision.data[name] for name in _TEXTS)
        if None not in (raw, enforced) and (raw != enforced) != (decision.decision == "applied"):
            detail = f"{decision.flag} at {decision.stage}: {decision.decision}, but the text says otherwise"
            raise Contradiction(Fault.ENFORCEMENT_DIFFERS, detail)


def check_final(decisions: Iterable[TreatmentEvent], response: str) -> None:
    """What guardrails let through as the final response is the final response.

    Args:
        response: its digest.

    Raises:
        Contradiction: enforcement_differs.
    """
    last = [decision for decision in decisions if decision.stage == FINAL_RESPONSE][-1:]
    if any(decision.data["enforced"] not in (None, response) for decision in last):
        raise Contradiction(Fault.ENFORCEMENT_DIFFERS, f"{FINAL_RESPONSE}: another text was answered")


def _decision(event: LifecycleEvent) -> TreatmentEvent | None:
    attributes = event.data.attributes
    flag, stage, word = attributes.get("flag"), attributes.get("stage"), event.data.status
    if event.data.name != DECISION or word not in _WORDS or not (_is_id(flag) and _is_id(stage)):
        return None
    texts = {name: attributes.get(name) for name in _TEXTS}
    return TreatmentEvent.model_validate(
        {
            "flag": flag,
            "stage": stage,
            "decision": word,
            "data": {name: text if is_digest(text) else None for name, text in texts.items()},
        }
    )


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None
