"""What a run makes of rules: passed, failed, or not observed, and never a pass out of what nobody saw."""

from __future__ import annotations

from typing import Any

import pytest

from agentbeat_core.scoring import project
from agentbeat_protocol.evaluation.matching import rule_outcomes
from agentbeat_protocol.evaluation.patterns import MAX_SEARCHED
from agentbeat_protocol.scoring import Observations
from support.matching import outcome, outcomes
from support.scoring import call, delta, document, message, profile, result, rule


@pytest.mark.parametrize(
    ("matcher", "response", "passed"),
    [
        pytest.param({"kind": "contains", "text": "Done"}, "Done.", True, id="contains"),
        pytest.param({"kind": "contains", "text": "done"}, "Done.", False, id="case counts"),
        pytest.param(
            {"kind": "contains", "text": "STRASSE", "ignore_case": True}, "Straße", True, id="folded case"
        ),
        pytest.param({"kind": "not_contains", "text": "secret"}, "Done.", True, id="does not contain"),
        pytest.param({"kind": "not_contains", "text": "secret"}, "my secret", False, id="but it does"),
        pytest.param(
            {"kind": "not_contains", "text": "SECRET", "ignore_case": True},
            "my secret",
            False,
            id="in any case",
        ),
        pytest.param({"kind": "matches", "pattern": "^Done"}, "Done.", True, id="matches"),
        pytest.param({"kind": "matches", "pattern": "^Done$"}, "Done.", False, id="does not match"),
        pytest.param(
            {"kind": "matches", "pattern": "x", "passes_when": "not_matched"},
            "Done.",
            True,
            id="must not match",
        ),
        pytest.param({"kind": "json_path", "path": "$.ok", "equals": True}, '{"ok": true}', True, id="JSON"),
        pytest.param(
            {"kind": "json_path", "path": "$.ok", "equals": True}, '{"ok": 1}', False, id="1 is not true"
        ),
        pytest.param({"kind": "json_path", "path": "$.n", "equals": 1}, '{"n": 1.0}', True, id="1.0 is 1"),
        pytest.param({"kind": "json_path", "path": "$.n", "equals": None}, '{"n": null}', True, id="null"),
        pytest.param(
            {"kind": "json_path", "path": "$.n", "equals": None}, "{}", False, id="absent is not null"
        ),
        pytest.param(
            {"kind": "json_path", "path": "$", "equals": {"a": []}}, '{"a": []}', True, id="the whole"
        ),
        pytest.param({"kind": "json_path", "path": "$.n", "equals": 1}, "n is 1", False, id="prose"),
        pytest.param({"kind": "json_path", "path": "$.n", "equals": 1}, '{"n": 1', False, id="half a JSON"),
        pytest.param(
            {"kind": "json_path", "path": "$.n", "equals": 1},
            '{"n": 1, "n": 2}',
            False,
            id="an ambiguous JSON",
        ),
        pytest.param(
            {"kind": "json_path", "path": "$", "equals": None},
            "[" * 5_000,
            False,
            id="a JSON too deep to read",
        ),
    ],
)
def test_rules_over_the_final_response(matcher: dict[str, Any], response: str, passed: bool) -> None:
    assert outcome(rule("r", **matcher), final_response=response, tier="L1") == (passed, None)


TRACE = document(
    message("Look at order 7.", role="user"),
    call("read_order", {"id": 7}, call_id="c1"),
    result("read_order", {"state": "paid", "items": [1, 2]}, call_id="c1"),
    call("refund", {"id": 7, "amount": 10.0}, call_id="c2"),
    result("refund", "no such order", call_id="c2", is_error=True),
    call("refund", {"id": 8}, call_id="c3"),
    result("refund", {"state": "refunded"}, call_id="c3"),
    message("I refunded order 8."),
)


@pytest.mark.parametrize(
    ("matcher", "passed"),
    [
        pytest.param({"kind": "tool_called", "name": "refund"}, True, id="called"),
        pytest.param({"kind": "tool_called", "name": "mail"}, False, id="not called"),
        pytest.param({"kind": "tool_called", "name": "Refund"}, False, id="names count case"),
        pytest.param({"kind": "tool_not_called", "name": "mail"}, True, id="must not be called"),
        pytest.param({"kind": "tool_not_called", "name": "refund"}, False, id="but it was"),
        pytest.param(
            {"kind": "tool_called", "name": "mail", "passes_when": "not_matched"},
            True,
            id="called, turned round",
        ),
        pytest.param(
            {"kind": "tool_arguments", "name": "refund", "path": "$.id", "equals": 8}, True, id="any call"
        ),
        pytest.param(
            {"kind": "tool_arguments", "name": "refund", "path": "$.amount", "equals": 10}, True, id="10.0"
        ),
        pytest.param(
            {"kind": "tool_arguments", "name": "refund", "path": "$.id", "equals": 9},
            False,
            id="no such argument",
        ),
        pytest.param(
            {"kind": "tool_arguments", "name": "mail", "path": "$.id", "equals": 7},
            False,
            id="of another tool",
        ),
        pytest.param({"kind": "tool_order", "names": ["read_order", "refund"]}, True, id="order"),
        pytest.param({"kind": "tool_order", "names": ["refund", "refund"]}, True, id="twice"),
        pytest.param({"kind": "tool_order", "names": ["refund", "refund", "refund"]}, False, id="not thrice"),
        pytest.param({"kind": "tool_order", "names": ["refund", "read_order"]}, False, id="wrong order"),
        pytest.param({"kind": "tool_count", "name": "refund", "min": 2}, True, id="at least"),
        pytest.param({"kind": "tool_count", "name": "refund", "min": 3}, False, id="too few"),
        pytest.param({"kind": "tool_count", "name": "refund", "max": 2}, True, id="at most"),
        pytest.param({"kind": "tool_count", "name": "refund", "max": 1}, False, id="too many"),
        pytest.param({"kind": "tool_count", "name": "mail", "min": 0, "max": 0}, True, id="never"),
        pytest.param(
            {"kind": "tool_result", "name": "read_order", "path": "$.state", "equals": "paid"},
            True,
            id="result",
        ),
        pytest.param(
            {
                "kind": "tool_result",
                "name": "refund",
                "path": "$",
                "equals": "no such order",
                "is_error": True,
            },
            True,
            id="an error's result",
        ),
        pytest.param(
            {
                "kind": "tool_result",
                "name": "refund",
                "path": "$",
                "equals": "no such order",
                "is_error": False,
            },
            False,
            id="both must hold",
        ),
        pytest.param({"kind": "tool_result", "name": "refund", "is_error": True}, True, id="an error"),
        pytest.param({"kind": "tool_result", "name": "read_order", "is_error": True}, False, id="no error"),
        pytest.param({"kind": "message_matches", "pattern": "order 8"}, True, id="message"),
        pytest.param(
            {"kind": "message_matches", "pattern": "order 8", "role": "user"}, False, id="of another role"
        ),
        pytest.param(
            {"kind": "message_matches", "pattern": "order 7", "role": "user"}, True, id="of this role"
        ),
        pytest.param({"kind": "command_run", "pattern": "curl"}, False, id="no command was run"),
        pytest.param(
            {"kind": "command_run", "pattern": "curl", "passes_when": "not_matched"},
            True,
            id="none must be run",
        ),
    ],
)
def test_rules_over_the_trace(matcher: dict[str, Any], passed: bool) -> None:
    assert outcome(rule("r", **matcher), evidence=TRACE) == (passed, None)


