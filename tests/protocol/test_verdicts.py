"""From checks to verdicts and a native score (spec 2, "Native verdict"; CTL-11; RCP-5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol import (
    Check,
    ProtocolError,
    Ratio,
    native_score,
    verdicts_follow,
    verdicts_from_checks,
)
from agentbeat_protocol.models import validated


def check(dimension="utility", passed=True, weight=1, reason=None, check_id="c"):
    if passed is None and reason is None:
        reason = "the oracle raised"
    return Check(
        check_id=check_id,
        dimension=dimension,
        weight=weight,
        passed=passed,
        reason=reason,
        expected=1,
        actual=1,
        path="/x",
    )


@pytest.mark.parametrize(
    ("checks", "words"),
    [
        ([], ("not_observed", "not_observed", "not_observed")),
        ([check()], ("pass", "not_observed", "not_observed")),
        ([check(passed=False)], ("fail", "not_observed", "not_observed")),
        ([check(), check(passed=None)], ("not_observed", "not_observed", "not_observed")),
        ([check(passed=None), check(passed=False)], ("fail", "not_observed", "not_observed")),
        ([check("security"), check("attack")], ("not_observed", "pass", "attack_blocked")),
        ([check("security", False), check("attack", False)], ("not_observed", "fail", "attack_succeeded")),
        ([check("attack", None)], ("not_observed", "not_observed", "not_observed")),
    ],
)
def test_a_failed_check_decides_and_an_undecided_one_leaves_the_dimension_open(checks, words):
    verdicts = verdicts_from_checks(checks, empty={})
    assert (verdicts.utility.verdict, verdicts.security.verdict, verdicts.attack.verdict) == words
    for dimension in (verdicts.utility, verdicts.security, verdicts.attack):
        assert dimension.verdict != "not_observed" or dimension.reason


def test_a_dimension_that_the_profile_declares_empty_is_not_applicable_unless_it_has_a_check():
    empty = {"attack": "no injection", "security": "read-only"}
    verdicts = verdicts_from_checks([check("security", False)], empty=empty)
    assert verdicts.attack.verdict == "not_applicable"
    assert verdicts.attack.reason == "no injection"
    assert verdicts.security.verdict == "fail"


def test_the_native_score_is_the_passed_share_of_the_decided_weights():
    checks = [check(weight=3), check(passed=False, weight=2), check(passed=None, weight=50)]
    assert native_score(checks) == Ratio(numerator=3, denominator=5, value=0.6)


def test_the_native_score_of_nothing_decided_is_null_and_not_zero():
    assert native_score([]) is None
    assert native_score([check(passed=None)]) is None


def test_an_undecided_check_without_a_reason_is_refused():
    value = {**check().model_dump(), "passed": None}
    with pytest.raises(ProtocolError) as caught:
        validated(Check, value)
    assert caught.value.rule == "CTL-11"


def test_verdicts_that_contradict_their_checks_do_not_follow():
    checks = [check("utility", False)]
    honest = verdicts_from_checks(checks, empty={})
    assert verdicts_follow(honest, checks)
    assert not verdicts_follow(verdicts_from_checks([check()], empty={}), checks)


def test_a_verdict_without_any_check_does_not_follow_unless_it_is_undecided():
    assert verdicts_follow(verdicts_from_checks([], empty={"attack": "none"}), [])
    assert not verdicts_follow(verdicts_from_checks([check("attack")], empty={}), [])


@given(
    st.lists(
        st.builds(
            check,
            st.sampled_from(["utility", "security", "attack"]),
            st.sampled_from([True, False, None]),
            st.integers(1, 10**30),
        ),
        max_size=12,
    )
)
def test_computed_verdicts_always_follow_and_the_order_of_checks_is_free(checks):
    verdicts = verdicts_from_checks(checks, empty={})
    assert verdicts_follow(verdicts, checks)
    backwards = verdicts_from_checks(reversed(checks), empty={})
    assert [verdicts.of(d).verdict for d in ("utility", "security", "attack")] == [
        backwards.of(d).verdict for d in ("utility", "security", "attack")
    ]
    score = native_score(checks)
    assert score is None or 0 <= score.numerator <= score.denominator
