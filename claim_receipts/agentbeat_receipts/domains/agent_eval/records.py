"""The writer's side: what a run left behind, and how an opening carries it.

    record = AttemptRecord(failure=None, response=body, evidence=document, …)
    attempt = attempt_of(record, number=1, cause=INITIAL, run_id=…, case_id=…, chooser=…)

A record holds the very bytes that were received, in base64, so that it can be kept as JSON until the receipt
is written.
"""

from __future__ import annotations

import base64
from typing import Annotated

from pydantic import Field

from agentbeat_protocol import EvidenceDocument, ProtocolError, read_evidence
from agentbeat_protocol.evaluation import ObservationTier
from agentbeat_protocol.models import Strict
from agentbeat_protocol.state_receipts import AttemptNonce
from agentbeat_receipts.domains.agent_eval.guardrails import decisions_of
from agentbeat_receipts.domains.agent_eval.judgements import JudgeInput, judge_output, judged
from agentbeat_receipts.domains.agent_eval.materials import Chooser, StateMaterial
from agentbeat_receipts.domains.agent_eval.responses import read_response, response_parsed
from agentbeat_receipts.domains.agent_eval.traces import EVIDENCE, RESET, TASK
from agentbeat_receipts.objects import Attempt, Choice, OfferStages, TraceEvent
from agentbeat_receipts.objects.base import Base64, Id

__all__ = ["AttemptRecord", "attempt_of", "encoded"]


class AttemptRecord(Strict):
    """What one attempt left behind. What never came is None."""

    #: Why there is no observation of the Agent; None where it answered.
    failure: Id | None
    #: The State Controller's answer to reset, and the nonce that it was asked with.
    reset: Base64 | None = None
    nonce: AttemptNonce | None = None
    #: The text that was sent; None where the Agent provably was not started.
    task: Base64 | None = None
    response: Base64 | None = None
    evidence: Base64 | None = None
    evidence_reason: Annotated[str, Field(max_length=256)] | None = None
    judge: JudgeInput | None = None
    state: StateMaterial | None = None


def encoded(raw: bytes | None) -> str | None:
    """Bytes as a record carries them."""
    return None if raw is None else base64.b64encode(raw).decode()


def attempt_of(
    record: AttemptRecord,
    *,
    number: int,
    cause: str,
    run_id: str,
    case_id: str,
    tier: ObservationTier,
    chooser: Chooser,
) -> Attempt:
    """The attempt as an opening carries it.

    Args:
        cause: `initial`, or the failure of the attempt before.
        chooser: the arm's judge.

    Raises:
        Contradiction: the record contradicts itself.
    """
    completed = record.failure is None
    choice = record.judge or JudgeInput(answer=None, reason="judge_not_asked")
    output = judge_output(judged(choice.model_dump(), chooser)) if completed else None
    document = _document(record, run_id, case_id)
    return Attempt(
        number=number,
        cause=cause,
        status="accepted" if completed else "failed",
        failure=record.failure,
        events=tuple(_events(record, tier)),
        offers=_offers(record, run_id, case_id),
        choice=Choice(input=choice.model_dump(), output=output) if completed else None,
        treatments=() if document is None else decisions_of(document),
    )


def _events(record: AttemptRecord, tier: ObservationTier) -> list[TraceEvent]:
    events = []
    if record.reset is not None:
        data = {"answer": record.reset, "nonce": record.nonce}
        events.append(TraceEvent(type=RESET, visibility="hidden", data=data))
    if record.task is not None:
        events.append(TraceEvent(type=TASK, visibility="visible", data={"text": record.task}))
    if record.failure is None and tier != "L1":
        data = {"document": record.evidence, "reason": record.evidence_reason}
        events.append(TraceEvent(type=EVIDENCE, visibility="hidden", data=data))
    return events


def _offers(record: AttemptRecord, run_id: str, case_id: str) -> tuple[OfferStages, ...]:
    if record.response is None:
        return ()
    stages = OfferStages(raw=record.response, parsed=None, enforced=None)
    read = read_response([stages], run_id=run_id, case_id=case_id)
    parsed = response_parsed(None if read is None else read.response)
    return (OfferStages(raw=record.response, parsed=parsed, enforced=parsed),)


def _document(record: AttemptRecord, run_id: str, case_id: str) -> EvidenceDocument | None:
    if record.failure is not None or record.evidence is None or record.evidence_reason is not None:
        return None
    try:
        return read_evidence(base64.b64decode(record.evidence), run_id=run_id, case_id=case_id)
    except ProtocolError:
        return None
