"""Whatever is recorded, the document is one that every reader takes, and it says what it does not hold."""

from __future__ import annotations

import json
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_protocol import (
    EvidenceDocument,
    Instant,
    dropped_counts,
    evidence_notes,
    read_evidence,
)
from agentbeat_sdk.limits import RecordingLimits
from agentbeat_sdk.recorder import EvidenceRecorder
from agentbeat_sdk.redaction import MARK, Redactor

RUN, CASE = "run-a", "case-a"
SECRET = "hunter2-hunter2"
KIB = 1024


def ticking() -> Callable[[], Instant]:
    """A clock that is a second later each time."""
    seconds = count()
    return lambda: Instant.from_nanoseconds(next(seconds) * 10**9)


def recorder(*, run_id: str = RUN, files: bool = True, clock: Any = None, **limits: int) -> EvidenceRecorder:
    return EvidenceRecorder(
        run_id,
        CASE,
        source="desk",
        limits=RecordingLimits(**limits),
        redactor=Redactor([SECRET]),
        clock=clock or ticking(),
        files=files,
    )


def read(raw: bytes, run_id: str = RUN) -> EvidenceDocument:
    """The document, after a look at what holds for every one."""
    document = read_evidence(raw, run_id=run_id, case_id=CASE)
    assert evidence_notes(document) == (), "sequence 0, 1, 2 … and every event between start and finish"
    assert raw == json.dumps(json.loads(raw), ensure_ascii=False, separators=(",", ":")).encode()
    assert SECRET not in raw.decode()
    return document


def events(raw: bytes) -> list[tuple[str, dict[str, Any]]]:
    read(raw)
    return [(event["type"], event["data"]) for event in json.loads(raw)["events"]]


def done(record: EvidenceRecorder) -> list[tuple[str, dict[str, Any]]]:
    """The events before the final message."""
    return events(record.complete("done"))[:-1]


