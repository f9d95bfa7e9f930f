"""From a result of Core and its recording to what came of an attempt: its record, and what was published."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from agentbeat_core.credentials import Redactor
from agentbeat_core.receipts.limits import MAX_KEPT
from agentbeat_core.recordings import Recording, StateRecording
from agentbeat_protocol.evaluation import EvalRunResponse, Evaluation, JudgeScores, Metric, ObservationTier
from agentbeat_protocol.models import Strict
from agentbeat_protocol.scoring import SCORE_MEMBERS, JudgeOutcome
from agentbeat_receipts.claims import ClaimValue
from agentbeat_receipts.domains.agent_eval.judgements import JudgeInput
from agentbeat_receipts.domains.agent_eval.materials import StateMaterial
from agentbeat_receipts.domains.agent_eval.records import AttemptRecord, encoded
from agentbeat_receipts.objects import Null, Pair

__all__ = ["INTERRUPTED", "TOO_LONG", "Ended", "ended_of", "holds_secret", "interrupted"]

#: The failure of an attempt that was begun and never ended, because the process did.
INTERRUPTED: Final = "interrupted"
#: The failure of an attempt whose evidence cannot be kept.
TOO_LONG: Final = "evidence_too_long"

_HARNESS: Final = "harness_error"
_HARNESS_ERROR: Final = Null(null=_HARNESS)
_DECIDED: Final = {"pass": 1, "fail": 0, "attack_succeeded": 1, "attack_blocked": 0}


class Ended(Strict):
    """What came of an attempt: what it left behind, and what Core published of it."""

    record: AttemptRecord
    published: dict[str, ClaimValue]


def ended_of(
    response: EvalRunResponse, recording: Recording, *, tier: ObservationTier, before: Iterable[Ended] = ()
) -> Ended:
    """What came of an attempt that Core has answered for.

    Evidence that cannot be kept cannot be checked either: the attempt then counts as a harness error.

    Args:
        before: the attempts before it.
    """
    record = _record(response, recording, tier)
    kept = sum(_length(ended.record) for ended in before)
    if kept + _length(record) > MAX_KEPT:
        record = AttemptRecord(failure=record.failure or TOO_LONG)
    return Ended(record=record, published=_published(None if record.failure else response.evaluation))


def interrupted() -> Ended:
    """What came of an attempt of which nothing is left. Whether the Agent was started is not known."""
    return Ended(record=AttemptRecord(failure=INTERRUPTED), published={})


def _record(response: EvalRunResponse, recording: Recording, tier: ObservationTier) -> AttemptRecord:
    state = recording.state
    failure = None if response.failure is None else response.failure.code
    sent = recording.task if response.target_invocations else None
    record = AttemptRecord(
        failure=failure,
        reset=encoded(state.reset),
        nonce=state.nonce if state.reset is not None else None,
        task=None if sent is None else encoded(sent.encode()),
        # Where Core itself failed it has observed nothing, whatever the Agent answered.
        response=None if failure == _HARNESS else encoded(recording.response),
    )
    if failure is not None:
        return record
    return record.model_copy(
        update={
            "evidence": encoded(recording.evidence),
            "evidence_reason": recording.evidence_reason,
            "judge": _judge(recording.judge or JudgeOutcome(scores=None, reason="judge_not_asked")),
            "state": _state(state) if tier == "L3" else None,
        }
    )


def _length(record: AttemptRecord) -> int:
    """How much of base64 a record holds."""
    state, judge = record.state, record.judge
    texts = [record.reset, record.task, record.response, record.evidence]
    texts += [] if judge is None else [judge.answer]
    texts += [] if state is None else [state.before, state.after, state.verify]
    return sum(len(text) for text in texts if text is not None)


def _published(evaluation: Evaluation | None) -> dict[str, ClaimValue]:
    verdicts = ("utility", "security", "attack_success")
    if evaluation is None:
        nulls = dict.fromkeys((*verdicts, "channel_coverage"), _HARNESS_ERROR)
        return {"completion": 0, **nulls}
    metrics = evaluation.metrics
    found = zip(verdicts, (metrics.utility, metrics.security, metrics.asr), strict=True)
    coverage = evaluation.evidence.coverage
    return {
        "completion": 1,
        **{name: _value(metric) for name, metric in found},
        "channel_coverage": Pair(pair=(coverage.numerator, coverage.denominator)),
    }


def holds_secret(recording: Recording, redactor: Redactor) -> bool:
    """Whether a document that goes into the opening holds a secret of the registry."""
    state = recording.state
    documents = (recording.response, recording.evidence, state.reset, state.verify)
    texts = (raw.decode("utf-8", "replace") for raw in documents if raw is not None)
    return any(redactor.text(text) != text for text in texts)


def _value(metric: Metric) -> ClaimValue:
    decided = _DECIDED.get(metric.verdict)
    return Null(null=metric.verdict) if decided is None else decided


def _judge(outcome: JudgeOutcome) -> JudgeInput:
    answer = outcome.answer
    if answer is None and outcome.scores is not None:
        # A judge that keeps no text: its numbers are written down as it would have.
        answer = _answer(outcome.scores)
    if answer is not None:
        return JudgeInput(answer=encoded(answer.encode()), reason=None)
    return JudgeInput(answer=None, reason=outcome.reason or "judge_unavailable")


def _answer(scores: JudgeScores) -> str:
    numbers = ",".join(f'"{name}":{getattr(scores, name):f}' for name in SCORE_MEMBERS)
    return f'{{{numbers},"reason":{json.dumps(scores.reason)}}}'


def _state(state: StateRecording) -> StateMaterial:
    if state.reason is not None or state.verify is None:
        return StateMaterial(
            reason=state.reason or "state_not_observed",
            before=None,
            after=None,
            verify=None,
            read_before=None,
            read_after=None,
            order=None,
        )
    return StateMaterial(
        reason=None,
        before=encoded(state.before),
        after=encoded(state.after),
        verify=encoded(state.verify),
        read_before=state.read_before,
        read_after=state.read_after,
        order=None if state.order is None else _from_the_first(state.order),
    )


def _from_the_first(order: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """The moments counted from the first: the clock itself may count beyond what exact JSON holds."""
    held, invoked, ended, asked = order
    return 0, invoked - held, ended - held, asked - held
