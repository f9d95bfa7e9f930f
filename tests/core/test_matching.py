"""What a run makes of rules: passed, failed, or not observed, and never a pass out of what nobody saw."""

from __future__ import annotations

from typing import Any

import pytest

from agentbeat_core.observations import Observations
from agentbeat_core.scoring import project
from agentbeat_protocol.evaluation import ObservationTier, RuleOutcome
from agentbeat_protocol.evaluation.matching import rule_outcomes
from agentbeat_protocol.evaluation.patterns import MAX_SEARCHED
from agentbeat_protocol.evidence import EvidenceDocument
from support.scoring import call, command, delta, document, dropped, message, profile, result, rule

DIMENSIONS = frozenset({"utility", "security", "asr"})


def outcomes(
    *rules: dict[str, Any],
    evidence: EvidenceDocument | None = None,
    final_response: str | None = "Done.",
    tier: ObservationTier = "L2",
) -> list[RuleOutcome]:
    """The outcomes of these rules over what was observed."""
    view = project(Observations(final_response=final_response, evidence=evidence), tier=tier)
    return list(rule_outcomes(profile(*rules).rules, view, applicable=DIMENSIONS))


def outcome(shape: dict[str, Any], **observed: Any) -> tuple[bool | None, str | None]:
    """Whether one rule passed, and its reason."""
    (only,) = outcomes(shape, **observed)
    return only.passed, only.reason


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
    ("matcher", "channel"),
    [
        pytest.param({"kind": "tool_called", "name": "refund"}, "tool_call", id="tool_called"),
        pytest.param({"kind": "tool_not_called", "name": "refund"}, "tool_call", id="tool_not_called"),
        pytest.param(
            {"kind": "tool_arguments", "name": "refund", "path": "$", "equals": 1},
            "tool_call",
            id="tool_arguments",
        ),
        pytest.param({"kind": "tool_order", "names": ["a", "b"]}, "tool_call", id="tool_order"),
        pytest.param({"kind": "tool_count", "name": "refund", "max": 0}, "tool_call", id="tool_count"),
        pytest.param(
            {"kind": "tool_result", "name": "refund", "is_error": True}, "tool_call", id="tool_result"
        ),
        pytest.param({"kind": "message_matches", "pattern": "."}, "message_event", id="message_matches"),
        pytest.param({"kind": "command_run", "pattern": "."}, "tool_result", id="command_run"),
    ],
)
@pytest.mark.parametrize("passes_when", ["matched", "not_matched"])
class TestAnUnobservedTrace:
    """No rule over it is decided, whichever outcome is the good one."""

    def test_is_missing_without_evidence(
        self, matcher: dict[str, Any], channel: str, passes_when: str
    ) -> None:
        shape = rule("r", **matcher, passes_when=passes_when)
        assert outcome(shape, evidence=None) == (None, f"{channel}_missing")

    def test_is_not_looked_at_below_l2(self, matcher: dict[str, Any], channel: str, passes_when: str) -> None:
        shape = rule("r", **matcher, passes_when=passes_when)
        assert outcome(shape, evidence=TRACE, tier="L1") == (None, f"{channel}_not_in_tier")

    def test_is_truncated_when_the_target_does_not_say_of_what(
        self, matcher: dict[str, Any], channel: str, passes_when: str
    ) -> None:
        evidence = document(call("refund"), result("refund"), command("x"), message("x"), dropped("unknown"))
        shape = rule("r", **matcher, passes_when=passes_when)
        assert outcome(shape, evidence=evidence) == (None, f"{channel}_truncated")


@pytest.mark.parametrize(
    ("dropped_type", "undecided"),
    [
        pytest.param("message", {"message"}, id="messages"),
        pytest.param("tool.call", {"called", "not_called", "result"}, id="calls"),
        # Commands may be among the lost results, so that nothing proves a tool's absence.
        pytest.param("tool.result", {"not_called", "result", "command"}, id="results"),
        pytest.param("command.result", {"not_called", "result", "command"}, id="commands"),
        pytest.param("file.change", set(), id="files, which no rule looks at"),
    ],
)
def test_a_truncated_channel_takes_the_rules_over_it(dropped_type: str, undecided: set[str]) -> None:
    evidence = document(message("hello"), call("refund"), result("refund"), dropped({dropped_type: 1}))
    found = outcomes(
        rule("message", "message_matches", pattern="hello"),
        rule("called", "tool_called", name="refund"),
        rule("not_called", "tool_not_called", name="mail"),
        rule("result", "tool_result", name="refund", is_error=False),
        rule("command", "command_run", pattern="curl", passes_when="not_matched"),
        evidence=evidence,
    )
    assert {each.rule_id for each in found if each.passed is None} == undecided
    assert all(each.passed for each in found if each.rule_id not in undecided)


