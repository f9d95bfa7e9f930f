"""`agent-score-v1`: scoring what was already observed, without calling the Agent.

Documents are held to the rules that they are held to in a run: evidence that breaks one is no observation,
and its channels are missing, with the rule. Nobody witnessed the run, so the score is never official.
"""

from __future__ import annotations

import json
from typing import Any

from agentbeat_core.credentials import Redactor
from agentbeat_core.documents import keep
from agentbeat_core.judge.asking import ask_judge
from agentbeat_core.judge.client import Judge
from agentbeat_core.plans import DEFAULT_TIMEOUTS
from agentbeat_core.preflight import check_tiers, check_weights
from agentbeat_core.scoring import build_evaluation
from agentbeat_core.state_records import judge_record
from agentbeat_protocol import CanonicalError, EvidenceDocument, ProtocolError, canonical_json, read_evidence
from agentbeat_protocol.evaluation import KeptDocument, ScoreRequest, ScoreResponse
from agentbeat_protocol.scoring import Observations

__all__ = ["score"]


async def score(request: ScoreRequest, *, judge: Judge) -> ScoreResponse:
    """The score of the observations that the request carries.

    Raises:
        RefusedError: `case_tier_mismatch`, `scoring_profile_tier_mismatch` or `weights_unsound`.
        ProtocolError: `state` has another shape.
    """
    check_tiers(request)
    check_weights(request.scoring_profile)
    observations = _observations(request)
    outcome = await ask_judge(
        judge,
        case=request.case,
        tier=request.observation_tier,
        observations=observations,
        seconds=DEFAULT_TIMEOUTS.judge,
        redactor=Redactor(),
    )
    evaluation = build_evaluation(
        case=request.case,
        scoring_profile=request.scoring_profile,
        tier=request.observation_tier,
        # No Target is asked, so no capability stands against the tier.
        declared_tier=request.observation_tier,
        observations=observations,
        judge=outcome,
    )
    return ScoreResponse(
        run_id=request.run_id,
        case_id=request.case.case_id,
        judge_model_calls=len(outcome.calls),
        evaluation=evaluation,
    )


def _observations(request: ScoreRequest) -> Observations:
    evidence, evidence_reason, documents = _evidence(request)
    state, state_reason = None, "state_not_given"
    if request.state is not None:
        state, reason = judge_record(
            request.state,
            run_id=request.run_id,
            case_id=request.case.case_id,
            final_response=request.final_response or "",
        )
        state_reason = reason or ""
    return Observations(
        final_response=request.final_response,
        evidence=evidence,
        evidence_reason=evidence_reason,
        state=state,
        state_reason=None if state is not None else state_reason,
        documents=documents,
    )


def _evidence(
    request: ScoreRequest,
) -> tuple[EvidenceDocument | None, str | None, tuple[KeptDocument, ...]]:
    if request.evidence is None:
        return None, "evidence_not_given", ()
    raw = _as_bytes(request.evidence)
    try:
        document = read_evidence(raw, run_id=request.run_id, case_id=request.case.case_id)
    except ProtocolError as error:
        kept = keep("target_evidence", raw, redactor=Redactor(), refused=error)
        return None, f"evidence_refused: {error.rule}", (kept,)
    return document, None, (keep("target_evidence", raw, redactor=Redactor()),)


def _as_bytes(evidence: dict[str, Any]) -> bytes:
    """The document's canonical JSON, so that its digest is that of the value and not of a spelling."""
    try:
        return canonical_json(evidence)
    except CanonicalError:
        # One with an integer that no double keeps has none. A run takes it, so it is taken here.
        return json.dumps(evidence, ensure_ascii=False).encode()