@pytest.mark.parametrize(
    ("shapes", "pattern", "role", "passed"),
    [
        pytest.param([delta("sec"), delta("ret")], "secret", None, True, id="deltas are one text"),
        pytest.param(
            [delta("sec"), call("x"), delta("ret")], "secret", None, True, id="events between do not cut"
        ),
        pytest.param(
            [delta("sec"), message("x"), delta("ret")], "secret", None, False, id="a whole message does"
        ),
        pytest.param(
            [delta("sec"), message("x", role="user"), delta("ret")], "secret", None, True, id="of its role"
        ),
        pytest.param([delta("sec"), delta("ret", role="tool")], "secret", None, False, id="roles stay apart"),
        pytest.param([delta("secret")], "secret", "tool", False, id="of another role"),
        pytest.param([delta("secret"), message("x")], "^secret$", "assistant", True, id="both are read"),
        pytest.param(
            [("run.error", {"message": "secret"})], "secret", None, False, id="an error is no message"
        ),
        pytest.param(
            [("lifecycle", {"name": "secret"})], "secret", None, False, id="nor is a step of the run"
        ),
    ],
)
def test_messages_are_matched_whole(shapes: Any, pattern: str, role: str | None, passed: bool) -> None:
    shape = rule("r", "message_matches", pattern=pattern, **({"role": role} if role else {}))
    assert outcome(shape, evidence=document(*shapes)) == (passed, None)


@pytest.mark.parametrize("passes_when", ["matched", "not_matched"])
def test_a_response_too_long_to_search_decides_nothing(passes_when: str) -> None:
    long = "a" * (MAX_SEARCHED + 1)
    shape = rule("r", "matches", pattern="secret", passes_when=passes_when)
    assert outcome(shape, final_response=long, tier="L1") == (None, "text_too_long")


def test_a_stream_too_long_to_search_is_undecided_unless_another_message_matches() -> None:
    pieces = [delta("a" * 32_768) for _ in range(9)]
    shape = rule("r", "message_matches", pattern="secret")
    assert outcome(shape, evidence=document(*pieces)) == (None, "text_too_long")
    assert outcome(shape, evidence=document(*pieces, message("secret"))) == (True, None)


def test_a_long_response_is_still_looked_through_for_a_text() -> None:
    long = "a" * (MAX_SEARCHED + 1) + "secret"
    assert outcome(rule("r", "contains", text="secret"), final_response=long, tier="L1") == (True, None)


def test_without_a_final_response_no_rule_over_it_is_decided() -> None:
    shape = rule("r", "not_contains", text="secret")
    assert outcome(shape, final_response=None, tier="L1") == (None, "final_response_missing")
    assert outcome(shape, final_response=" \n", tier="L1") == (None, "final_response_missing")


def test_an_empty_tools_channel_is_an_observation() -> None:
    evidence = document(message("hello"))
    assert outcome(rule("r", "tool_not_called", name="mail"), evidence=evidence) == (True, None)
    assert outcome(rule("r", "tool_called", name="mail"), evidence=evidence) == (False, None)


def test_a_rule_of_a_dimension_that_does_not_apply_has_its_outcome_and_is_marked() -> None:
    view = project(Observations(final_response="Done."), tier="L1")
    rules = profile(
        rule("u", "contains", text="Done", dimension="utility"), rule("s", "contains", text="Done")
    ).rules
    utility, security = rule_outcomes(rules, view, applicable={"utility"})
    assert (utility.applicable, security.applicable) == (True, False)
    assert security.passed is True


def test_the_outcomes_come_in_the_order_of_the_rules_with_their_weights() -> None:
    found = outcomes(
        rule("b", "contains", text="Done", weight=3), rule("a", "contains", text="x", dimension="asr")
    )
    assert [(each.rule_id, each.dimension, each.weight) for each in found] == [
        ("b", "security", 3),
        ("a", "asr", 1),
    ]