class TestEvents:
    """One method for each type."""

    def test_each_method_records_its_event(self) -> None:
        record = recorder()
        record.message("user", "hello", attributes={"turn": 1})
        record.message_delta("assistant", "he")
        call_id = record.tool_call("search", {"query": "refund"})
        record.tool_result(call_id, ["T-1"], status="ok")
        record.tool_result(record.tool_call("pay"), is_error=True, error=ValueError("no"))
        record.command_result("ls -l", 2, "", status="failed")
        record.file_change(PurePath("a.py"), diff="-a\n+b", changes=[{"line": 1}])
        record.run_error(KeyError("x"))
        record.lifecycle("guardrail.decision", status="allowed")
        assert done(record) == [
            ("message", {"role": "user", "text": "hello", "attributes": {"turn": 1}}),
            ("message.delta", {"role": "assistant", "delta": "he", "attributes": {}}),
            (
                "tool.call",
                {"call_id": "call-1", "name": "search", "arguments": {"query": "refund"}, "attributes": {}},
            ),
            (
                "tool.result",
                {
                    "call_id": "call-1",
                    "name": "search",
                    "result": ["T-1"],
                    "is_error": False,
                    "status": "ok",
                    "attributes": {},
                },
            ),
            ("tool.call", {"call_id": "call-2", "name": "pay", "arguments": {}, "attributes": {}}),
            (
                "tool.result",
                {
                    "call_id": "call-2",
                    "name": "pay",
                    "result": None,
                    "is_error": True,
                    "error": {"type": "ValueError", "message": "no"},
                    "attributes": {},
                },
            ),
            (
                "command.result",
                {"command": "ls -l", "exit_code": 2, "output": "", "status": "failed", "attributes": {}},
            ),
            (
                "file.change",
                {"path": "a.py", "diff": "-a\n+b", "changes": [{"line": 1}], "attributes": {}},
            ),
            ("run.error", {"message": "KeyError: 'x'", "attributes": {}}),
            ("lifecycle", {"name": "guardrail.decision", "status": "allowed", "attributes": {}}),
        ]

    def test_ids_times_and_channels(self) -> None:
        record = recorder(files=False)
        record.message("user", "hello")
        raw = record.complete("done")
        document = json.loads(raw)
        assert document["observed_channels"] == ["messages", "tools"]
        assert (document["started_at"], document["finished_at"]) == (
            "1970-01-01T00:00:00Z",
            "1970-01-01T00:00:02Z",
        )
        assert [(event["event_id"], event["occurred_at"]) for event in document["events"]] == [
            ("run-a:event:0", "1970-01-01T00:00:01Z"),
            ("run-a:event:1", "1970-01-01T00:00:02Z"),
        ]
        assert json.loads(recorder(files=True).complete("x"))["observed_channels"] == [
            "messages",
            "tools",
            "files",
        ]

    def test_the_same_calls_give_the_same_bytes(self) -> None:
        def run() -> bytes:
            record = recorder()
            record.message("user", "é😀")
            record.tool_call("f", {"set": {"b", "a", "c"}, "object": object()})
            return record.complete("done")

        assert run() == run()

    def test_a_message_without_text_is_not_recorded_and_not_dropped(self) -> None:
        record = recorder()
        record.message("assistant", "")
        record.message("assistant", None)
        record.message_delta("assistant", "")
        assert (record.recorded, record.dropped) == ({}, {})
        assert done(record) == []

    def test_texts_that_must_not_be_empty_get_a_stand_in(self) -> None:
        record = recorder()
        record.tool_call("")
        record.command_result("", 0)
        record.file_change("", diff="")
        record.run_error("")
        record.lifecycle("")
        shown = [data for _, data in done(record)]
        assert [shown[0]["name"], shown[1]["command"], shown[2]["path"], shown[3]["message"]] == [
            "(empty)"
        ] * 4
        assert shown[4]["name"] == "(empty)"
        assert shown[2]["diff"] == ""

    def test_what_is_no_text_or_no_object_is_recorded_as_json(self) -> None:
        record = recorder()
        record.message("assistant", ["a", {"b": 1}])  # type: ignore[arg-type]
        record.tool_call("f", "not an object")
        record.file_change("a", changes="one")
        shown = [data for _, data in done(record)]
        assert shown[0]["text"] == '["a",{"b":1}]'
        assert shown[1]["arguments"] == {"value": "not an object"}
        assert shown[2]["changes"] == ["one"]

    def test_a_longer_text_is_cut_and_says_so(self) -> None:
        record = recorder()
        record.message("user", "é" * 32_769)
        record.command_result("x" * 40_000, 0, "y" * 50_000, status="s" * 200)
        record.message_delta("tool", "z" * 33_000)
        (_, message), (_, command), (_, delta) = done(record)
        assert message["text"] == "é" * 32_768
        assert message["attributes"] == {"truncated": True, "original_lengths": {"text": 32_769}}
        assert command["attributes"]["original_lengths"] == {
            "command": 40_000,
            "output": 50_000,
            "status": 200,
        }
        assert (len(command["output"]), len(command["status"])) == (32_768, 128)
        assert len(delta["delta"]) == 32_768
        assert delta["attributes"] == {"truncated": True, "original_lengths": {"delta": 33_000}}

    def test_a_text_of_exactly_the_limit_is_whole(self) -> None:
        record = recorder()
        record.message("user", "😀" * 32_768)
        [(_, message)] = done(record)
        assert message == {"role": "user", "text": "😀" * 32_768, "attributes": {}}

    def test_a_value_that_was_cut_short_says_so(self) -> None:
        record = recorder(max_value_items=2)
        record.tool_call("f", {"a": 1, "b": 2, "c": 3})
        record.lifecycle("x", attributes={"a": [1, 2]})
        (_, call), (_, step) = done(record)[:2]
        assert call["arguments"] == {"a": 1, "b": 2, "…": "… 1 more"}
        assert call["attributes"] == {"truncated": True}
        assert step["attributes"] == {"a": [1, "… 1 more"], "truncated": True}

    def test_the_longest_ids_fit(self) -> None:
        run_id = "run-" + "a" * 156
        record = recorder(run_id=run_id)
        for _ in range(4_997):
            record.lifecycle("x")
        document = read(record.complete("done"), run_id)
        assert len(document.events) == 4_998
        assert document.events[-1].event_id == f"{run_id}:event:4997"

    @pytest.mark.parametrize(
        "call",
        [
            lambda record: record.message("developer", "x"),
            lambda record: record.message_delta("user", "x"),
            lambda record: record.command_result("x", None),
            lambda record: record.command_result("x", True),
            lambda record: record.command_result("x", 2**53),
            lambda record: record.file_change("x"),
            lambda record: record.lifecycle("evidence.truncated"),
            lambda record: record.lifecycle("tool.unfinished"),
        ],
        ids=[
            "role",
            "streamed role",
            "no exit code",
            "boolean",
            "large exit code",
            "no change",
            "mark",
            "mark 2",
        ],
    )
    def test_a_mistake_in_the_code_raises_and_records_nothing(
        self, call: Callable[[EvidenceRecorder], None]
    ) -> None:
        record = recorder()
        with pytest.raises((ValueError, TypeError)):
            call(record)
        assert (record.recorded, record.dropped) == ({}, {})

    def test_a_file_change_needs_the_files_channel(self) -> None:
        record = recorder(files=False)
        with pytest.raises(RuntimeError, match="files=True"):
            record.file_change("a", diff="x")
        assert done(record) == []

    @pytest.mark.parametrize("run_id", ["run-A", "run-a\n", "run-" + "a" * 157, "x-a"])
    def test_ids_off_their_pattern_are_refused(self, run_id: str) -> None:
        with pytest.raises(ValueError, match="run_id"):
            recorder(run_id=run_id)
        with pytest.raises(ValueError, match="case_id"):
            EvidenceRecorder(RUN, run_id, source="x", redactor=Redactor())

    @pytest.mark.parametrize(
        ("source", "shown"),
        [("", "(empty)"), ("x" * 200, "x" * 160), (f"desk {SECRET}", f"desk {MARK}")],
        ids=["empty", "long", "secret"],
    )
    def test_every_source_becomes_one_of_160_characters(self, source: str, shown: str) -> None:
        record = EvidenceRecorder(RUN, CASE, source=source, redactor=Redactor([SECRET]))
        assert read(record.complete("x")).events[0].source == shown


