"""How a run's end becomes a result, `eval-run-response-v1`: completed, failed or refused.

Secrets are taken out of everything that others wrote (`redacted`): the Agent's answer, reasons and messages,
checks, the receipt. Identifiers, codes, digests and numbers are Core's own and stay as they are. What was
judged was the text as it came; only what is shown and written is redacted.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from agentbeat_core.credentials import Redactor
from agentbeat_core.failures import FAILURES, RunFailedError, TargetError
from agentbeat_core.refusals import RefusedError
from agentbeat_core.runs.timeline import Timeline
from agentbeat_protocol.evaluation import EvalRun, EvalRunRequest, EvalRunResponse, Evaluation, Failure

__all__ = ["completed", "failed", "harness_failed", "redacted", "refused"]

#: The members that hold text of others, at any depth of a result.
_FREE_TEXT: Final = frozenset(
    {"actual", "check_id", "expected", "final_response", "message", "path", "reason", "receipt", "text"}
)
#: Those of them that may hold a cut excerpt of what was received.
_ERRORS: Final = frozenset({"message", "path", "reason"})
#: Those of them that have a longest length, which `[redacted]` for a short secret could exceed.
_BOUNDED: Final = {"check_id": 256}


def completed(
    request: EvalRunRequest, timeline: Timeline, evaluation: Evaluation, *, final_response: str | None
) -> EvalRunResponse:
    """The Agent answered and was judged by what could be observed."""
    return EvalRunResponse(
        eval_run=_eval_run(request, timeline, "completed"),
        target_invocations=1,
        judge_model_calls=len(evaluation.judge_calls),
        evaluation=evaluation,
        final_response=final_response,
    )


def failed(request: EvalRunRequest, timeline: Timeline, error: RunFailedError) -> EvalRunResponse:
    """The Target or the State Controller failed: no evaluation."""
    return EvalRunResponse(
        eval_run=_eval_run(request, timeline, "failed"),
        target_invocations=error.invocations if isinstance(error, TargetError) else 0,
        judge_model_calls=0,
        failure=error.failure,
        documents=() if error.document is None else (error.document,),
    )


def refused(request: EvalRunRequest, timeline: Timeline, error: RefusedError) -> EvalRunResponse:
    """Preflight refused: nothing was called."""
    return EvalRunResponse(
        eval_run=_eval_run(request, timeline, "refused"),
        target_invocations=0,
        judge_model_calls=0,
        failure=error.failure,
    )


def harness_failed(request: EvalRunRequest, timeline: Timeline, error: Exception) -> EvalRunResponse:
    """Core itself failed. The error's text is not repeated: it may hold anything."""
    message = f"{FAILURES['harness_error']} ({type(error).__name__})"
    return EvalRunResponse(
        eval_run=_eval_run(request, timeline, "failed"),
        target_invocations=int(any(phase.phase == "invoke" for phase in timeline.timing().phases)),
        judge_model_calls=0,
        failure=Failure(code="harness_error", message=message),
    )


def redacted(response: EvalRunResponse, redactor: Redactor) -> EvalRunResponse:
    """The same result without held secrets."""
    return EvalRunResponse.model_validate(_redacted(response.model_dump(), redactor))


def _redacted(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, dict):
        return {name: _member(name, member, redactor) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_redacted(item, redactor) for item in value)
    return value


def _member(name: str, value: Any, redactor: Redactor) -> Any:
    if name not in _FREE_TEXT:
        return _redacted(value, redactor)
    redacted = (
        redactor.excerpt(value) if name in _ERRORS and isinstance(value, str) else redactor.value(value)
    )
    return redacted[: _BOUNDED[name]] if name in _BOUNDED else redacted


def _eval_run(
    request: EvalRunRequest, timeline: Timeline, status: Literal["completed", "failed", "refused"]
) -> EvalRun:
    return EvalRun(
        run_id=request.run_id,
        case_id=request.case.case_id,
        scenario_id=request.case.scenario_id,
        target_id=request.target_profile.target_id,
        deployment_profile_id=request.deployment_profile_id,
        observation_tier=request.observation_tier,
        status=status,
        timing=timeline.timing(),
    )
