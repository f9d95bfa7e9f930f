"""What a result must say after each kind of scenario, as pure functions of the result.

>>> without_trace().text
'L2 channels missing with a reason, no trace verdict, no final_score'
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from agentbeat_conformance.core_side.assertions import (
    BAD,
    BOTH,
    GOOD,
    JUDGE_ALONE,
    RULES,
    RULES_ALONE,
    STATE,
    TOLERANCE,
    TRACE,
    all_observed,
    is_completed,
    is_null,
    judge_alone,
    judge_or_undecided,
    no_evaluation,
    number_is,
    numbers_are,
    official_is,
    only_missing,
    said,
    verdicts_are,
)
from agentbeat_conformance.core_side.results import CoreResult
from agentbeat_conformance.core_side.scenarios import Expectation
from agentbeat_protocol.evaluation import ObservationTier

__all__ = [
    "complete",
    "either",
    "failed",
    "observed",
    "refused",
    "trace_alone_missing",
    "truncated",
    "unofficial",
    "without_judge",
    "without_state",
    "without_trace",
]


def complete(tier: ObservationTier) -> Expectation:
    """An honest run: everything observed, every number as it must be."""

    def findings(result: CoreResult) -> Iterator[str]:
        yield from is_completed(result)
        yield from all_observed(result, tier)
        yield from numbers_are(result, BOTH, final=True)
        yield from verdicts_are(result, GOOD, undecided=False)
        yield from official_is(result, tier == "L3")

    return Expectation(f"all channels of {tier} observed, verdicts and final_score", findings)


def observed(tier: ObservationTier) -> Expectation:
    """An odd but legal document: all channels observed, whatever the rules make of it."""

    def findings(result: CoreResult) -> Iterator[str]:
        yield from is_completed(result)
        yield from all_observed(result, tier)
        yield from number_is(result, "evaluation.score.available_weight", Decimal(1))
        coverage = result.number("evaluation.score.evidence_coverage")
        # What is too long to be shown to a judge whole may leave the judge's part incomplete.
        if coverage is None or coverage < RULES - TOLERANCE:
            yield said(result, "evaluation.score.evidence_coverage", f"at least {RULES}")
        elif coverage == 1 and result.number("evaluation.score.final_score") is None:
            yield said(result, "evaluation.score.final_score", "a number, everything is complete")

    return Expectation(f"all channels of {tier} observed", findings)


def without_trace(tier: ObservationTier = "L2") -> Expectation:
    """The evidence document is refused: nothing is projected from it, and no number is made of it."""

    def findings(result: CoreResult) -> Iterator[str]:
        yield from is_completed(result)
        yield from only_missing(result, TRACE, tier)
        yield from judge_alone(result)
        if result.accepted_documents("target_evidence"):
            yield "evaluation.evidence.documents: the document is said to be accepted"

    return Expectation("L2 channels missing with a reason, no trace verdict, no final_score", findings, True)


def trace_alone_missing() -> Expectation:
    """At L3 the evidence document is refused; the State Controller's word stands, and nothing is official."""

    def findings(result: CoreResult) -> Iterator[str]:
        yield from is_completed(result)
        yield from only_missing(result, TRACE, "L3")
        yield from is_null(result, "evaluation.score.final_score")
        yield from official_is(result, False)

    return Expectation("only the L2 channels missing, no final_score, not official", findings, True)


def without_state() -> Expectation:
    """The State Controller's word is refused: no native verdict, and no number is made of it."""

    def findings(result: CoreResult) -> Iterator[str]:
        yield from is_completed(result)
        yield from only_missing(result, STATE, "L3")
        yield from judge_alone(result)
        yield from official_is(result, False)

    return Expectation("L3 channels missing with a reason, no native verdict, no final_score", findings)


def unofficial() -> Expectation:
    """Unsigned, no key registered: everything is usable, nothing is official."""

    def findings(result: CoreResult) -> Iterator[str]:
        yield from is_completed(result)
        yield from all_observed(result, "L3")
        yield from numbers_are(result, BOTH, final=True)
        yield from verdicts_are(result, GOOD, undecided=False)
        yield from official_is(result, False)

    return Expectation("all channels of L3 observed, never official", findings)


def truncated(channel: str) -> Expectation:
    """A channel of which something was dropped counts as missing; its rules are not decided."""

    def findings(result: CoreResult) -> Iterator[str]:
        yield from is_completed(result)
        if result.missing is None or channel not in result.missing:
            yield said(result, "evaluation.evidence.missing_channels", f"{channel} among them")
        yield from is_null(result, "evaluation.score.final_score")
        for name in ("utility", "security", "asr"):
            yield from judge_or_undecided(result, name, JUDGE_ALONE[name], BAD[name])

    return Expectation(f"{channel} counts as missing, no verdict over it, no final_score", findings)


def without_judge(tier: ObservationTier = "L1") -> Expectation:
    """The judge gave no usable numbers: provisional only, by the rules alone."""

    def findings(result: CoreResult) -> Iterator[str]:
        yield from is_completed(result)
        yield from all_observed(result, tier)
        yield from numbers_are(result, RULES_ALONE, final=False)
        yield from number_is(result, "evaluation.score.available_weight", RULES)
        yield from verdicts_are(result, GOOD, undecided=False)

    return Expectation("the judge's component unavailable, provisional_score of the rules alone", findings)


def failed(*codes: str) -> Expectation:
    """There is no observation of the Agent at all."""

    def findings(result: CoreResult) -> Iterator[str]:
        if result.status != "failed":
            yield said(result, "eval_run.status", "failed")
        yield from no_evaluation(result)
        if codes and result.failure_code not in codes:
            yield said(result, "failure.code", " or ".join(codes))

    return Expectation(
        f"eval_run.status failed{''.join(f', {code}' for code in codes)}, no evaluation", findings
    )


def refused() -> Expectation:
    """Preflight refuses: nothing was called, and nothing was evaluated."""

    def findings(result: CoreResult) -> Iterator[str]:
        if result.status != "refused":
            yield said(result, "eval_run.status", "refused")
        yield from no_evaluation(result)
        if not isinstance(result.failure_code, str) or not result.failure_code:
            yield said(result, "failure.code", "a code of its own")

    return Expectation("refused with a code, nothing called", findings)


def either(text: str, *permitted: Expectation) -> Expectation:
    """Any one of several."""

    def findings(result: CoreResult) -> Iterator[str]:
        all_found = [list(each.findings(result)) for each in permitted]
        if all(all_found):
            # The one that came nearest says the most.
            yield from min(all_found, key=len)

    return Expectation(text, findings)