class TestTime:
    """EVD-4, EVD-12."""

    def test_a_clock_that_goes_back_is_held(self) -> None:
        times = iter([50, 60, 10, 70, 5, 0])
        record = recorder(clock=lambda: Instant.from_nanoseconds(next(times)))
        for _ in range(4):
            record.lifecycle("x")
        document = read(record.complete("done"))
        assert [event.occurred_at.unix_nanoseconds for event in document.events] == [60, 60, 70, 70, 70]
        assert document.started_at.unix_nanoseconds == 50
        assert document.finished_at.unix_nanoseconds == 70


class TestCalls:
    """EVD-7: no id twice, no result without a call, none invented."""

    def test_a_result_finds_its_call_by_the_callers_id(self) -> None:
        record = recorder()
        assert record.tool_call("f", call_id="a") == "a"
        assert record.tool_call("g", call_id="b") == "b"
        record.tool_result("b", 2)
        record.tool_result("a", 1)
        results = [(data["call_id"], data["name"], data["result"]) for _, data in done(record)[2:]]
        assert results == [("b", "g", 2), ("a", "f", 1)]

    def test_an_id_that_is_given_twice_stands_as_two_and_the_oldest_is_answered_first(self) -> None:
        record = recorder()
        ids = [record.tool_call(name, call_id="a") for name in "fgh"]
        assert ids == ["a", "a~2", "a~3"]
        for number in range(3):
            record.tool_result("a", number)
        results = [(data["call_id"], data["name"], data["result"]) for _, data in done(record)[3:]]
        assert results == [("a", "f", 0), ("a~2", "g", 1), ("a~3", "h", 2)]

    def test_the_recorders_own_ids_and_given_ones_do_not_meet(self) -> None:
        record = recorder()
        ids = [
            record.tool_call("f", call_id=call_id) for call_id in ("call-1", None, "call-2", "", "call-1~2")
        ]
        assert ids == ["call-1", "call-2", "call-2~2", "call-3", "call-1~2"]
        for call_id in ids:
            record.tool_result(call_id, call_id)
        assert all(data["call_id"] == data["result"] for kind, data in done(record) if kind == "tool.result")

    @pytest.mark.parametrize("given", ["x" * 10_000, f"id {SECRET}", "\ud800", "sk-abcdef123"])
    def test_an_id_that_cannot_be_shown_is_answered_by_what_was_given(self, given: str) -> None:
        record = recorder()
        names = ["f", "g", "h"]
        for number, name in enumerate(names):
            record.tool_call(name, call_id=given[:-1] + str(number))
        for number in (2, 0, 1):
            record.tool_result(given[:-1] + str(number), names[number])
        results = [data for kind, data in done(record) if kind == "tool.result"]
        assert [data["name"] for data in results] == [data["result"] for data in results] == ["h", "f", "g"]
        assert all(len(data["call_id"]) <= 256 for data in results)

    def test_an_id_that_is_no_text_serves_as_well(self) -> None:
        record = recorder()
        record.tool_call("f", call_id=uuid.UUID(int=1))  # type: ignore[arg-type]
        record.tool_result(uuid.UUID(int=1), "found")  # type: ignore[arg-type]
        assert done(record)[1][1]["result"] == "found"

    @pytest.mark.parametrize("given", ["never called", "call-1"])
    def test_a_result_without_an_open_call_is_counted_and_not_recorded(self, given: str) -> None:
        record = recorder()
        record.tool_result(record.tool_call("f"), 1)
        record.tool_result(given, 2)
        record.lifecycle("still recording")
        shown = done(record)
        assert [kind for kind, _ in shown] == ["tool.call", "tool.result", "lifecycle", "lifecycle"]
        assert shown[-1][1] == {
            "name": "evidence.truncated",
            "attributes": {"dropped": {"tool.result": 1}, "reason": "unmatched_result"},
        }

    def test_calls_that_never_returned_are_named(self) -> None:
        record = recorder()
        record.tool_call("f", call_id="a")
        record.tool_result(record.tool_call("g"), 1)
        record.tool_call("h", call_id="b")
        assert done(record)[-1] == (
            "lifecycle",
            {
                "name": "tool.unfinished",
                "attributes": {"calls": [{"call_id": "a", "name": "f"}, {"call_id": "b", "name": "h"}]},
            },
        )

    def test_hidden_texts_are_hidden_in_that_event_only(self) -> None:
        record = recorder()
        call_id = record.tool_call("f", {"a": "card 4111", "4111": 1}, hide=["4111"])
        record.tool_result(call_id, error=ValueError("4111"), hide="4111")
        record.message("assistant", "card 4111")
        shown = done(record)
        assert shown[0][1]["arguments"] == {"a": f"card {MARK}", MARK: 1}
        assert shown[1][1]["error"]["message"] == MARK
        assert shown[2][1]["text"] == "card 4111"


