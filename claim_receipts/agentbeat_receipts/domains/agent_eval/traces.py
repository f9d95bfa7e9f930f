"""The ordered trace of one attempt (T): how the environment was prepared, what was sent, what was observed.

    reset      hidden    the State Controller's answer, and the attempt's nonce; where one took part
    task       visible   the text that the Agent was sent; not there where the Agent was not started
    evidence   hidden    the Target's evidence document, or why there is none; at L2 and L3

Each stands there at most once, in this order. The documents are the very bytes that were received.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import StringConstraints

from agentbeat_protocol import EvidenceDocument, ProtocolError, ResetAnswer, read_evidence, read_json
from agentbeat_protocol.models import Strict, validated
from agentbeat_protocol.state_receipts import AttemptNonce
from agentbeat_receipts.claims import Contradiction, Fault
from agentbeat_receipts.domains.agent_eval.readings import decoded, read_as, reading
from agentbeat_receipts.objects import TraceEvent
from agentbeat_receipts.objects.base import Base64

__all__ = [
    "EVIDENCE",
    "RESET",
    "TASK",
    "EvidenceEvent",
    "Observed",
    "ResetEvent",
    "TaskEvent",
    "Trace",
    "read_reset",
]

RESET: Final = "reset"
TASK: Final = "task"
EVIDENCE: Final = "evidence"
_ORDER: Final = (RESET, TASK, EVIDENCE)

#: The reason of a document that breaks a rule of the protocol, before the rule.
_REFUSED: Final = "evidence_refused: "


class ResetEvent(Strict):
    """The environment was prepared."""

    answer: Base64
    nonce: AttemptNonce


class TaskEvent(Strict):
    """The Agent was sent this text, in UTF-8."""

    text: Base64


class EvidenceEvent(Strict):
    """The evidence document as it was read."""

    document: Base64 | None
    #: Why nothing of it was observed; None where it was.
    reason: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None


@dataclass(frozen=True, slots=True)
class Observed:
    """The evidence document, or the reason why nothing of it is projected."""

    document: EvidenceDocument | None
    reason: str | None


class Trace:
    """One attempt's events by type.

    Raises:
        Contradiction: evidence_malformed, when an event is of another type, there twice or out of order.
    """

    def __init__(self, events: Sequence[TraceEvent]) -> None:
        places = [_ORDER.index(event.type) for event in events if event.type in _ORDER]
        if len(places) != len(events) or places != sorted(set(places)):
            expected = f"{', '.join(_ORDER)}, each at most once and in this order"
            raise Contradiction(Fault.EVIDENCE_MALFORMED, f"trace: expected {expected}")
        self._events: dict[str, Any] = {event.type: event.data for event in events}

    @property
    def reset(self) -> ResetEvent | None:
        """How the environment was prepared; None where no State Controller took part."""
        return read_as(ResetEvent, self._events[RESET], RESET) if RESET in self._events else None

    @property
    def task(self) -> str | None:
        """The text that was sent; None where the Agent was not started."""
        if TASK not in self._events:
            return None
        try:
            return decoded(read_as(TaskEvent, self._events[TASK], TASK).text).decode()
        except UnicodeDecodeError:
            raise Contradiction(Fault.EVIDENCE_MALFORMED, "task: no UTF-8") from None

    @property
    def evidence_bytes(self) -> bytes | None:
        """The evidence document's very bytes; None where none is on record."""
        if EVIDENCE not in self._events:
            return None
        text = read_as(EvidenceEvent, self._events[EVIDENCE], EVIDENCE).document
        return None if text is None else decoded(text)

    def evidence(self, *, run_id: str, case_id: str) -> Observed:
        """What was observed, read again.

        Raises:
            Contradiction: evidence_malformed, when a document that was accepted cannot be read;
                stage_contradicts_replay, when one that was refused can.
        """
        if EVIDENCE not in self._events:
            return Observed(None, "evidence_not_on_record")
        event = read_as(EvidenceEvent, self._events[EVIDENCE], EVIDENCE)
        if event.reason is None:
            if event.document is None:
                raise Contradiction(Fault.EVIDENCE_MALFORMED, "evidence: neither a document nor a reason")
            with reading("evidence document"):
                found = read_evidence(decoded(event.document), run_id=run_id, case_id=case_id)
            return Observed(found, None)
        if event.reason.startswith(_REFUSED):
            _check_refusal(event, run_id, case_id)
        return Observed(None, event.reason)


def _check_refusal(event: EvidenceEvent, run_id: str, case_id: str) -> None:
    """A document that is said to break a rule breaks that rule."""
    if event.document is None:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "evidence: refused, and no document")
    try:
        read_evidence(decoded(event.document), run_id=run_id, case_id=case_id)
        broken = "none"
    except ProtocolError as error:
        broken = error.rule
    if event.reason != _REFUSED + broken:
        detail = f"evidence: said to break another rule, expected {broken}"
        raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, detail)


def read_reset(event: ResetEvent, *, run_id: str, case_id: str) -> ResetAnswer:
    """The State Controller's answer to this run's reset.

    Raises:
        Contradiction: evidence_malformed.
    """
    with reading("reset answer"):
        answer = validated(ResetAnswer, read_json(decoded(event.answer)))
    if (answer.run_id, answer.case_id) != (run_id, case_id):
        raise Contradiction(Fault.EVIDENCE_MALFORMED, "reset answer: of another run or case")
    return answer
