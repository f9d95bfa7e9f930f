"""Mutants that make numbers and verdicts of what was not observed, and such as refuse what may run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from agentbeat_conformance.core_side.cores.preflight import Run
from agentbeat_conformance.core_side.cores.registry import core_mutant
from agentbeat_conformance.core_side.cores.scoring import Part, Trace
from agentbeat_conformance.core_side.cores.small import SmallCore
from agentbeat_conformance.core_side.cores.target_side import TargetSide
from agentbeat_conformance.core_side.results import Spoken
from agentbeat_protocol.evaluation import Rule

__all__: list[str] = []

Object = dict[str, Any]

_NO_TRACE: Final = ["evidence.ev-074", "reference.absent", "delivery.http-500", "delivery.hang-up"]


@core_mutant("missing-is-zero", flaw="turns a rule over a missing trace into a failure", caught_by=_NO_TRACE)
class _MissingIsZero(SmallCore):
    def rule(self, rule: Rule, answer: str, trace: Trace | None) -> bool | None:
        return bool(super().rule(rule, answer, trace))


@core_mutant(
    "missing-is-absent",
    flaw="passes `tool_not_called` over a missing trace",
    caught_by=[*_NO_TRACE, "absence.truncated"],
)
class _MissingIsAbsent(SmallCore):
    def rule(self, rule: Rule, answer: str, trace: Trace | None) -> bool | None:
        decided = super().rule(rule, answer, trace)
        return True if decided is None and rule.matcher.kind == "tool_not_called" else decided


@core_mutant(
    "final-without-evidence",
    flaw="gives a final_score of whatever there is",
    caught_by=[*_NO_TRACE, "absence.truncated", "receipt.other-nonce", "judge.prose"],
)
class _FinalWithoutEvidence(SmallCore):
    def final(self, parts: tuple[Part, Part], provisional: Fraction | None) -> Fraction | None:
        del parts
        return provisional


class _Tells(SmallCore):
    """Publishes an evaluation otherwise than it was made."""

    def tell(self, evaluation: Object) -> None:
        """Change it."""
        raise NotImplementedError

    def told(self, result: Object) -> Object:
        self.tell(result["evaluation"])
        return result


@core_mutant("gives-no-reason", flaw="says that a channel is missing, and not why", caught_by=_NO_TRACE)
class _GivesNoReason(_Tells):
    def tell(self, evaluation: Object) -> None:
        for each in evaluation["evidence"]["observations"]:
            each["reason"] = None


@core_mutant("claims-the-tier", flaw="reports the tier that was asked for as observed", caught_by=_NO_TRACE)
class _ClaimsTheTier(_Tells):
    def tell(self, evaluation: Object) -> None:
        evaluation["negotiation"]["observed_tier"] = evaluation["negotiation"]["requested_tier"]


@core_mutant(
    "empty-is-missing",
    flaw="takes a channel on which nothing happened for a missing one",
    caught_by=["absence.observed-empty"],
)
class _EmptyIsMissing(_Tells):
    def tell(self, evaluation: Object) -> None:
        evidence = evaluation["evidence"]
        for each in evidence["observations"]:
            if each["state"] == "observed_empty":
                each.update(state="missing", reason="no event")
                evidence["missing_channels"].append(each["channel"])


@core_mutant("undecided-is-fail", flaw="calls an undecided dimension failed", caught_by=["evidence.ev-074"])
class _UndecidedIsFail(_Tells):
    def tell(self, evaluation: Object) -> None:
        for name in ("utility", "security"):
            metric = evaluation["metrics"][name]
            if evaluation["score"]["evidence_coverage"] == 0:
                metric.update(verdict="fail", score=0)


@core_mutant(
    "coverage-of-all",
    flaw="counts incomplete parts as covered",
    caught_by=["delivery.http-500", "receipt.other-nonce"],
)
class _CoverageOfAll(_Tells):
    def tell(self, evaluation: Object) -> None:
        evaluation["score"]["evidence_coverage"] = evaluation["score"]["available_weight"]


# --- The judge ------------------------------------------------------------------------------------------


@core_mutant(
    "takes-any-number",
    flaw="takes a judge's number out of range, cut to it",
    caught_by=["judge.score-of-7", "judge.score-below-0", "judge.asr-above-1"],
)
class _TakesAnyNumber(SmallCore):
    def scores(self, text: Any) -> dict[str, Fraction] | None:
        try:
            answer = json.loads(text)
            cut = {name: min(max(value, 0), 1) for name, value in answer.items() if name != "reason"}
            return super().scores(json.dumps(cut))
        except (ValueError, TypeError, AttributeError):
            return super().scores(text)


@core_mutant(
    "takes-text-for-numbers",
    flaw="takes a judge's text or truth value for a number",
    caught_by=["judge.text-as-number", "judge.true-as-number"],
)
class _TakesTextForNumbers(SmallCore):
    def scores(self, text: Any) -> dict[str, Fraction] | None:
        try:
            answer = json.loads(text)
            read = {name: float(value) for name, value in answer.items() if name.endswith("score")}
            return super().scores(json.dumps(read))
        except (ValueError, TypeError, AttributeError):
            return super().scores(text)


@core_mutant(
    "looks-for-json",
    flaw="looks for JSON inside the prose of a judge",
    caught_by=["judge.instructions"],
)
class _LooksForJSON(SmallCore):
    def scores(self, text: Any) -> dict[str, Fraction] | None:
        found = re.search(r"\{.*\}", text, re.DOTALL) if isinstance(text, str) else None
        return super().scores(found[0] if found else text)


@core_mutant(
    "silence-is-zero",
    flaw="takes a judge without numbers for one that gives 0",
    caught_by=["judge.prose", "judge.half-json", "judge.late", "judge.http-500", "judge.not-configured"],
)
class _SilenceIsZero(SmallCore):
    async def judged(self, run: Run, answer: str, trace: Trace | None) -> dict[str, Fraction] | None:
        scores = await super().judged(run, answer, trace)
        names = ("score", "utility_score", "security_score", "asr_score", "overall_score")
        return dict.fromkeys(names, Fraction()) if scores is None else scores


@core_mutant(
    "shows-what-it-refused",
    flaw="shows the judge a document that it refused",
    caught_by=["delivery.other-run", "delivery.too-large", "delivery.unobserved-channel"],
)
class _ShowsWhatItRefused(SmallCore):
    def __init__(self) -> None:
        self._raw: dict[str, bytes] = {}

    def document(self, run: Run, raw: bytes) -> Trace:
        self._raw[run.run_id] = raw[:4096]
        return TargetSide.document(self, run, raw)

    def evidence_limit(self) -> int:
        # One byte more is read, and then refused as a document.
        return super().evidence_limit() + 1

    def shown(self, run: Run, answer: str, trace: Trace | None) -> str:
        refused = "" if trace else self._raw.get(run.run_id, b"").decode("utf-8", "replace")
        return super().shown(run, answer, trace) + refused


# --- Preflight, and the command -------------------------------------------------------------------------

_OVERLOOKED: Final = {
    "target_profile_mismatch": ["other-profile"],
    "target_capability_mismatch": ["other-capability"],
    "case_tier_mismatch": ["case-tier"],
    "scoring_profile_tier_mismatch": ["scoring-tier"],
    "capability_lacks_channels": ["lacks-channels"],
    "scenario_not_allowed": ["scenario"],
    "weights_unsound": ["weights-sum", "weight-zero"],
    "injection_needs_state_controller": ["needs-controller"],
    "state_controller_missing": ["no-controller"],
    "controller_not_independent": ["same-origin", "same-secret"],
    "insecure_http": ["insecure-http"],
}


def _overlooks(code: str) -> type[SmallCore]:
    return type("Overlooks", (SmallCore,), {"overlooked": frozenset({code})})


for _code, _names in _OVERLOOKED.items():
    core_mutant(
        f"overlooks-{_code.replace('_', '-')}",
        flaw=f"does not refuse for {_code}",
        caught_by=[f"preflight.{name}" for name in _names],
    )(_overlooks(_code))


@core_mutant(
    "talks-on-standard-output",
    flaw="writes a message before the result",
    caught_by=["control.l1", "control.l2", "control.l3"],
)
class _TalksOnStandardOutput(SmallCore):
    async def __call__(self, request: bytes, environment: Mapping[str, str | None]) -> Spoken:
        spoken = await super().__call__(request, environment)
        return Spoken(output=b"starting\n" + spoken.output, exit_code=0)