class TestEnd:
    """How a document is closed."""

    def test_the_final_message_carries_the_answer(self) -> None:
        assert events(recorder().complete(" é ")) == [
            ("message", {"role": "assistant", "text": " é ", "attributes": {}})
        ]

    def test_of_a_long_answer_it_carries_the_first_32768_code_points(self) -> None:
        """EVD-14."""
        answer = "😀é" * 20_000
        [(_, data)] = events(recorder().complete(answer))
        assert data["text"] == answer[:32_768]
        assert data["attributes"] == {"truncated": True, "original_lengths": {"text": 40_000}}

    def test_an_answer_that_the_agent_has_just_recorded_stands_once(self) -> None:
        record = recorder()
        record.message("assistant", "done", attributes={"by": "the agent"})
        assert len(events(record.complete("done"))) == 1

    @pytest.mark.parametrize(
        "before",
        [
            lambda record: record.message("user", "done"),
            lambda record: record.message("assistant", "done!"),
            lambda record: record.message_delta("assistant", "done"),
            lambda record: (record.message("assistant", "done"), record.lifecycle("x")),
        ],
        ids=["another role", "another text", "a delta", "not the last"],
    )
    def test_otherwise_it_is_added(self, before: Callable[[EvidenceRecorder], object]) -> None:
        record = recorder()
        before(record)
        shown = events(record.complete("done"))
        assert shown[-1] == ("message", {"role": "assistant", "text": "done", "attributes": {}})
        assert len(shown) >= 2

    def test_a_failed_run_keeps_its_evidence(self) -> None:
        record = recorder()
        record.message("user", "hello")
        record.tool_call("f")
        shown = events(record.fail(f"it broke: {SECRET}"))
        assert [kind for kind, _ in shown] == ["message", "tool.call", "lifecycle", "run.error"]
        assert shown[-1][1] == {"message": f"it broke: {MARK}", "attributes": {}}

    def test_a_failure_without_words_has_some(self) -> None:
        assert events(recorder().fail("")) == [("run.error", {"message": "(empty)", "attributes": {}})]

    @pytest.mark.parametrize("answer", ["", " \n\t", None, 5])
    def test_an_answer_without_a_visible_character_is_none_and_closes_nothing(self, answer: Any) -> None:
        record = recorder()
        with pytest.raises(ValueError, match="final_response"):
            record.complete(answer)
        assert not record.closed
        record.lifecycle("x")
        assert len(events(record.fail("no answer"))) == 2

    def test_a_document_is_finished_once(self) -> None:
        record = recorder()
        record.complete("done")
        assert record.closed
        for again in (record.complete, record.fail):
            with pytest.raises(RuntimeError, match="finished"):
                again("x")

    def test_what_is_discarded_is_closed_without_a_document(self) -> None:
        record = recorder()
        record.message("assistant", "seen")
        record.discard()
        assert record.closed
        for close in (lambda: record.complete("x"), lambda: record.fail("x"), record.discard):
            with pytest.raises(RuntimeError, match="finished"):
                close()
        record.message("assistant", "late")
        assert (record.recorded, record.late) == ({"message": 1}, {"message": 1})

    def test_late_events_are_counted_and_raise_nothing(self) -> None:
        record = recorder()
        open_call = record.tool_call("f")
        raw = record.complete("done")
        record.message("user", "late")
        record.message_delta("assistant", "late")
        record.tool_result(open_call, 1)
        record.tool_result(record.tool_call("g"), 1)
        record.command_result("x", 0)
        record.file_change("x", diff="")
        record.run_error("x")
        record.lifecycle("x")
        assert record.late == {
            "message": 1,
            "message.delta": 1,
            "tool.result": 2,
            "tool.call": 1,
            "command.result": 1,
            "file.change": 1,
            "run.error": 1,
            "lifecycle": 1,
        }
        assert record.recorded == {"tool.call": 1}
        assert record.dropped == {}
        assert [kind for kind, _ in events(raw)] == ["tool.call", "lifecycle", "message"]


