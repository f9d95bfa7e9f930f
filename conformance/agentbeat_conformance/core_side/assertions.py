"""Single statements about a result, each a function that gives the findings against it.

The rules, the State Controller and the judge of every scenario say different numbers: an honest trace and an
honest state are all good (1), the judge is not (`JUDGED`). So a number that only the judge can have given is
told from one in which a refused document was believed, and from one in which a missing one became a 0.

| | utility, security | asr | score |
|---|---|---|---|
| believed, and the judge | 0.775 | 0.225 | 0.775 |
| missing taken for 0, and the judge | 0.075 | 0.225 or 0.925 | 0.075 |
| the judge alone | 0.25 | 0.75 | 0.25 |
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from agentbeat_conformance.core_side.documents import JUDGE_WEIGHT, RULES_WEIGHT
from agentbeat_conformance.core_side.judges import JUDGED
from agentbeat_conformance.core_side.results import CoreResult
from agentbeat_protocol import cut
from agentbeat_protocol.evaluation import TIER_CHANNELS, ObservationTier

__all__ = [
    "BAD",
    "BOTH",
    "GOOD",
    "JUDGE_ALONE",
    "RULES",
    "RULES_ALONE",
    "STATE",
    "TOLERANCE",
    "TRACE",
    "all_observed",
    "is_completed",
    "is_null",
    "judge_alone",
    "judge_or_undecided",
    "no_evaluation",
    "number_is",
    "numbers_are",
    "official_is",
    "only_missing",
    "said",
    "value_is",
    "verdicts_are",
]

TRACE: Final = ("message_event", "tool_call", "tool_result")
STATE: Final = ("state_before_after", "native_score")

RULES, JUDGE = Decimal(str(RULES_WEIGHT)), Decimal(str(JUDGE_WEIGHT))
#: The scores of an honest run: the weighted mean of a defender's full mark and the judge's number.
BOTH: Final = {
    "score": RULES + JUDGE * Decimal(str(JUDGED["score"])),
    "utility": RULES + JUDGE * Decimal(str(JUDGED["utility_score"])),
    "security": RULES + JUDGE * Decimal(str(JUDGED["security_score"])),
    "asr": JUDGE * Decimal(str(JUDGED["asr_score"])),
}
JUDGE_ALONE: Final = {
    "score": Decimal(str(JUDGED["score"])),
    "utility": Decimal(str(JUDGED["utility_score"])),
    "security": Decimal(str(JUDGED["security_score"])),
    "asr": Decimal(str(JUDGED["asr_score"])),
}
RULES_ALONE: Final = {"score": Decimal(1), "utility": Decimal(1), "security": Decimal(1), "asr": Decimal(0)}

GOOD: Final = {"utility": "pass", "security": "pass", "asr": "attack_blocked", "overall": "pass"}
#: What the judge alone can decide here, and what nobody decided.
BAD: Final = {"utility": "fail", "security": "fail", "asr": "attack_succeeded", "overall": "fail"}
UNDECIDED: Final = frozenset({"review", "unavailable", "not_observed", "not_applicable"})

#: Scores are published as doubles.
TOLERANCE: Final = Decimal("1e-9")


def is_completed(result: CoreResult) -> Iterator[str]:
    if result.status != "completed":
        code = f" ({cut(str(result.failure_code))})" if result.failure_code else ""
        yield said(result, "eval_run.status", "completed") + code
    elif not result.evaluated:
        yield said(result, "evaluation", "an evaluation")


def no_evaluation(result: CoreResult) -> Iterator[str]:
    if result.evaluated:
        yield "evaluation: got one, expected none"


def all_observed(result: CoreResult, tier: ObservationTier) -> Iterator[str]:
    if result.missing is None or result.missing:
        yield said(result, "evaluation.evidence.missing_channels", "none")
        for name in sorted(result.missing or ()):
            yield f"channel {name}: missing, for the reason {cut(str(result.channel(name).reason), 160)}"
    for name in TIER_CHANNELS[tier]:
        state = result.channel(name).state
        if state not in ("observed", "observed_empty"):
            yield f"channel {name}: got {state}, expected observed"
    yield from value_is(result, "evaluation.evidence.status", "complete")
    yield from value_is(result, "evaluation.negotiation.observed_tier", tier)


def only_missing(result: CoreResult, channels: Collection[str], tier: ObservationTier) -> Iterator[str]:
    """Exactly these channels are missing, each with a reason; the others are observed."""
    if result.missing != frozenset(channels):
        yield said(result, "evaluation.evidence.missing_channels", ", ".join(channels))
    for name in TIER_CHANNELS[tier]:
        word = result.channel(name)
        if name not in channels:
            if word.state not in ("observed", "observed_empty"):
                yield f"channel {name}: got {word.state}, expected observed"
        elif word.state != "missing":
            yield f"channel {name}: got {word.state}, expected missing"
        elif not (word.reason or "").strip():
            yield f"channel {name}: missing without a reason"
    yield from value_is(result, "evaluation.evidence.status", "partial")
    supported = "L1" if "tool_call" in channels else "L2"
    yield from value_is(result, "evaluation.negotiation.observed_tier", supported)


def judge_alone(result: CoreResult) -> Iterator[str]:
    """Every number is the judge's or is not there; nothing is final, and nothing is complete."""
    yield from is_null(result, "evaluation.score.final_score")
    provisional = result.number("evaluation.score.provisional_score")
    if provisional is not None and not near(provisional, JUDGE_ALONE["score"]):
        yield said(
            result,
            "evaluation.score.provisional_score",
            f"{JUDGE_ALONE['score']} (the judge's alone) or null",
        )
    available = result.number("evaluation.score.available_weight")
    if available is None or available > JUDGE + TOLERANCE:
        yield said(result, "evaluation.score.available_weight", f"at most {JUDGE}, the judge's weight")
    yield from number_is(result, "evaluation.score.evidence_coverage", Decimal(0))
    for name in ("utility", "security", "asr"):
        yield from judge_or_undecided(result, name, JUDGE_ALONE[name], BAD[name])
    yield from verdicts_are(result, {"overall": BAD["overall"]}, undecided=True)


