"""The minimal Core: one request in, one result out.

    core = Core(TargetRegistry.from_environment(), judge=judge_from_environment())
    response = await core.evaluate(request)

`evaluate` always answers: a run that preflight refuses and one that fails are results too, with a status and
a code, and without an evaluation. A fault of Core's own is one of them, `harness_error`, and is logged; it is
no verdict about the Agent. Only a cancellation is passed on; the lease on an environment is given back even
then.

Inside `async with core:` the HTTP clients are shared by all runs, one per origin. Without it each run opens
and closes its own.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from agentbeat_core import rescoring, responses
from agentbeat_core.clients import ClientPool
from agentbeat_core.credentials import Redactor
from agentbeat_core.failures import RunFailedError
from agentbeat_core.judge.asking import ask_judge
from agentbeat_core.judge.client import Judge, UnavailableJudge
from agentbeat_core.plans import Plan
from agentbeat_core.preflight import negotiate, plan_run
from agentbeat_core.recordings import Recording
from agentbeat_core.refusals import RefusedError
from agentbeat_core.registry import TargetRegistry
from agentbeat_core.runs import PhaseName, Timeline, observe
from agentbeat_core.scoring import build_evaluation
from agentbeat_protocol.evaluation import (
    EvalRunRequest,
    EvalRunResponse,
    PreflightRequest,
    PreflightResponse,
    ScoreRequest,
    ScoreResponse,
)
from agentbeat_protocol.scoring import Observations

__all__ = ["Core"]

_log = logging.getLogger("agentbeat_core")


class Core:
    """Evaluates cases on registered Targets.

    Args:
        registry: who may be called, with the environment that holds addresses and secrets.
        judge: who scores by the rubric; without one the component is unavailable, `judge_not_configured`.
    """

    def __init__(self, registry: TargetRegistry, *, judge: Judge | None = None) -> None:
        self._registry = registry
        self._judge = judge or UnavailableJudge("judge_not_configured")
        self._pool: ClientPool | None = None

    def preflight(self, request: PreflightRequest) -> PreflightResponse:
        """Whether a run would start. Nothing is called."""
        try:
            plan = plan_run(request, self._registry)
        except RefusedError as error:
            try:
                negotiation = negotiate(request)
            except RefusedError:
                # Not even L1 is declared: there is no declared tier to name.
                negotiation = None
            return PreflightResponse(accepted=False, negotiation=negotiation, failure=error.failure)
        return PreflightResponse(accepted=True, negotiation=plan.negotiation)

    async def evaluate(
        self,
        request: EvalRunRequest,
        *,
        on_phase: Callable[[PhaseName], None] | None = None,
        recording: Recording | None = None,
    ) -> EvalRunResponse:
        """Run one case once and score it.

        Args:
            request: the case, and the Deployment that it is put to.
            on_phase: told the name of each phase as it begins, to show progress; it must not raise.
            recording: takes in what is sent and received, byte for byte; for evidence that is kept elsewhere.

        Returns:
            The result: `completed` with an evaluation, `failed` or `refused` with a failure.
        """
        timeline = Timeline(on_phase)
        redactor = self._registry.redactor()
        try:
            plan = plan_run(request, self._registry)
            recording = recording or Recording()
            response = await self._run(request, plan, timeline, redactor, recording)
            return responses.redacted(response, redactor)
        except RefusedError as error:
            return responses.refused(request, timeline, error)
        except Exception as error:  # noqa: BLE001  it is told and logged, and no verdict is made of it
            _log.error("harness error\n%s", redactor.text(traceback.format_exc()))
            return responses.harness_failed(request, timeline, error)

    async def score(self, request: ScoreRequest) -> ScoreResponse:
        """Score what was already observed; see `agentbeat_core.rescoring`.

        Raises:
            RefusedError: the request's tiers differ, or its weights are unsound.
            ProtocolError: its `state` has another shape.
        """
        return await rescoring.score(request, judge=self._judge)

    async def _run(
        self,
        request: EvalRunRequest,
        plan: Plan,
        timeline: Timeline,
        redactor: Redactor,
        recording: Recording,
    ) -> EvalRunResponse:
        try:
            async with self._clients() as pool:
                observations = await observe(
                    plan,
                    run_id=request.run_id,
                    pool=pool,
                    timeline=timeline,
                    redactor=redactor,
                    recording=recording,
                )
        except RunFailedError as error:
            return responses.failed(request, timeline, error)
        return await self._scored(request, plan, observations, timeline, redactor, recording)

    async def _scored(
        self,
        request: EvalRunRequest,
        plan: Plan,
        observations: Observations,
        timeline: Timeline,
        redactor: Redactor,
        recording: Recording,
    ) -> EvalRunResponse:
        with timeline.phase("judge") as phase:
            outcome = await ask_judge(
                self._judge,
                case=plan.case,
                tier=plan.tier,
                observations=observations,
                seconds=plan.seconds.judge,
                redactor=redactor,
            )
            phase.failed = bool(outcome.calls) and outcome.scores is None
        recording.judge = outcome
        evaluation = build_evaluation(
            case=plan.case,
            scoring_profile=plan.scoring_profile,
            tier=plan.tier,
            declared_tier=plan.negotiation.declared_tier,
            observations=observations,
            judge=outcome,
        )
        return responses.completed(request, timeline, evaluation, final_response=observations.final_response)

    @asynccontextmanager
    async def _clients(self) -> AsyncIterator[ClientPool]:
        if self._pool is not None:
            yield self._pool
            return
        async with ClientPool() as pool:
            yield pool

    async def __aenter__(self) -> Self:
        self._pool = ClientPool()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.aclose()