class TestBounds:
    """Past a bound recording stops, the document says so, and the run goes on."""

    def test_places_are_kept_for_the_end(self) -> None:
        record = recorder(max_events=8)
        record.tool_call("f", call_id="a")
        for number in range(20):
            record.message("user", str(number))
        shown = events(record.complete("done"))
        assert len(shown) == 8
        assert [data["text"] for kind, data in shown if kind == "message"] == ["0", "1", "2", "3", "done"]
        assert [data["name"] for kind, data in shown if kind == "lifecycle"] == [
            "tool.unfinished",
            "evidence.truncated",
        ]
        assert shown[-2][1]["attributes"] == {"dropped": {"message": 16}, "reason": "max_events"}

    def test_the_least_of_bounds_leaves_the_end_alone(self) -> None:
        record = recorder(max_events=3)
        record.tool_result(record.tool_call("f"), 1)
        shown = events(record.fail("no"))
        assert [kind for kind, _ in shown] == ["lifecycle", "run.error"]
        assert shown[0][1]["attributes"]["dropped"] == {"tool.call": 1, "tool.result": 1}

    def test_a_run_at_the_bound_is_not_truncated(self) -> None:
        record = recorder(max_events=8)
        for _ in range(5):
            record.lifecycle("x")
        raw = record.complete("done")
        assert len(events(raw)) == 6
        assert dropped_counts(read(raw)) == {}

    def test_what_comes_after_the_first_dropped_event_is_dropped_too(self) -> None:
        """The document holds the beginning of the run whole: no small event slips in after a large one."""
        record = recorder(max_document_bytes=256 * KIB, max_text=16)
        record.lifecycle("small")
        record.tool_call("f", {"large": ["x" * 16] * 9_000})
        record.tool_call("g", {"large": ["x" * 16] * 9_000})
        record.lifecycle("small")
        shown = events(record.complete("done"))
        assert [kind for kind, _ in shown] == ["lifecycle", "tool.call", "lifecycle", "lifecycle", "message"]
        assert shown[-2][1]["attributes"] == {
            "dropped": {"tool.call": 1, "lifecycle": 1},
            "reason": "max_document_bytes",
        }

    def test_the_result_of_a_dropped_call_is_dropped_and_that_of_an_open_call_too(self) -> None:
        record = recorder(max_events=4)
        before = record.tool_call("f")
        after = record.tool_call("g")
        record.tool_result(after, 1)
        record.tool_result(before, 2)
        shown = events(record.complete("done"))
        assert [kind for kind, _ in shown] == ["tool.call", "lifecycle", "message"]
        assert shown[1][1]["name"] == "evidence.truncated", (
            "the open call did return, so it is not unfinished"
        )
        assert shown[1][1]["attributes"]["dropped"] == {"tool.call": 1, "tool.result": 2}

    def test_after_a_drop_the_answer_stands_at_the_end_even_if_it_was_recorded(self) -> None:
        record = recorder(max_events=4)
        record.message("assistant", "done")
        record.lifecycle("x")
        shown = events(record.complete("done"))
        assert [kind for kind, _ in shown] == ["message", "lifecycle", "message"]

    @pytest.mark.parametrize("unit", ["x", "é", "😀", "\x01", '"'])
    def test_the_document_fills_its_bytes_and_never_more(self, unit: str) -> None:
        most = 512 * KIB
        record = recorder(max_document_bytes=most)
        for _ in range(100):
            record.tool_call(unit * 256, {unit: unit * 2_000}, call_id=unit * 250)
            record.message("user", unit * 10_000)
        raw = record.complete(unit * 40_000)
        document = read(raw)
        assert len(raw) <= most
        assert len(raw) > most // 2
        assert dropped_counts(document)

    @pytest.mark.parametrize("most", range(256 * KIB, 256 * KIB + 200, 40))
    def test_many_small_events_are_counted_to_the_byte(self, most: int) -> None:
        record = recorder(max_document_bytes=most, max_text=16)
        while not record.dropped:
            record.lifecycle("x")
        record.tool_result("unknown")
        raw = record.complete("\x01" * 17)
        read(raw)
        assert most - 1_500 < len(raw) <= most

    def test_open_calls_are_named_even_where_the_bytes_end(self) -> None:
        """Each open call keeps the bytes of its own name in `tool.unfinished`."""
        record = recorder(max_document_bytes=256 * KIB, max_text=16)
        for _ in range(5_000):
            record.tool_call("\x01" * 256, call_id="\x02" * 240)
        raw = record.complete("done")
        assert len(raw) <= 256 * KIB
        shown = events(raw)
        calls = sum(kind == "tool.call" for kind, _ in shown)
        assert len(shown[-3][1]["attributes"]["calls"]) == calls > 20
        assert len(raw) > 250 * KIB

    def test_the_bytes_of_an_answered_call_are_given_back(self) -> None:
        record = recorder(max_document_bytes=256 * KIB, max_text=16)
        while not record.dropped:
            record.tool_result(record.tool_call("\x01" * 256), None)
        answered = record.recorded["tool.result"]
        open_only = recorder(max_document_bytes=256 * KIB, max_text=16)
        while not open_only.dropped:
            open_only.tool_call("\x01" * 256)
        assert answered * 2 > open_only.recorded["tool.call"] * 1.5

    def test_every_record_of_limits_leaves_room_for_the_longest_end(self) -> None:
        run_id = "run-" + "a" * 156
        record = EvidenceRecorder(
            run_id,
            "case-" + "a" * 195,
            source="\x01" * 160,
            limits=RecordingLimits(max_document_bytes=256 * KIB),
            redactor=Redactor(),
        )
        for _ in range(9):
            record.tool_call("\x01" * 256, {"x": "\x01" * 40_000}, call_id="\x01" * 256)
        raw = record.complete("\x01" * 50_000)
        assert len(raw) <= 256 * KIB
        document = read_evidence(raw, run_id=run_id, case_id="case-" + "a" * 195)
        assert document.events[-1].type == "message"


