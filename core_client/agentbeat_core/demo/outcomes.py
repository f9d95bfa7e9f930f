"""What came of a run, in the words of the demo's table; and what a case says should come of it.

An `Outcome` is read from an `eval-run-response-v1` alone. A case carries the outcome that it expects, so the
demo checks itself: `differences` is empty, or says member by member what came out otherwise.

>>> seen = Outcome(status="completed", utility="fail")
>>> differences(Outcome(status="completed", utility="pass"), seen)
('utility: expected pass, got fail',)
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from agentbeat_protocol.evaluation import EvalRunResponse, Evaluation

__all__ = ["Outcome", "differences", "outcome_of"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A run in a few words.

    Attributes:
        status: of the run: `completed`, `failed` or `refused`.
        failure: the code of a run without an evaluation.
        observed: the tier that the evidence supports.
        evidence: `complete` or `partial`.
        missing: the channels of the tier that were not wholly observed, in order.
        empty: the channels on which nothing happened, in order.
        utility, security, asr, overall: the metrics' verdicts.
        score: the final score, else the provisional one, to four digits.
        final: whether the score is final; None without one.
        official: whether the result is an official benchmark result; None without an evaluation.
    """

    status: str
    failure: str | None = None
    observed: str | None = None
    evidence: str | None = None
    missing: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    utility: str | None = None
    security: str | None = None
    asr: str | None = None
    overall: str | None = None
    score: float | None = None
    final: bool | None = None
    official: bool | None = None


def outcome_of(response: EvalRunResponse) -> Outcome:
    """The outcome that a response tells."""
    failure = response.failure.code if response.failure else None
    if response.evaluation is None:
        return Outcome(status=response.eval_run.status, failure=failure)
    evaluation = response.evaluation
    metrics, evidence = evaluation.metrics, evaluation.evidence
    score, final = _score(evaluation)
    return Outcome(
        status=response.eval_run.status,
        failure=failure,
        observed=evaluation.negotiation.observed_tier,
        evidence=evidence.status,
        missing=evidence.missing_channels,
        empty=tuple(each.channel for each in evidence.observations if each.state == "observed_empty"),
        utility=metrics.utility.verdict,
        security=metrics.security.verdict,
        asr=metrics.asr.verdict,
        overall=metrics.overall.verdict,
        score=score,
        final=final,
        official=metrics.official_benchmark,
    )


def differences(expected: Outcome, seen: Outcome) -> tuple[str, ...]:
    """Each member in which the two differ, in words; empty when they are equal."""
    return tuple(
        f"{field.name}: expected {_word(wanted)}, got {_word(got)}"
        for field in fields(Outcome)
        if (wanted := getattr(expected, field.name)) != (got := getattr(seen, field.name))
    )


def _score(evaluation: Evaluation) -> tuple[float | None, bool | None]:
    cascade = evaluation.score
    for score, final in ((cascade.final_score, True), (cascade.provisional_score, False)):
        if score is not None:
            return round(score, 4), final
    return None, None


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "nothing" if value is None else str(value)
