"""What of a run may be judged by: the channels of the tier, and what became of each."""

from __future__ import annotations

from typing import Any

import pytest

from agentbeat_core.scoring import Projection, project
from agentbeat_protocol.evaluation import KeptDocument, ObservationTier
from agentbeat_protocol.evidence import EvidenceDocument
from agentbeat_protocol.scoring import Observations
from support.scoring import call, check, command, delta, document, dropped, message, result, state

EVERYTHING = document(
    message("hello"),
    delta("hel"),
    call("refund"),
    ("file.change", {"path": "a.txt", "diff": "+a"}),
    result("refund", "ok"),
    command("ls"),
    ("lifecycle", {"name": "step"}),
    ("run.error", {"message": "late"}),
)
ACCEPTED = state(check("utility", True), check("security", False))


def projection(
    tier: ObservationTier,
    *,
    final_response: str | None = "Done.",
    evidence: EvidenceDocument | None = EVERYTHING,
    **others: Any,
) -> Projection:
    """The projection of what was observed."""
    return project(Observations(final_response=final_response, evidence=evidence, **others), tier=tier)


def states(projected: Projection) -> dict[str, tuple[str, int]]:
    """State and count of each channel."""
    return {each.channel: (each.state, each.count) for each in projected.channels}


def reasons(projected: Projection) -> dict[str, str | None]:
    """The reason of each channel that has one."""
    return {each.channel: each.reason for each in projected.channels if each.reason is not None}


def test_l1_projects_the_final_response_and_nothing_else() -> None:
    projected = projection("L1", state=ACCEPTED)
    assert states(projected) == {"final_response": ("observed", 1)}
    assert (projected.events, projected.messages, projected.tool_calls) == ((), (), ())
    assert projected.state is None
    assert projected.notes == ()


def test_l2_projects_each_event_on_its_channel_in_order() -> None:
    projected = projection("L2", state=ACCEPTED)
    assert states(projected) == {
        "final_response": ("observed", 1),
        "message_event": ("observed", 4),
        "tool_call": ("observed", 1),
        "tool_result": ("observed", 2),
    }
    assert [each.type for each in projected.messages] == [
        "message",
        "message.delta",
        "lifecycle",
        "run.error",
    ]
    assert [each.type for each in projected.tool_calls] == ["tool.call"]
    assert [each.type for each in projected.tool_results] == ["tool.result"]
    assert [each.type for each in projected.commands] == ["command.result"]
    assert [each.sequence for each in projected.events] == [0, 1, 2, 4, 5, 6, 7], "all but the file change"
    assert projected.state is None


def test_a_projection_holds_the_events_themselves_and_no_copies() -> None:
    originals = {id(each) for each in EVERYTHING.events}
    assert all(id(each) in originals for each in projection("L2").events)


def test_l3_adds_the_accepted_word_of_the_state_controller() -> None:
    projected = projection("L3", state=ACCEPTED)
    assert states(projected)["state_before_after"] == ("observed", 2)
    assert states(projected)["native_score"] == ("observed", 1)
    assert projected.state is ACCEPTED
    assert {each.source for each in projected.channels} == {
        "target_response",
        "target_evidence",
        "state_controller",
    }


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        pytest.param(
            [message("hello")],
            {
                "message_event": ("observed", 1),
                "tool_call": ("observed_empty", 0),
                "tool_result": ("observed_empty", 0),
            },
            id="no tool was called",
        ),
        pytest.param(
            [call("refund")],
            {
                "message_event": ("observed_empty", 0),
                "tool_call": ("observed", 1),
                "tool_result": ("observed_empty", 0),
            },
            id="the call stayed unanswered",
        ),
        pytest.param(
            [command("ls")],
            {
                "message_event": ("observed_empty", 0),
                "tool_call": ("observed_empty", 0),
                "tool_result": ("observed", 1),
            },
            id="a command is a result without a call",
        ),
        pytest.param(
            [("file.change", {"path": "a", "changes": []})],
            dict.fromkeys(("message_event", "tool_call", "tool_result"), ("observed_empty", 0)),
            id="a file change is on none of them",
        ),
    ],
)
def test_a_channel_without_an_event_is_observed_empty(
    shapes: Any, expected: dict[str, tuple[str, int]]
) -> None:
    projected = projection("L2", evidence=document(*shapes))
    assert {name: each for name, each in states(projected).items() if name != "final_response"} == expected
    assert projected.complete
    assert projected.observed_tier == "L2"