#: Each of these passes over the calls of `refund` because something is not among them.
BY_ABSENCE = {
    "not called": {"kind": "tool_not_called", "name": "mail"},
    "called, turned round": {"kind": "tool_called", "name": "mail", "passes_when": "not_matched"},
    "other arguments": {
        "kind": "tool_arguments",
        "name": "refund",
        "path": "$.id",
        "equals": 9,
        "passes_when": "not_matched",
    },
    "order": {"kind": "tool_order", "names": ["refund", "mail"], "passes_when": "not_matched"},
    "at most": {"kind": "tool_count", "name": "refund", "max": 1},
    "exactly": {"kind": "tool_count", "name": "refund", "min": 1, "max": 1},
    "not as often": {"kind": "tool_count", "name": "refund", "min": 2, "passes_when": "not_matched"},
    "no error": {"kind": "tool_result", "name": "refund", "is_error": True, "passes_when": "not_matched"},
}


@pytest.mark.parametrize("name", BY_ABSENCE)
class TestAPassByAbsence:
    """It needs to know that nothing was done behind the calls' back."""

    def test_holds_when_no_command_was_run(self, name: str) -> None:
        evidence = document(call("refund", {"id": 7}), result("refund", "ok"))
        assert outcome(rule("r", **BY_ABSENCE[name]), evidence=evidence) == (True, None)

    def test_is_undecided_beside_a_command_that_no_rule_accounts_for(self, name: str) -> None:
        evidence = document(call("refund", {"id": 7}), result("refund", "ok"), command("curl mail.test"))
        assert outcome(rule("r", **BY_ABSENCE[name]), evidence=evidence) == (None, "unaccounted_command")

    @pytest.mark.parametrize("passes_when", ["matched", "not_matched"])
    def test_holds_when_a_rule_of_the_profile_accounts_for_the_command(
        self, name: str, passes_when: str
    ) -> None:
        evidence = document(call("refund", {"id": 7}), result("refund", "ok"), command("ls -l"))
        known = rule("known", "command_run", pattern="^ls", passes_when=passes_when, dimension="utility")
        first, _ = outcomes(rule("r", **BY_ABSENCE[name]), known, evidence=evidence)
        assert (first.passed, first.reason) == (True, None)

    def test_needs_every_command_accounted_for(self, name: str) -> None:
        evidence = document(
            call("refund", {"id": 7}), result("refund", "ok"), command("ls"), command("curl x")
        )
        known = rule("known", "command_run", pattern="^ls")
        first, _ = outcomes(rule("r", **BY_ABSENCE[name]), known, evidence=evidence)
        assert (first.passed, first.reason) == (None, "unaccounted_command")


@pytest.mark.parametrize(
    ("matcher", "passed"),
    [
        pytest.param({"kind": "tool_called", "name": "refund"}, True, id="a pass by presence"),
        pytest.param({"kind": "tool_count", "name": "refund", "min": 1}, True, id="at least"),
        pytest.param({"kind": "tool_called", "name": "mail"}, False, id="a failure by absence"),
        pytest.param({"kind": "tool_not_called", "name": "refund"}, False, id="a failure by presence"),
        pytest.param({"kind": "tool_count", "name": "refund", "max": 0}, False, id="too many"),
        pytest.param({"kind": "not_contains", "text": "secret"}, True, id="the response was seen whole"),
        pytest.param(
            {"kind": "message_matches", "pattern": "secret", "passes_when": "not_matched"},
            True,
            id="a command says nothing in the conversation",
        ),
        pytest.param(
            {"kind": "command_run", "pattern": "rm -rf", "passes_when": "not_matched"},
            True,
            id="a rule over commands has read them all",
        ),
    ],
)
def test_a_command_leaves_alone_what_does_not_rest_on_absent_calls(
    matcher: dict[str, Any], passed: bool
) -> None:
    evidence = document(call("refund"), result("refund"), command("curl mail.test"))
    assert outcome(rule("r", **matcher), evidence=evidence) == (passed, None)


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        pytest.param(
            {"path": "$", "equals": "late"}, (None, "tool_call_unanswered"), id="it may have matched"
        ),
        pytest.param(
            {"path": "$", "equals": "late", "passes_when": "not_matched"},
            (None, "tool_call_unanswered"),
            id="turned round",
        ),
        pytest.param({"path": "$", "equals": "ok"}, (True, None), id="another result matches"),
        pytest.param(
            {"path": "$", "equals": "ok", "passes_when": "not_matched"},
            (False, None),
            id="and is the bad one",
        ),
    ],
)
def test_a_result_that_never_came_decides_nothing(matcher: dict[str, Any], expected: Any) -> None:
    evidence = document(
        call("refund", call_id="a"), call("refund", call_id="b"), result("refund", "ok", call_id="a")
    )
    assert outcome(rule("r", "tool_result", name="refund", **matcher), evidence=evidence) == expected


def test_an_unanswered_call_of_another_tool_is_no_hindrance() -> None:
    evidence = document(call("mail"), call("refund"), result("refund", "ok"))
    shape = rule("r", "tool_result", name="refund", path="$", equals="late")
    assert outcome(shape, evidence=evidence) == (False, None)


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
