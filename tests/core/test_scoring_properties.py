"""What holds of every evaluation: missing data decides nothing, and exact numbers stay exact."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol.evaluation import METRICS, Evaluation
from agentbeat_protocol.evidence import EvidenceDocument
from agentbeat_protocol.verdicts import Check
from support.scoring import (
    NO_JUDGE,
    call,
    check,
    command,
    document,
    dropped,
    evaluate,
    judge,
    message,
    profile,
    result,
    rule,
    state,
)

DECIDED = frozenset({"pass", "fail", "attack_blocked", "attack_succeeded"})
DIMENSIONS = ("utility", "security", "asr")

MATCHERS: list[dict[str, Any]] = [
    {"kind": "contains", "text": "Refunded"},
    {"kind": "not_contains", "text": "Refunded"},
    {"kind": "matches", "pattern": "^R"},
    {"kind": "json_path", "path": "$.ok", "equals": True},
    {"kind": "tool_called", "name": "refund"},
    {"kind": "tool_not_called", "name": "refund"},
    {"kind": "tool_not_called", "name": "mail"},
    {"kind": "tool_arguments", "name": "refund", "path": "$.id", "equals": 7},
    {"kind": "tool_order", "names": ["read", "refund"]},
    {"kind": "tool_count", "name": "refund", "min": 1, "max": 1},
    {"kind": "tool_result", "name": "refund", "is_error": False},
    {"kind": "message_matches", "pattern": "done"},
    {"kind": "command_run", "pattern": "^ls"},
]


@st.composite
def rules(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to seven rules of any kind, dimension, weight and good outcome."""
    shapes = draw(
        st.lists(
            st.tuples(
                st.sampled_from(MATCHERS),
                st.sampled_from(DIMENSIONS),
                st.integers(1, 9),
                st.sampled_from(["matched", "not_matched"]),
            ),
            max_size=7,
        )
    )
    return [
        rule(f"r{index}", dimension=dimension, weight=weight, passes_when=good, **matcher)
        for index, (matcher, dimension, weight, good) in enumerate(shapes)
    ]


@st.composite
def traces(draw: st.DrawFn) -> EvidenceDocument:
    """A document of up to seven calls, answered or not, with commands and messages between."""
    shapes = []
    for index, kind in enumerate(draw(st.lists(st.sampled_from("carms"), max_size=7))):
        name = draw(st.sampled_from(["read", "refund", "mail"]))
        if kind in "ca":
            shapes.append(call(name, {"id": draw(st.integers(6, 8))}, call_id=f"c{index}"))
        if kind == "a":
            shapes.append(result(name, "ok", call_id=f"c{index}", is_error=draw(st.booleans())))
        if kind == "r":
            shapes.append(command(draw(st.sampled_from(["ls", "curl"]))))
        if kind == "m":
            shapes.append(message(draw(st.sampled_from(["done", "hello"]))))
    return document(*shapes)


def cut_short(evidence: EvidenceDocument, kind: str) -> EvidenceDocument:
    """The same document, with the mark that events of this type were dropped."""
    shapes = [(event.type, event.data.model_dump(exclude_unset=True)) for event in evidence.events]
    return document(*shapes, dropped({kind: 1}))


NUMBERS = st.floats(0, 1)
JUDGES = st.none() | st.builds(
    lambda score, utility, security, asr: judge(score, utility=utility, security=security, asr=asr),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
)
WEIGHTS = st.integers(1, 99).map(lambda share: (share / 100, (100 - share) / 100))
CHECKS = st.lists(
    st.builds(
        lambda dimension, passed, weight: check(dimension, passed, weight=weight),
        st.sampled_from(["utility", "security", "attack"]),
        st.sampled_from([True, False, None]),
        st.integers(1, 9),
    ),
    max_size=6,
)
DROPPED = st.sampled_from(["message", "tool.call", "tool.result", "command.result"])


def verdicts(evaluation: Evaluation) -> dict[str, str]:
    """The verdict of each metric."""
    return {name: getattr(evaluation.metrics, name).verdict for name in METRICS}


@given(rules(), traces(), JUDGES, WEIGHTS)
def test_scores_are_from_0_to_1_and_a_final_score_is_the_provisional_one(
    shapes: Any, evidence: EvidenceDocument, asked: Any, weights: Any
) -> None:
    score = evaluate(
        profile(*shapes, tier="L2", weights=weights), evidence=evidence, asked=asked or NO_JUDGE
    ).score
    assert (score.provisional_score is None) == (score.available_weight == 0)
    assert score.provisional_score is None or 0 <= score.provisional_score <= 1
    assert score.final_score in (None, score.provisional_score)
    assert (score.final_score is not None) == (score.evidence_coverage == 1)
    assert 0 <= score.evidence_coverage <= score.available_weight <= 1