def judge_or_undecided(result: CoreResult, name: str, score: Decimal, verdict: str) -> Iterator[str]:
    """A dimension is undecided, or has this score and its verdict."""
    word = result.metric(name)
    if word.score is not None and not near(word.score, score):
        yield said(result, f"evaluation.metrics.{name}.score", f"{score} (the judge's alone) or null")
    if word.verdict not in UNDECIDED | {verdict}:
        yield said(result, f"evaluation.metrics.{name}.verdict", f"{verdict} (the judge's) or undecided")
    elif word.verdict == verdict and word.score is None:
        yield f"evaluation.metrics.{name}: got {verdict} without a score, expected it undecided"


def numbers_are(result: CoreResult, numbers: Mapping[str, Decimal], *, final: bool) -> Iterator[str]:
    yield from number_is(result, "evaluation.score.provisional_score", numbers["score"])
    if final:
        yield from number_is(result, "evaluation.score.final_score", numbers["score"])
    else:
        yield from is_null(result, "evaluation.score.final_score")
    for name in ("utility", "security", "asr"):
        yield from number_is(result, f"evaluation.metrics.{name}.score", numbers[name])


def verdicts_are(result: CoreResult, verdicts: Mapping[str, str], *, undecided: bool) -> Iterator[str]:
    for name, verdict in verdicts.items():
        permitted = UNDECIDED | {verdict} if undecided else {verdict}
        if result.metric(name).verdict not in permitted:
            expected = f"{verdict} or undecided" if undecided else verdict
            yield said(result, f"evaluation.metrics.{name}.verdict", expected)


def official_is(result: CoreResult, official: bool) -> Iterator[str]:
    yield from value_is(result, "evaluation.metrics.official_benchmark", official)
    if official:
        return
    for name, word in result.metrics.items():
        if word.official:
            yield f"evaluation.metrics.{name}.official: got true, expected false"


def number_is(result: CoreResult, path: str, number: Decimal) -> Iterator[str]:
    got = result.number(path)
    if got is None or not near(got, number):
        yield said(result, path, str(number))


def is_null(result: CoreResult, path: str) -> Iterator[str]:
    if result.at(path) is not None:
        yield said(result, path, "null")


def value_is(result: CoreResult, path: str, value: Any) -> Iterator[str]:
    got = result.at(path)
    if got != value or type(got) is not type(value):
        yield said(result, path, str(value).lower() if isinstance(value, bool) else str(value))


def said(result: CoreResult, path: str, expected: str) -> str:
    got = result.at(path)
    shown = "null" if got is None else str(got).lower() if isinstance(got, bool) else cut(str(got), 160)
    return f"{path}: got {shown}, expected {expected}"


def near(one: Decimal, other: Decimal) -> bool:
    return one.is_finite() and abs(one - other) <= TOLERANCE
