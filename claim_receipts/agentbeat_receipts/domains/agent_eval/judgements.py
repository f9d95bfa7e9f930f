"""The judge's recorded answer (D): what the model said, read again, or why there is nothing of it.

The answer is the text of the model's message in UTF-8, with the secrets of whoever asked taken out. It is
parsed by the rules of the protocol; a text that is no answer gives no number, and a reason.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import StringConstraints

from agentbeat_protocol.models import Strict
from agentbeat_protocol.scoring import JudgeOutcome, JudgeRefusal, parse_judge_answer
from agentbeat_receipts.claims import Contradiction, Fault
from agentbeat_receipts.domains.agent_eval.materials import Chooser
from agentbeat_receipts.domains.agent_eval.readings import decoded, read_as
from agentbeat_receipts.objects.base import Base64

__all__ = ["JudgeInput", "judge_output", "judged"]

#: The numbers that are scored with, by their names in an answer.
_NUMBERS = ("score", "utility_score", "security_score", "asr_score", "overall_score")


class JudgeInput(Strict):
    """What came of asking the judge."""

    answer: Base64 | None
    #: Why there is no answer; None where there is one.
    reason: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None


def judged(value: Any, chooser: Chooser) -> JudgeOutcome:
    """The judge's numbers, or the reason why there are none.

    Args:
        value: the choice's input.

    Raises:
        Contradiction: evidence_malformed; also when there is an answer, and the arm has no judge.
    """
    found = read_as(JudgeInput, value, "judge")
    if (found.answer is None) == (found.reason is None):
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "judge: expected an answer or a reason")
    if found.answer is None:
        return JudgeOutcome(scores=None, reason=found.reason)
    if chooser.model is None:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "judge: an answer, and the arm has no judge")
    try:
        return JudgeOutcome(scores=parse_judge_answer(decoded(found.answer).decode()))
    except UnicodeDecodeError:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "judge: no UTF-8") from None
    except JudgeRefusal as refusal:
        return JudgeOutcome(scores=None, reason=refusal.reason)


def judge_output(outcome: JudgeOutcome) -> dict[str, Any]:
    """What stands on record as the chooser's output: the numbers as decimal strings, or the reason."""
    if outcome.scores is None:
        return {"reason": outcome.reason, "scores": None}
    numbers = {name: _text(getattr(outcome.scores, name)) for name in _NUMBERS}
    return {"reason": None, "scores": numbers}


def _text(number: Decimal) -> str:
    return format(number, "f")