@given(rules(), traces(), DROPPED | st.none(), JUDGES)
def test_lost_evidence_decides_no_dimension_that_was_open(
    shapes: Any, evidence: EvidenceDocument, kind: str | None, asked: Any
) -> None:
    given_profile, judged = profile(*shapes, tier="L2"), asked or NO_JUDGE
    whole = evaluate(given_profile, evidence=evidence, asked=judged)
    less = evaluate(given_profile, evidence=cut_short(evidence, kind) if kind else None, asked=judged)
    for name in DIMENSIONS:
        if verdicts(whole)[name] not in DECIDED:
            assert verdicts(less)[name] not in DECIDED
    assert less.score.final_score is None
    assert less.evidence.coverage.value < whole.evidence.coverage.value


@given(rules(), traces(), DROPPED | st.none())
def test_a_rule_keeps_its_outcome_or_loses_it_when_evidence_is_lost(
    shapes: Any, evidence: EvidenceDocument, kind: str | None
) -> None:
    given_profile = profile(*shapes, tier="L2")
    whole = evaluate(given_profile, evidence=evidence).rules
    less = evaluate(given_profile, evidence=cut_short(evidence, kind) if kind else None).rules
    for before, after in zip(whole, less, strict=True):
        assert after.passed in (before.passed, None)
        assert (after.passed is None) == (after.reason is not None)


@given(rules(), st.sampled_from(["L1", "L2"]))
def test_nothing_observed_is_no_verdict_and_no_0(shapes: Any, tier: str) -> None:
    evaluation = evaluate(profile(*shapes, tier=tier), final_response=None)
    assert not DECIDED & set(verdicts(evaluation).values())
    assert evaluation.score.provisional_score is None
    assert all(getattr(evaluation.metrics, name).score is None for name in METRICS)
    assert evaluation.evidence.coverage.numerator == 0
    assert evaluation.negotiation.observed_tier is None


@given(rules(), traces(), JUDGES, st.randoms(use_true_random=False))
def test_the_order_of_the_rules_changes_no_number_and_no_verdict(
    shapes: list[Any], evidence: EvidenceDocument, asked: Any, random: Any
) -> None:
    shuffled = list(shapes)
    random.shuffle(shuffled)
    one, other = (
        evaluate(profile(*each, tier="L2"), evidence=evidence, asked=asked or NO_JUDGE)
        for each in (shapes, shuffled)
    )
    assert (one.score, one.metrics) == (other.score, other.metrics)


@given(rules(), traces(), st.integers(2, 1000))
def test_weights_count_against_each_other_only(
    shapes: list[Any], evidence: EvidenceDocument, factor: int
) -> None:
    heavier = [shape | {"weight": shape["weight"] * factor} for shape in shapes]
    one, other = (evaluate(profile(*each, tier="L2"), evidence=evidence) for each in (shapes, heavier))
    assert (one.score, one.metrics) == (other.score, other.metrics)


@given(CHECKS, JUDGES, WEIGHTS, st.sampled_from(["verified", "unsigned"]))
def test_no_judge_overturns_what_the_state_controller_saw_go_wrong(
    checks: list[Check], asked: Any, weights: Any, signature: str
) -> None:
    report = state(*checks, signature=signature)
    evaluation = evaluate(
        profile(tier="L3", weights=weights),
        evidence=document(message("x")),
        state=report,
        asked=asked or NO_JUDGE,
    )
    bad = {each.dimension for each in checks if each.passed is False}
    found = verdicts(evaluation)
    if "security" in bad:
        assert (found["security"], found["overall"]) == ("fail", "fail")
    if "attack" in bad:
        assert (found["asr"], found["overall"]) == ("attack_succeeded", "fail")


@given(
    CHECKS,
    JUDGES,
    WEIGHTS,
    st.sampled_from(["response", "evidence", "state", "refused", "unsigned", *DIMENSIONS]),
)
def test_taking_something_away_never_makes_a_result_official(
    checks: list[Check], asked: Any, weights: Any, lost: str
) -> None:
    kept = [each for each in checks if each.dimension != ("attack" if lost == "asr" else lost)]
    report = state(
        *kept, signature="unsigned" if lost == "unsigned" else "verified", accepted=lost != "refused"
    )
    evaluation = evaluate(
        profile(tier="L3", weights=weights),
        final_response=None if lost == "response" else "Refunded.",
        evidence=None if lost == "evidence" else document(message("x")),
        state=None if lost == "state" else report,
        asked=asked or NO_JUDGE,
    )
    assert not evaluation.metrics.official_benchmark
    assert evaluation.metrics.reason_codes


@given(rules(), traces(), JUDGES)
def test_an_evaluation_is_the_same_each_time_and_survives_the_wire(
    shapes: Any, evidence: EvidenceDocument, asked: Any
) -> None:
    given_profile = profile(*shapes, tier="L2")
    evaluation = evaluate(given_profile, evidence=evidence, asked=asked or NO_JUDGE)
    assert evaluate(given_profile, evidence=evidence, asked=asked or NO_JUDGE) == evaluation
    written = evaluation.model_dump(mode="json", exclude_none=True)
    again = Evaluation.model_validate(evaluation.model_dump(mode="json"))
    assert again.model_dump(mode="json", exclude_none=True) == written
