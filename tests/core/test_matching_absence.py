"""A rule never passes because of what nobody saw: missing, truncated, hidden in a command, not yet come."""

from __future__ import annotations

from typing import Any

import pytest

from support.matching import outcome, outcomes
from support.scoring import TRACE, call, command, document, dropped, message, result, rule


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