class TestSecrets:
    """EVD-13."""

    def test_the_targets_secret_is_in_no_event(self) -> None:
        record = recorder()
        text = f"x {SECRET} y"
        attributes = {text: [text]}
        record.message("user", text, attributes=attributes)
        record.message_delta("assistant", text, attributes=attributes)
        record.tool_result(
            record.tool_call(text, {text: text}, call_id=text, attributes=attributes),
            {text: text},
            error=ValueError(text),
            status=text,
            attributes=attributes,
        )
        record.tool_call(text)
        record.command_result(text, 0, text, status=text)
        record.file_change(text, diff=text, changes=[text])
        record.run_error(ValueError(text))
        record.lifecycle(text, status=text)
        raw = record.complete(text)
        read(raw)
        assert raw.count(MARK.encode()) > 25

    def test_a_secret_across_the_cut_leaves_no_beginning(self) -> None:
        record = recorder()
        for before in range(32_750, 32_769):
            record.message("user", "." * before + SECRET)
        raw = record.complete("." * 32_760 + SECRET)
        assert b"hunt" not in raw

    def test_a_secret_that_is_streamed_in_pieces_is_hidden_afterwards(self) -> None:
        record = recorder()
        for piece in ("the key is ", "hunt", "er2-", "hunter2", ", ok"):
            record.message_delta("assistant", piece, attributes={"piece": piece[:1]})
        shown = [data["delta"] for _, data in done(record)]
        assert shown == ["the key is ", "*", "*", MARK, ", ok"]

    def test_streams_of_two_roles_are_looked_at_apart(self) -> None:
        record = recorder()
        for role, piece in (("assistant", "hunter2-"), ("tool", "xyz"), ("assistant", "hunter2")):
            record.message_delta(role, piece)  # type: ignore[arg-type]
        assert [data["delta"] for _, data in done(record)] == ["*", "xyz", MARK]

    def test_a_streamed_secret_is_hidden_even_if_its_last_piece_is_dropped(self) -> None:
        record = recorder(max_events=4)
        record.message_delta("assistant", "hunter2-")
        record.message_delta("assistant", "hunter2")
        assert done(record)[0][1]["delta"] == "*"


