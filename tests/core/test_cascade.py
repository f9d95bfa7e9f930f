"""The cascade: what two components add up to, exactly, and what is missing from it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from agentbeat_core.scoring.cascade import build_cascade
from agentbeat_core.scoring.shown import MAX_LINE
from agentbeat_protocol.scoring import ComponentScore, JudgeOutcome, total_weight, weighted_mean
from support.scoring import case, check, document, evaluate, judge, message, profile, rule, state


def components(
    first: tuple[Fraction | None, bool], second: tuple[Fraction | None, bool], *, weight: str = "0.6"
) -> tuple[ComponentScore, ComponentScore]:
    """Both components, each as score and complete; `weight` is the first one's."""
    return (
        ComponentScore(
            name="deterministic",
            source="rules",
            weight=Decimal(weight),
            score=first[0],
            complete=first[1],
            dimensions={},
        ),
        ComponentScore(
            name="llm_judge",
            source="llm_judge",
            weight=1 - Decimal(weight),
            score=second[0],
            complete=second[1],
            dimensions={},
        ),
    )


ONE, NONE, HALF = Fraction(1), None, Fraction(1, 2)


@pytest.mark.parametrize(
    ("first", "second", "provisional", "final", "available", "covered", "codes"),
    [
        pytest.param((ONE, True), (HALF, True), (4, 5), (4, 5), "1.0", "1.0", (), id="both complete"),
        pytest.param(
            (ONE, True), (NONE, False), (1, 1), None, "0.6", "0.6", ("llm_judge_unavailable",), id="no judge"
        ),
        pytest.param(
            (NONE, False),
            (HALF, True),
            (1, 2),
            None,
            "0.4",
            "0.4",
            ("deterministic_unavailable",),
            id="judge only",
        ),
        pytest.param(
            (ONE, False),
            (HALF, True),
            (4, 5),
            None,
            "1.0",
            "0.4",
            ("deterministic_incomplete",),
            id="undecided rules",
        ),
        pytest.param(
            (ONE, True),
            (HALF, False),
            (4, 5),
            None,
            "1.0",
            "0.6",
            ("llm_judge_incomplete",),
            id="partial evidence",
        ),
        pytest.param(
            (NONE, False),
            (NONE, False),
            None,
            None,
            "0",
            "0",
            ("deterministic_unavailable", "llm_judge_unavailable"),
            id="nothing is no 0",
        ),
        pytest.param(
            (Fraction(0), True), (Fraction(0), True), (0, 1), (0, 1), "1.0", "1.0", (), id="a real 0"
        ),
    ],
)
def test_the_cascade_weighs_what_is_available_and_is_final_when_both_are_complete(
    first: tuple[Fraction | None, bool],
    second: tuple[Fraction | None, bool],
    provisional: tuple[int, int] | None,
    final: tuple[int, int] | None,
    available: str,
    covered: str,
    codes: tuple[str, ...],
) -> None:
    cascade = build_cascade(components(first, second))
    assert cascade.provisional_score_exact == provisional
    assert cascade.provisional_score == (provisional and provisional[0] / provisional[1])
    assert cascade.final_score_exact == final
    assert cascade.final_score == (final and final[0] / final[1])
    assert (cascade.available_weight, cascade.evidence_coverage) == (Decimal(available), Decimal(covered))
    assert cascade.reason_codes == codes
    assert [each.name for each in cascade.components] == ["deterministic", "llm_judge"]


def test_weights_are_decimals_and_no_doubles() -> None:
    # As doubles 0.3 * 1 + 0.7 * 0.5 is 0.6499999999999999.
    cascade = build_cascade(components((ONE, True), (HALF, True), weight="0.3"))
    assert cascade.final_score_exact == (13, 20)
    assert cascade.final_score == 0.65


def test_weights_of_many_digits_are_added_exactly() -> None:
    weight = "0." + "123456789" * 4
    cascade = build_cascade(components((ONE, True), (ONE, True), weight=weight))
    assert [each.weight for each in cascade.components] == [Decimal(weight), 1 - Decimal(weight)]
    assert total_weight([Decimal(weight), Decimal(1)]) == Decimal("1" + weight[1:])
    assert total_weight([]) == 0


def test_a_mean_of_one_third_stays_exact() -> None:
    assert weighted_mean([(Decimal("0.3"), Fraction(1, 3)), (Decimal("0.3"), ONE)]) == Fraction(2, 3)


def test_a_pair_of_integers_that_readers_would_round_is_not_published() -> None:
    evaluation = evaluate(profile(weights=(0.5, 0.5)), asked=judge(0.1234567890123457))
    assert evaluation.score.provisional_score == 0.1234567890123457
    assert evaluation.score.provisional_score_exact is None
    assert evaluate(profile(), asked=judge(0.125)).score.provisional_score_exact == (1, 8)


SAID = rule("said", "contains", text="Refunded", dimension="utility")


def test_the_judge_is_complete_with_the_evidence_that_it_was_shown() -> None:
    complete = evaluate(profile(SAID), asked=judge(0.5))
    assert complete.score.final_score_exact == (4, 5)
    partial = evaluate(profile(SAID, tier="L2"), asked=judge(0.5))
    assert partial.score.final_score is None
    assert partial.score.provisional_score_exact == (4, 5)
    assert partial.score.reason_codes == ("llm_judge_incomplete",)
    assert partial.score.components[1].reason_codes == ("judge_evidence_partial",)
    assert partial.score.evidence_coverage == Decimal("0.6")


def test_a_judge_who_was_not_shown_everything_is_not_complete() -> None:
    long = evaluate(profile(SAID), final_response="Refunded." + "a" * MAX_LINE, asked=judge(0.5))
    assert long.score.final_score is None
    assert long.score.components[1].reason_codes == ("judge_evidence_cut",)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        pytest.param(JudgeOutcome(scores=None, reason="judge_timeout"), "judge_timeout", id="a reason"),
        pytest.param(JudgeOutcome(scores=None), "judge_unavailable", id="no reason"),
    ],
)
def test_an_unavailable_judge_has_a_reason_and_no_number(asked: JudgeOutcome, code: str) -> None:
    evaluation = evaluate(profile(SAID), asked=asked)
    judged = evaluation.score.components[1]
    assert (judged.available, judged.score, judged.reason_codes) == (False, None, (code,))
    assert evaluation.score.provisional_score == 1.0, "the rule's word alone, not pulled down to 0.6"
    assert evaluation.score.final_score is None


def test_at_l3_the_native_score_is_weighed() -> None:
    evaluation = evaluate(
        profile(tier="L3"),
        evidence=document(message("x")),
        state=state(check("utility", True), check("security", False)),
        asked=judge(1),
    )
    assert evaluation.score.final_score_exact == (7, 10)


def test_an_unsound_profile_is_not_scored() -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        evaluate(profile(weights=(0.6, 0.5)))
    with pytest.raises(ValueError, match="positive"):
        evaluate(profile(weights=(1, 0)), of=case())