@pytest.mark.parametrize(
    ("counts", "truncated"),
    [
        pytest.param({"message": 1}, {"message_event"}, id="messages"),
        pytest.param({"message.delta": 1}, {"message_event"}, id="deltas"),
        pytest.param({"lifecycle": 2}, {"message_event"}, id="steps of the run"),
        pytest.param({"run.error": 1}, {"message_event"}, id="errors"),
        pytest.param({"tool.call": 3}, {"tool_call"}, id="calls"),
        pytest.param({"tool.result": 1}, {"tool_result"}, id="results"),
        pytest.param({"command.result": 1}, {"tool_result"}, id="commands"),
        pytest.param({"tool.call": 1, "message": 1}, {"tool_call", "message_event"}, id="two"),
        pytest.param({"file.change": 9}, set(), id="files, which are not projected"),
        pytest.param(None, {"message_event", "tool_call", "tool_result"}, id="no count"),
        pytest.param({}, {"message_event", "tool_call", "tool_result"}, id="no type"),
        pytest.param({"tool.call": 0}, {"message_event", "tool_call", "tool_result"}, id="none of a type"),
        pytest.param({"tool.calls": 1}, {"message_event", "tool_call", "tool_result"}, id="an unknown type"),
        pytest.param({"tool.call": True}, {"message_event", "tool_call", "tool_result"}, id="no number"),
        pytest.param("tool.call", {"message_event", "tool_call", "tool_result"}, id="no object"),
    ],
)
def test_a_channel_of_which_something_was_dropped_is_truncated(counts: Any, truncated: set[str]) -> None:
    evidence = document(message("hello"), call("refund"), result("refund"), dropped(counts))
    projected = projection("L2", evidence=evidence)
    assert {name for name, (word, _) in states(projected).items() if word == "truncated"} == truncated
    assert set(projected.missing_channels) == truncated
    assert set(reasons(projected)) == truncated
    assert set(reasons(projected).values()) <= {"evidence_truncated"}
    assert projected.report().coverage.numerator == 4 - len(truncated)
    assert projected.observed_tier == ("L1" if truncated else "L2")


def test_a_truncated_channel_keeps_the_count_of_what_can_be_seen() -> None:
    evidence = document(call("a"), call("b"), dropped({"tool.call": 7}))
    assert states(projection("L2", evidence=evidence))["tool_call"] == ("truncated", 2)


def test_without_evidence_its_channels_are_missing_with_the_reason() -> None:
    projected = projection("L2", evidence=None, evidence_reason="evidence_ref_refused")
    assert projected.missing_channels == ("message_event", "tool_call", "tool_result")
    assert set(reasons(projected).values()) == {"evidence_ref_refused"}
    assert projected.observed_tier == "L1"


def test_without_a_reason_one_is_still_given() -> None:
    projected = projection("L3", evidence=None)
    assert reasons(projected)["tool_call"] == "evidence_not_observed"
    assert reasons(projected)["native_score"] == "state_not_observed"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        pytest.param(None, "final_response_absent", id="none"),
        pytest.param("", "final_response_blank", id="empty"),
        pytest.param(" \t\n", "final_response_blank", id="blank"),
    ],
)
def test_no_final_response_is_a_missing_channel(response: str | None, reason: str) -> None:
    projected = projection("L2", final_response=response)
    assert states(projected)["final_response"] == ("missing", 0)
    assert reasons(projected) == {"final_response": reason}
    assert projected.final_response is None
    assert projected.observed_tier is None, "L2 without L1 is no tier"