class TestThreads:
    """One recorder, many threads."""

    def test_events_of_many_threads_stand_in_one_order(self) -> None:
        record = recorder(clock=Instant.now)
        barrier = threading.Barrier(8)

        def work(number: int) -> None:
            barrier.wait()
            for turn in range(100):
                call_id = record.tool_call(f"tool-{number}", {"turn": turn}, call_id="same")
                record.message_delta("assistant", f"{number}.{turn} ")
                record.tool_result(call_id, [number, turn])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert record.recorded == {"tool.call": 800, "message.delta": 800, "tool.result": 800}
        shown = events(record.complete("done"))
        for number in range(8):
            turns = [
                data["arguments"]["turn"]
                for _, data in shown
                if data.get("name") == f"tool-{number}" and "arguments" in data
            ]
            assert turns == list(range(100)), "each thread's own order is kept"
        for kind, data in shown:
            if kind == "tool.result":
                assert data["name"] == f"tool-{data['result'][0]}"

    def test_events_and_the_end_may_meet(self) -> None:
        record = recorder(clock=Instant.now)
        started = threading.Event()

        def work() -> None:
            for _ in range(2_000):
                record.lifecycle("x")
                started.set()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        started.wait(5)
        raw = record.complete("done")
        for thread in threads:
            thread.join()
        marks = dropped_counts(read(raw)) or {}
        assert (
            record.recorded["lifecycle"] + marks.get("lifecycle", 0) + record.late.get("lifecycle", 0)
            == 8_000
        )

    def test_code_of_a_value_may_record_itself(self) -> None:
        """Values are read outside of the lock."""
        record = recorder()

        class Chatty:
            def __repr__(self) -> str:
                record.lifecycle("asked")
                return "chatty"

        record.tool_call("f", {"a": Chatty()})
        assert [kind for kind, _ in done(record)] == ["lifecycle", "tool.call", "lifecycle"]

    def test_the_bound_may_be_reached_while_a_result_is_read(self) -> None:
        record = recorder(max_events=6)

        class Filling:
            def __repr__(self) -> str:
                while not record.dropped:
                    record.lifecycle("x")
                return "full"

        record.tool_result(record.tool_call("f"), Filling())
        shown = done(record)
        assert [kind for kind, _ in shown] == ["tool.call", "lifecycle", "lifecycle", "lifecycle"]
        assert shown[-1][1]["name"] == "evidence.truncated", "the call did return, so it is not unfinished"
        assert shown[-1][1]["attributes"]["dropped"] == {"lifecycle": 1, "tool.result": 1}

    def test_the_end_may_come_while_a_call_is_read(self) -> None:
        record = recorder()
        documents: list[bytes] = []

        class Ending:
            def __repr__(self) -> str:
                documents.append(record.fail("given up"))
                return "ended"

        record.tool_result(record.tool_call("f", {"a": Ending()}), 1)
        assert [kind for kind, _ in events(documents[0])] == ["run.error"]
        assert record.late == {"tool.call": 1, "tool.result": 1}


