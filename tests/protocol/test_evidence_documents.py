"""Reading evidence documents: every line of the case file, and the notes on what is odd but legal."""

import json

import pytest

from agentbeat_protocol import ProtocolError, dropped_counts, evidence_notes, read_evidence
from support.cases import context, load, materialize

CASES = load("evidence_cases.jsonl")
RUN = {"run_id": "run-hostile-001", "case_id": "case-hostile-001"}


@pytest.mark.parametrize("case", [c for c in CASES if c["expect"] == "accept"], ids=lambda c: c["id"])
def test_an_odd_but_legal_document_is_accepted(case):
    document = read_evidence(materialize(case), **context(case))
    assert document.events
    if "note" in case and case["note"] == "event_outside_bounds":
        assert "event_outside_bounds" in evidence_notes(document)


@pytest.mark.parametrize("case", [c for c in CASES if c["expect"] == "reject"], ids=lambda c: c["id"])
def test_a_document_that_breaks_a_rule_is_refused_with_that_rule(case):
    with pytest.raises(ProtocolError) as caught:
        read_evidence(materialize(case), **context(case))
    rules = case["rule"].replace("/", " ").replace(":", " ").split()
    assert caught.value.rule in rules


def event(index, kind="message", data=None, **changes):
    return {
        "event_id": f"run-hostile-001:event:{index}",
        "sequence": index,
        "occurred_at": "2026-03-01T10:00:01Z",
        "source": "agent",
        "type": kind,
        "data": data or {"role": "assistant", "text": "hello", "attributes": {}},
        **changes,
    }


def document(*events, **changes):
    value = {
        "schema_version": "target-evidence-v1",
        "run_id": "run-hostile-001",
        "case_id": "case-hostile-001",
        "assurance_level": "L2",
        "observed_channels": ["messages", "tools"],
        "started_at": "2026-03-01T10:00:00Z",
        "finished_at": "2026-03-01T10:00:09Z",
        "events": list(events) or [event(0)],
        **changes,
    }
    return json.dumps(value).encode()


def lifecycle(index, name, attributes):
    return event(index, "lifecycle", {"name": name, "attributes": attributes})


def test_a_plain_document_has_no_notes():
    assert evidence_notes(read_evidence(document(event(0), event(1)), **RUN)) == ()


def test_a_gap_in_the_sequence_is_noted_once():
    read = read_evidence(document(event(0), event(2), event(5)), **RUN)
    assert evidence_notes(read) == ("sequence_gap",)


def test_an_event_outside_the_bounds_is_noted_to_the_nanosecond():
    inside = event(0, occurred_at="2026-03-01T10:00:09.000000000Z")
    outside = event(0, occurred_at="2026-03-01T10:00:09.000000001Z")
    assert evidence_notes(read_evidence(document(inside), **RUN)) == ()
    assert evidence_notes(read_evidence(document(outside), **RUN)) == ("event_outside_bounds",)


def test_a_whole_document_dropped_nothing():
    assert dropped_counts(read_evidence(document(), **RUN)) == {}


def test_the_counts_of_a_truncated_document_are_read():
    mark = lifecycle(1, "evidence.truncated", {"dropped": {"tool.call": 3, "tool.result": 2}})
    read = read_evidence(document(event(0), mark), **RUN)
    assert dropped_counts(read) == {"tool.call": 3, "tool.result": 2}


@pytest.mark.parametrize(
    "attributes",
    [{}, {"dropped": {}}, {"dropped": 7}, {"dropped": {"tool.call": True}}, {"dropped": {"nonsense": 1}}],
    ids=["no counts", "empty", "a number", "a boolean", "an unknown type"],
)
def test_a_truncation_that_does_not_say_of_what_leaves_nothing_whole(attributes):
    mark = lifecycle(1, "evidence.truncated", attributes)
    assert dropped_counts(read_evidence(document(event(0), mark), **RUN)) is None


def test_the_error_points_into_the_document_without_the_event_type():
    broken = event(1, "tool.call", {"call_id": "c", "name": "n", "arguments": "{}", "attributes": {}})
    with pytest.raises(ProtocolError) as caught:
        read_evidence(document(event(0), broken), **RUN)
    assert (caught.value.rule, caught.value.path) == ("S-TYPE", "/events/1/data/arguments")
    assert caught.value.expected == "an object"
