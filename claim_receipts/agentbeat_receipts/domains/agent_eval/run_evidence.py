"""What one run's evidence says, read again step by step, each step made once.

The functions are those that Core publishes its verdicts with (`agentbeat_protocol.scoring`). Each property
names the groups that it touches; what is absent, or contradicts itself, is raised where it is looked at.
"""

from __future__ import annotations

from functools import cached_property

from agentbeat_protocol import InvocationResponse, digest_bytes
from agentbeat_protocol.evaluation import ObservationTier, StateReport, rule_outcomes
from agentbeat_protocol.scoring import (
    ComponentScore,
    JudgeOutcome,
    Observations,
    Projection,
    judge_component,
    judged_dimensions,
    native_component,
    project,
    rules_component,
)
from agentbeat_receipts.claims import Case, Contradiction, Fault, Group
from agentbeat_receipts.domains.agent_eval.committed import Committed
from agentbeat_receipts.domains.agent_eval.judgements import judged
from agentbeat_receipts.domains.agent_eval.materials import Chooser, StateMaterial
from agentbeat_receipts.domains.agent_eval.native import NativeContext, native_report
from agentbeat_receipts.domains.agent_eval.readings import read_as
from agentbeat_receipts.domains.agent_eval.responses import ResponseStages, read_response
from agentbeat_receipts.domains.agent_eval.run_ids import run_id_of
from agentbeat_receipts.domains.agent_eval.traces import Observed, Trace, read_reset
from agentbeat_receipts.objects import material_digest

__all__ = ["RunEvidence"]


class RunEvidence:
    """One transaction's evidence. Where no attempt is named it is the terminal one's."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.committed = Committed(case)

    @property
    def terminal_run_id(self) -> str:
        """The terminal attempt's run id (T)."""
        return self.run_id(len(self._case.events))

    @property
    def tier(self) -> ObservationTier:
        """The tier that was asked for (K)."""
        return self.committed.task_case.observation_tier

    @property
    def case_id(self) -> str:
        """The case's id (K)."""
        return self.committed.task_case.case_id

    def run_id(self, attempt: int) -> str:
        """The run id of an attempt, which follows from the ticket."""
        receipt = self._case.receipt
        return run_id_of(
            manifest=receipt.manifest,
            ticket=receipt.ticket,
            assignment=receipt.assignment,
            attempt=attempt,
        )

    @cached_property
    def responses(self) -> tuple[ResponseStages | None, ...]:
        """What came back in each attempt (O, K)."""
        return tuple(
            read_response(stages, run_id=self.run_id(number), case_id=self.case_id)
            for number, stages in enumerate(self._case.offers, 1)
        )

    @cached_property
    def response(self) -> InvocationResponse | None:
        """The Agent's answer in the terminal attempt; None for a harness error (O, K)."""
        last = self.responses[-1]
        return None if last is None else last.response

    @cached_property
    def trace(self) -> Trace:
        """The terminal attempt's events (T)."""
        return Trace(self._case.events[-1])

    @cached_property
    def observed(self) -> Observed:
        """The terminal attempt's evidence document (T, K)."""
        return self.trace.evidence(run_id=self.terminal_run_id, case_id=self.case_id)

    @cached_property
    def state(self) -> StateMaterial | None:
        """What is on record of the State Controller's word (F)."""
        value = self._case.material("state")
        return None if value is None else read_as(StateMaterial, value, "state")

    @cached_property
    def native(self) -> tuple[StateReport | None, str | None]:
        """The State Controller's word, or why there is none (F, T, K, O)."""
        state, response = self.state, self.response
        if state is None or response is None:
            return None, "state_not_on_record"
        if state.reason is not None:
            return None, state.reason
        self._check_model()
        reset, controller = self.trace.reset, self.committed.model.controller
        if reset is None or controller is None:
            raise Contradiction(Fault.EVIDENCE_MALFORMED, "state: no reset, or no Controller of the Agent")
        run_id = self.terminal_run_id
        context = NativeContext(
            run_id=run_id,
            case_id=self.case_id,
            model=self.committed.model,
            controller=controller,
            pinned=self.committed.pinned(),
            reset=read_reset(reset, run_id=run_id, case_id=self.case_id),
            nonce=reset.nonce,
            final_response=response.final_response,
        )
        return native_report(state, context), None

    def _check_model(self) -> None:
        """The Agent is its arm's: the State Controller's key is in it, and with another one anybody signs."""
        arm = self._case.arm
        if arm is None or not {Group.A, Group.Q}.isdisjoint(self._case.removed):
            return
        if material_digest("model", self._case.material("model")) != arm.components["model"]:
            raise Contradiction(Fault.MATERIAL_CONTRADICTS_MANIFEST, "model: another Agent than the arm's")

    @cached_property
    def projection(self) -> Projection:
        """The evidence of the tier (K, O; T from L2 on; F at L3)."""
        response = self.response
        observed = Observed(None, None) if self.tier == "L1" else self._evidence()
        state, state_reason = self.native if self.tier == "L3" else (None, None)
        observations = Observations(
            final_response=None if response is None else response.final_response,
            evidence=observed.document,
            evidence_reason=observed.reason,
            state=state,
            state_reason=state_reason,
        )
        return project(observations, tier=self.committed.task_case.observation_tier)

    def _evidence(self) -> Observed:
        """The evidence, held to the digest that the response gives of it (T, O, K)."""
        observed, response = self.observed, self.response
        claimed = ((response.metadata if response else None) or {}).get("evidence_digest")
        raw = self.trace.evidence_bytes
        if observed.document is None or raw is None or claimed is None:
            return observed
        if claimed != digest_bytes(raw):
            raise Contradiction(
                Fault.STAGE_CONTRADICTS_REPLAY, "evidence: not the document that was answered"
            )
        return observed

    @cached_property
    def chooser(self) -> Chooser:
        """The arm's judge (D)."""
        return read_as(Chooser, self._case.material("chooser"), "chooser")

    @cached_property
    def judge(self) -> JudgeOutcome:
        """The judge's numbers (D)."""
        given, chooser = self._case.choice_inputs[-1], self.chooser
        if given is None:
            raise Contradiction(Fault.EVIDENCE_MALFORMED, "judge: nothing on record")
        return judged(given, chooser)

    @cached_property
    def components(self) -> tuple[ComponentScore, ComponentScore]:
        """The two components of the score (P, K, T, O, D, F)."""
        profile, view = self.committed.scoring_profile, self.projection
        weight = profile.deterministic_weight
        if view.tier == "L3":
            deterministic = native_component(view.state, weight=weight, rules_unused=bool(profile.rules))
        else:
            applicable = judged_dimensions(self.committed.case)
            outcomes = rule_outcomes(profile.rules, view, applicable=applicable)
            deterministic = rules_component(outcomes, weight=weight)
        # Whether the judge saw everything decides no verdict, only whether the score is final.
        second = judge_component(
            self.judge,
            weight=profile.llm_judge_weight,
            evidence_complete=view.complete,
            shown_whole=True,
        )
        return deterministic, second