# -- any sequence of calls ----------------------------------------------------------------------------------

texts = (
    st.text(st.characters(exclude_categories=()), max_size=20)
    | st.sampled_from(
        [SECRET, f"a {SECRET} b", SECRET[:7], SECRET[7:], "sk-", "abc123", "\x01" * 60_000, "é" * 33_000]
    )
    | st.none()
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | texts
    | st.binary(max_size=9)
    | st.just("x" * 30_000),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts, inner, max_size=3)
        | st.sets(st.integers(), max_size=3)
    ),
    max_leaves=8,
)
attributes = st.none() | st.dictionaries(st.text(max_size=5), values, max_size=2)
call_ids = st.none() | st.sampled_from(["a", "b", "a~2", "call-1", SECRET, "x" * 300]) | st.text(max_size=3)


def action(
    name: str, *args: st.SearchStrategy[Any], **kwargs: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(name), st.tuples(*args), st.fixed_dictionaries(kwargs))


actions = st.one_of(
    action("message", st.sampled_from(["system", "user", "assistant", "tool"]), texts, attributes=attributes),
    action("message_delta", st.sampled_from(["assistant", "tool"]), texts, attributes=attributes),
    action("tool_call", texts, values, call_id=call_ids, attributes=attributes),
    action(
        "tool_result", call_ids.map(lambda call_id: call_id or "call-1"), values, error=values, status=texts
    ),
    action("command_result", texts, st.integers(-(2**53) + 1, 2**53 - 1), texts, status=texts),
    action("file_change", texts, diff=texts, changes=values),
    action("run_error", texts),
    action("lifecycle", texts, status=texts, attributes=attributes),
)


def empty_ones(name: str, args: tuple[Any, ...]) -> bool:
    return name in ("message", "message_delta") and args[1] in ("", None)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(actions, max_size=12),
    st.booleans(),
    texts.map(lambda text: text if text and text.strip() else "done"),
    st.fixed_dictionaries(
        {
            "max_events": st.integers(3, 12),
            "max_document_bytes": st.sampled_from([256 * KIB, 300 * KIB, 16 * KIB * KIB]),
            "max_text": st.sampled_from([16, 500, 32_768]),
            "max_name": st.sampled_from([16, 256]),
            "max_value_bytes": st.sampled_from([64, 500, 100 * KIB]),
            "max_value_items": st.integers(1, 10),
        }
    ),
)
def test_any_sequence_of_calls_gives_a_document_that_accounts_for_all_of_them(
    calls: list[Any], fails: bool, answer: str, limits: dict[str, int]
) -> None:
    record = recorder(**limits)  # type: ignore[arg-type]
    made = 0
    for name, args, options in calls:
        try:
            getattr(record, name)(*args, **options)
        except ValueError:
            assert name == "file_change" and options["diff"] is None and options["changes"] is None  # noqa: PT018
        else:
            made += not empty_ones(name, args)
    raw = record.fail(answer) if fails else record.complete(answer)
    document = read(raw)
    assert len(raw) <= limits["max_document_bytes"]
    assert len(document.events) <= limits["max_events"]
    assert sum(record.recorded.values()) + sum(record.dropped.values()) == made
    assert dropped_counts(document) == record.dropped
    assert document.events[-1].type == ("run.error" if fails else "message")
    kinds = Counter[str](event.type for event in document.events)
    assert all(kinds[kind] >= number for kind, number in record.recorded.items())
    assert len(document.events) - sum(record.recorded.values()) <= 3
    for role in ("assistant", "tool"):
        deltas = [event.data for event in document.events if event.type == "message.delta"]
        streamed = "".join(data.delta for data in deltas if data.role == role)
        assert "sk-abc123" not in streamed
        assert SECRET not in streamed


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before
