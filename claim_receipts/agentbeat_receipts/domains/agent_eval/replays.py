"""One evaluation run, computed again from its evidence.

Values are those of the terminal attempt (`run_evidence`). The whole replay also holds what stands on record
of every attempt against what comes out again: its status, its response, the text that was sent, the judge's
numbers.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

from agentbeat_protocol import digest_text
from agentbeat_protocol.evaluation import MetricVerdict, RuleDimension
from agentbeat_protocol.scoring import DimensionResult, applicability, dimension_result, task_text
from agentbeat_receipts.claims import Absent, Case, ClaimValue, Contradiction, Fault, Group
from agentbeat_receipts.domains.agent_eval import guardrails, injections
from agentbeat_receipts.domains.agent_eval.judgements import judge_output
from agentbeat_receipts.domains.agent_eval.materials import Enforcer
from agentbeat_receipts.domains.agent_eval.native import read_verify
from agentbeat_receipts.domains.agent_eval.readings import read_as
from agentbeat_receipts.domains.agent_eval.run_evidence import RunEvidence
from agentbeat_receipts.domains.agent_eval.traces import Trace, read_reset
from agentbeat_receipts.domains.agent_eval.weaknesses import weaknesses
from agentbeat_receipts.objects import Null, Pair

__all__ = ["DIMENSIONS", "HARNESS_ERROR", "EvaluationReplay"]

#: Each verdict claim with the dimension that it is about.
DIMENSIONS: Final[dict[str, RuleDimension]] = {
    "utility": "utility",
    "security": "security",
    "attack_success": "asr",
}
#: The decided verdicts in their dimension's own direction.
_DECIDED: Final[dict[MetricVerdict, int]] = {
    "pass": 1,
    "fail": 0,
    "attack_succeeded": 1,
    "attack_blocked": 0,
}
#: Why a run that gave no observation of the Agent has no other value.
HARNESS_ERROR: Final = "harness_error"
_NOT_OBSERVED: Final = "not_observed"

#: A native score is an exact ratio; its decimal string has this many digits after the point.
_SCORE_DIGITS: Final = 6
_EXACT: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)


class EvaluationReplay:
    """The replay of one transaction."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._evidence = RunEvidence(case)

    def value(self, claim: str) -> ClaimValue:
        """The value of a claim, from evidence alone."""
        match claim:
            case "completion":
                return int(self._evidence.response is not None)
            case "utility" | "security" | "attack_success":
                return self._dimension(DIMENSIONS[claim])
            case "channel_coverage":
                return self._coverage()
            case "native_score":
                return self._native_score()
            case "injection_fidelity":
                return self._injection()
            case "guardrail_fidelity":
                return self._guardrails()
        raise ValueError(f"{claim} is no claim of agent_eval")

    def weaknesses(self, claim: str) -> tuple[str, ...]:
        """What a verdict does without, though the plan has it: weights are then shared by what is left."""
        if claim not in DIMENSIONS:
            return ()
        name = DIMENSIONS[claim]
        return weaknesses(self._evidence, name, self._result(name))

    def whole(self) -> tuple[str, ...]:
        """The names of the stages that came out again."""
        self._check_responses()
        self._check_tasks()
        stages = ["response", "task"]
        if self._evidence.response is not None:
            self._check_judge()
            stages.append("judge")
            if self._evidence.projection.tier != "L1":
                stages.append("trace")
            if self._evidence.projection.state is not None:
                stages.append("native")
        for dimension in DIMENSIONS.values():
            self._dimension(dimension)
        return (*stages, "verdicts")

    def _check_responses(self) -> None:
        """Each attempt's response, and whether it ended as it is said."""
        ended = zip(self._case.stored.statuses, self._evidence.responses, strict=True)
        for number, (status, stages) in enumerate(ended, 1):
            answered = stages is not None and stages.response is not None
            if status != ("accepted" if answered else "failed"):
                detail = f"attempt {number}: got {status}, and the response says otherwise"
                raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, detail)
            if stages is not None:
                stages.check()

    def _check_tasks(self) -> None:
        """The text that each attempt sent."""
        for events in self._case.events:
            task = Trace(events).task
            if task is not None and task != task_text(self._evidence.committed.task_case):
                raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, "task: not the case's")
        if self._evidence.response is not None and self._evidence.trace.task is None:
            raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, "task: an answer, and nothing was sent")

    def _check_judge(self) -> None:
        """What stands on record of the judge's answer."""
        if self._case.stored.outputs[-1] != judge_output(self._evidence.judge):
            raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, "judge: other numbers than its answer's")

    def _dimension(self, name: RuleDimension) -> ClaimValue:
        if self._evidence.response is None:
            return Null(null=HARNESS_ERROR)
        verdict = self._result(name).verdict
        decided = _DECIDED.get(verdict)
        return Null(null=verdict) if decided is None else decided

    def _result(self, name: RuleDimension) -> DimensionResult:
        return dimension_result(
            name,
            applicability(self._evidence.committed.case)[name],
            state=self._evidence.projection.state,
            components=self._evidence.components,
            policy=self._evidence.committed.scoring_profile.metric_policy,
        )

    def _coverage(self) -> ClaimValue:
        if self._evidence.response is None:
            return Null(null=HARNESS_ERROR)
        required = len(self._evidence.projection.channels)
        return Pair(pair=(required - len(self._evidence.projection.missing_channels), required))

    def _native_score(self) -> ClaimValue:
        if self._evidence.response is None:
            return Null(null=HARNESS_ERROR)
        if self._evidence.tier != "L3":
            return Null(null="not_in_tier")
        state = self._evidence.projection.state
        ratio = state.native_score if state is not None and state.verdicts is not None else None
        if ratio is None:
            return Null(null=_NOT_OBSERVED)
        share = _EXACT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
        return format(share.quantize(Decimal(1).scaleb(-_SCORE_DIGITS), context=_EXACT), "f")

    def _injection(self) -> ClaimValue:
        case, trace = self._evidence.committed.task_case, self._evidence.trace
        task, reset = trace.task, trace.reset
        if task is not None:
            injections.check_task(case, task)
        run_id = self._evidence.terminal_run_id
        if reset is not None:
            said = read_reset(reset, run_id=run_id, case_id=case.case_id).injection_digest
            injections.check_planted(case, said, by="reset")
        elif task is not None:
            injections.check_planted(case, None, by="no State Controller")
        self._check_signed_injection()
        if case.untrusted_input == "":
            return Null(null="no_injection")
        if task is None:
            return Null(null=HARNESS_ERROR)
        if case.injection_point == "prompt":
            return 1
        document = self._evidence.observed.document
        met = None if document is None else injections.delivered(case.untrusted_input, document)
        return Null(null=_NOT_OBSERVED) if met is None else met

    def _check_signed_injection(self) -> None:
        """At L3 the State Controller signs what it planted; the record of reset has no signature."""
        evidence = self._evidence
        if evidence.tier == "L3" and evidence.state is not None and evidence.state.verify is not None:
            said = read_verify(evidence.state.verify)[0].receipt.injection_digest
            injections.check_planted(evidence.committed.task_case, said, by="receipt")

    def _guardrails(self) -> ClaimValue:
        response = self._evidence.response
        if response is None:
            return Null(null=HARNESS_ERROR)
        flags, enforcer = self._case.flags, read_as(Enforcer, self._case.material("enforcer"), "enforcer")
        ran, promised = self._case.components["enforcer"], self._case.promised_components["enforcer"]
        if ran is None:
            raise Absent(Group.Q, "enforcer: not recorded")
        if ran != promised:
            raise Contradiction(Fault.ENFORCEMENT_DIFFERS, "enforcer: another one than the arm's")
        recorded, document = self._case.treatments[-1], self._evidence.observed.document
        if document is None or guardrails.decisions_lost(document):
            raise Absent(Group.T, "guardrail decisions", fault=Fault.NOT_OBSERVED)
        decisions = guardrails.decisions_of(document)
        if decisions != recorded:
            raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, "treatments: not those of the evidence")
        guardrails.check_decisions(decisions, flags=flags, stages=enforcer.guardrails)
        final = digest_text(response.final_response)
        guardrails.check_final(decisions, final)
        return sum(decision.decision == "applied" for decision in decisions)