@pytest.mark.parametrize(
    ("given", "missing", "reason"),
    [
        pytest.param({}, {"state_before_after", "native_score"}, "state_not_observed", id="no report"),
        pytest.param(
            {"state_reason": "controller_unreachable"},
            {"state_before_after", "native_score"},
            "controller_unreachable",
            id="no report, with a reason",
        ),
        pytest.param(
            {
                "state": state(
                    check("utility", True), accepted=False, reason_codes=["receipt_digest_mismatch"]
                )
            },
            {"state_before_after", "native_score"},
            "receipt_digest_mismatch",
            id="a refused report",
        ),
        pytest.param(
            {"state": state(check("utility", True), signature="refused")},
            {"state_before_after", "native_score"},
            "state_not_observed",
            id="a report that contradicts itself",
        ),
        pytest.param(
            {"state": state(check("utility", None))},
            {"native_score"},
            "native_score_undecided",
            id="nothing decided",
        ),
        pytest.param({"state": state()}, {"native_score"}, "native_score_undecided", id="no check at all"),
        pytest.param(
            {"state": state(check("utility", True), signature="unsigned")}, set(), None, id="unsigned"
        ),
        pytest.param(
            {"state": state(check("utility", False))}, set(), None, id="a failure is an observation"
        ),
    ],
)
def test_the_native_channels_come_from_an_accepted_report_only(
    given: dict[str, Any], missing: set[str], reason: str | None
) -> None:
    projected = projection("L3", **given)
    assert set(projected.missing_channels) == missing
    assert {reasons(projected)[name] for name in missing} == ({reason} if missing else set())
    assert (projected.state is None) == ("state_before_after" in missing)
    assert projected.observed_tier == ("L2" if missing else "L3")


def test_the_targets_word_never_becomes_a_native_verdict() -> None:
    evidence = document(
        call("native_score", {"native_score": 1}),
        result("native_score", {"verdicts": {"security": "pass"}, "native_score": 1}),
        ("lifecycle", {"name": "state.verified", "attributes": {"native_score": 1}}),
    )
    projected = projection("L3", evidence=evidence)
    assert projected.missing_channels == ("state_before_after", "native_score")


@pytest.mark.parametrize(
    ("tier", "given", "observed"),
    [
        pytest.param("L1", {"state": ACCEPTED}, "L1", id="never more than asked"),
        pytest.param("L2", {"state": ACCEPTED}, "L2", id="not even with a receipt"),
        pytest.param("L3", {"state": ACCEPTED}, "L3", id="all of L3"),
        pytest.param("L3", {}, "L2", id="no receipt"),
        pytest.param("L3", {"evidence": None, "state": ACCEPTED}, "L1", id="a receipt without a trace"),
        pytest.param(
            "L3", {"final_response": None, "state": ACCEPTED}, None, id="nothing without a response"
        ),
    ],
)
def test_the_observed_tier_is_the_highest_that_the_evidence_supports(
    tier: ObservationTier, given: dict[str, Any], observed: str | None
) -> None:
    assert projection(tier, **given).observed_tier == observed


def test_the_report_says_what_was_required_and_what_is_missing() -> None:
    kept = KeptDocument(kind="target_evidence", digest="sha256:" + "0" * 64, size_bytes=9, accepted=False)
    report = projection("L3", evidence=None, state=ACCEPTED).report([kept])
    assert report.observation_tier == "L3"
    assert report.channels == (
        "final_response",
        "message_event",
        "tool_call",
        "tool_result",
        "state_before_after",
        "native_score",
    )
    assert report.missing_channels == ("message_event", "tool_call", "tool_result")
    assert (report.coverage.numerator, report.coverage.denominator, report.coverage.value) == (3, 6, 0.5)
    assert report.status == "partial"
    assert [each.channel for each in report.observations] == list(report.channels)
    assert report.documents == (kept,)


def test_a_whole_report_is_complete() -> None:
    report = projection("L3", state=ACCEPTED).report()
    assert (report.status, report.missing_channels, report.coverage.value) == ("complete", (), 1.0)


def test_what_is_odd_in_the_document_is_noted_with_the_projection() -> None:
    late = EVERYTHING.events[0].model_copy(update={"sequence": 5})
    odd = EVERYTHING.model_copy(update={"events": (late,)})
    assert projection("L2", evidence=odd).notes == ("sequence_gap",)
    assert projection("L1", evidence=odd).notes == ()
