"""Patterns of rules: linear time whatever the Agent writes, and a clear refusal of what cannot be had so."""

from __future__ import annotations

import pytest
from pydantic_core import PydanticCustomError

from agentbeat_protocol.errors import ProtocolError
from agentbeat_protocol.evaluation import Rule
from agentbeat_protocol.evaluation.patterns import (
    MAX_REPETITION,
    MAX_SEARCHED,
    check_pattern,
    pattern_found,
    searchable,
)
from agentbeat_protocol.models import validated


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        pytest.param("refund", "the refund is done", True, id="anywhere"),
        pytest.param("^refund$", "the refund", False, id="anchored"),
        pytest.param("^refund$", "refund\n", False, id="the end is the end, not the last line break"),
        pytest.param("(?m)^refund$", "a\nrefund\nb", True, id="lines when asked for"),
        pytest.param("(?i)REFUND", "Refund", True, id="case is ignored when asked for"),
        pytest.param("refund", "Refund", False, id="and else is not"),
        pytest.param("a.b", "a\nb", False, id="a dot is no line break"),
        pytest.param("(?s)a.b", "a\nb", True, id="unless asked for"),
        pytest.param(r"\d{3}-\d{4}", "call 555-0199", True, id="counted"),
        pytest.param(r"\p{Greek}", "omega Ω", True, id="scripts"),
        pytest.param("x", "", False, id="the empty text"),
        pytest.param("^$", "", True, id="the empty text is found"),
    ],
)
def test_a_pattern_is_searched_for_anywhere(pattern: str, text: str, found: bool) -> None:
    assert check_pattern(pattern) == pattern
    assert pattern_found(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "cause"),
    [
        pytest.param("(", "unclosed group", id="unclosed group"),
        pytest.param("[a", "unclosed character class", id="unclosed class"),
        pytest.param("*a", "repetition operator missing expression", id="nothing to repeat"),
        pytest.param(r"(a)\1", "backreferences are not supported", id="back-reference"),
        pytest.param("(?=a)b", "look-around", id="look-ahead"),
        pytest.param("(?<!a)b", "look-around", id="look-behind"),
        pytest.param("a{1000}{1000}", "counted repetitions", id="repetitions that multiply"),
        pytest.param("a{2000}", "counted repetitions", id="one long repetition"),
        pytest.param("a{1,2000}", "counted repetitions", id="a high upper bound"),
        pytest.param(r"\\{2000}", "counted repetitions", id="a repeated backslash"),
        pytest.param("a{" + "9" * 4000 + "}", "counted repetitions", id="a count of 4,000 digits"),
        pytest.param(r"\p{L}{1000}", "size limit", id="too large when compiled"),
    ],
)
def test_a_pattern_that_cannot_be_searched_for_is_refused(pattern: str, cause: str) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        check_pattern(pattern)
    assert refused.value.type == "S-PATTERN"
    assert cause in refused.value.message()
    assert len(refused.value.message()) < 200, "the pattern is not repeated"


def test_an_escaped_brace_is_no_repetition() -> None:
    assert pattern_found(check_pattern(r"a\{2000\}"), "a{2000}")


def test_repetitions_up_to_the_bound_are_taken() -> None:
    assert check_pattern(f"[ab]{{{MAX_REPETITION}}}")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param("(a+)+$", "a" * 100_000 + "!", id="nested repetition"),
        pytest.param("(a|a)*b", "a" * 100_000, id="ambiguous alternatives"),
        pytest.param("(a|aa)+$", "a" * 100_000 + "!", id="overlapping alternatives"),
        pytest.param(r"^(\w+\s?)*$", "word " * 20_000 + "!", id="words"),
        pytest.param("a*a*a*a*a*b", "a" * 100_000, id="polynomial"),
    ],
)
def test_a_text_made_to_keep_a_backtracking_engine_busy_is_searched_at_once(pattern: str, text: str) -> None:
    # A backtracking engine would not end in a lifetime: that this ends is the assertion.
    assert not pattern_found(check_pattern(pattern), text)


def test_a_text_over_the_bound_is_not_searched() -> None:
    assert searchable("a" * MAX_SEARCHED)
    assert pattern_found("b$", "a" * (MAX_SEARCHED - 1) + "b")
    too_long = "a" * MAX_SEARCHED + "b"
    assert not searchable(too_long)
    with pytest.raises(ValueError, match="code points"):
        pattern_found("a", too_long)


def test_a_rule_with_a_broken_pattern_is_refused_with_its_place() -> None:
    shape = {"rule_id": "r", "dimension": "utility", "matcher": {"kind": "matches", "pattern": "("}}
    with pytest.raises(ProtocolError) as refused:
        validated(Rule, shape)
    assert (refused.value.rule, refused.value.path) == ("S-PATTERN", "/matcher/pattern")
    assert refused.value.expected == "a regular expression (unclosed group)"
