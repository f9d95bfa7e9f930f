"""Transcripts: written and read without loss, refused when they are not as written, judged as the run was."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_conformance.exchanges import Answer, Failure, Request
from agentbeat_conformance.judging import judge, judge_async
from agentbeat_conformance.mutants.base_target import BaseTarget
from agentbeat_conformance.outcomes import Outcome, Verdict
from agentbeat_conformance.requirements import Capability, Finding, Findings
from agentbeat_conformance.runner import Interruption
from agentbeat_conformance.runs import Run
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.transcript_records import CommandEntry, ExchangeEntry, Header, Transcript
from agentbeat_conformance.transcripts import TranscriptError, read_transcript, write_transcript
from support.conformance import CHECKS, SECRET, catalogue_of, made, plan_of, run_on, subject

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
#: Header fields are bytes on the wire, and one character each here.
FIELD_TEXTS = st.text(st.characters(max_codepoint=255), max_size=12)
FIELDS = st.lists(st.tuples(FIELD_TEXTS, FIELD_TEXTS), max_size=3).map(tuple)
SCOPES = st.sampled_from(["control", "INV-1.a", "traced-0"])


@st.composite
def requests(draw: st.DrawFn) -> Request:
    raw, body = draw(st.binary(max_size=40)), draw(st.binary(max_size=10))
    if draw(st.booleans()):
        raw += body
    return Request(
        raw=raw,
        method=draw(TEXTS),
        target=draw(TEXTS),
        fields=draw(FIELDS),
        body=body,
        seconds=draw(st.none() | st.floats(0.1, 100)),
        withhold=draw(st.integers(0, len(raw))),
        needs_socket=draw(st.booleans()),
    )


ANSWERS = st.builds(Answer, status=st.integers(100, 999), fields=FIELDS, body=st.binary(max_size=40))
ENTRIES = st.one_of(
    st.builds(ExchangeEntry, scope=SCOPES, request=requests(), answer=ANSWERS),
    st.builds(ExchangeEntry, scope=SCOPES, request=requests(), failure=st.sampled_from(Failure) | st.none()),
    st.builds(
        CommandEntry,
        scope=SCOPES,
        command=st.sampled_from(["restart", "write"]),
        run_id=st.none() | TEXTS,
        canary=st.none() | TEXTS,
        done=st.none() | st.booleans(),
    ),
)
HEADER = Header(
    suite_version="1.0",
    catalogue="1.0",
    catalogue_digest="sha256:" + "0" * 64,
    specs=("target-invocation-v1",),
    tier="target-L1",
    subject=subject(),
    seed="a1",
    planned=("HLT-1.a",),
    left_out=("INV-1.a",),
    capabilities=frozenset({Capability.AUTH, Capability.SOCKET}),
    budget=3,
    safe=False,
    started_at="2026-03-01T10:00:00.000000001Z",
)


def written(transcript: Transcript) -> bytes:
    return b"".join(write_transcript(transcript))


# --- The file


@given(entries=st.lists(ENTRIES, max_size=4).map(tuple))
def test_a_transcript_is_read_as_it_was_written(entries: tuple[Any, ...]) -> None:
    transcript = Transcript(
        header=HEADER, entries=entries, timed_out=frozenset({"INV-2.a"}), interrupted="INV-3.a"
    )
    assert read_transcript(written(transcript)) == transcript


def test_every_line_is_one_json_object_and_text_stays_readable() -> None:
    entry = ExchangeEntry(
        scope="INV-1.a",
        request=Request.build("POST", "/", host="h", body="{é}".encode()),
        answer=Answer(status=200, fields=(), body=b"\xff"),
    )
    lines = written(Transcript(header=HEADER, entries=(entry,))).decode().splitlines()
    header, exchange, end = map(json.loads, lines)
    assert (header["type"], header["format"]) == ("header", "agentbeat-transcript-v1")
    assert exchange["request"]["raw"].endswith("\r\n\r\n{é}")
    assert exchange["answer"]["body"] == {"base64": "/w=="}
    assert end == {"type": "end", "entries": 1, "timed_out": [], "interrupted": None}


def altered(change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """A good transcript after this change to its lines."""
    request = Request.build("GET", "/", host="h")
    entries = (ExchangeEntry(scope="control", request=request, failure=Failure.CUT),)
    lines = [json.loads(line) for line in write_transcript(Transcript(header=HEADER, entries=entries))]
    change(lines)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


WRONG = {
    "empty": (b"", "empty file"),
    "no JSON": (b"tea\n", "line 1: J-SYNTAX"),
    "an end alone": (b'{"type":"end","entries":0,"timed_out":[],"interrupted":null}\n', "line 1"),
    "a header alone": (altered(lambda lines: lines.__delitem__(slice(1, None))), "cut off"),
    "no last line": (altered(lambda lines: lines.pop()), "line 2"),
    "an entry too few": (altered(lambda lines: lines.pop(1)), "got 0 entries, expected the 1"),
    "another format": (altered(lambda lines: lines[0].update(format="v2")), "line 1: .*format"),
    "a member too many": (altered(lambda lines: lines[1].update(verdict="pass")), "line 2: .*verdict"),
    "a member too few": (altered(lambda lines: lines[1].pop("scope")), "line 2: .*scope"),
    "an answer and a failure": (
        altered(lambda lines: lines[1].update(answer={"status": 200, "fields": [], "body": ""})),
        "line 2: expected an answer or a failure, not both",
    ),
    "no base64": (altered(lambda lines: lines[1]["request"].update(raw={"base64": "%"})), "line 2"),
    "a body longer than all": (
        altered(lambda lines: lines[1]["request"].update(body_bytes=9999)),
        "line 2: expected no more body_bytes",
    ),
    "a seed that is none": (altered(lambda lines: lines[0].update(seed="A b")), "line 1: .*seed"),
    "a member twice": (
        altered(lambda lines: None).replace(b'"scope"', b'"scope": "control", "scope"', 1),
        "line 2: J-DUPKEY",
    ),
}


@pytest.mark.parametrize(("raw", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_file_that_is_not_as_written_is_refused_and_the_line_named(raw: bytes, message: str) -> None:
    with pytest.raises(TranscriptError, match=message):
        read_transcript(raw)


# --- Judged again


def assert_same(again: Run, run: Run) -> None:
    assert again.results == run.results
    assert again.exchanges == run.exchanges
    assert again.verdict is run.verdict
    assert again.plan.invocations == run.plan.invocations


class Moody(BaseTarget):
    """Answers from a list of moods, one for each request: as it should, with a status, or by raising."""

    def __init__(self, moods: list[int]) -> None:
        super().__init__()
        self.moods = moods

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        mood = self.moods.pop(0) if self.moods and scope["type"] == "http" else 0
        if mood == 0:
            await super().serve(scope, receive, send)
        elif mood == 1:
            raise LookupError(mood)
        else:
            await send({"type": "http.response.start", "status": mood, "headers": []})
            await send({"type": "http.response.body", "body": f"mood {mood} {SECRET}".encode()})


@settings(max_examples=40)
@given(
    moods=st.lists(st.sampled_from([0, 0, 0, 1, 200, 401, 409, 500]), max_size=12),
    options=st.sampled_from([{}, {"budget": 1}, {"safe": True}, {"only": ["INV-2", "INV-4"]}]),
)
def test_the_verdict_is_a_function_of_the_transcript(moods: list[int], options: dict[str, Any]) -> None:
    run = asyncio.run(run_on(Moody(moods).serve, plan=plan_of(**options)))
    raw = written(run.transcript)
    assert SECRET.encode() not in raw
    assert_same(judge(read_transcript(raw), catalogue=CHECKS), run)


async def test_judging_twice_gives_the_same_and_changes_no_transcript() -> None:
    run = await run_on()
    before = written(run.transcript)
    first = await judge_async(run.transcript, catalogue=CHECKS)
    second = await judge_async(run.transcript, catalogue=CHECKS)
    assert_same(first, second)
    assert written(first.transcript) == before


def with_answer(transcript: Transcript, scope: str, number: int, answer: Answer) -> Transcript:
    """The transcript with one recorded answer replaced."""
    places = [place for place, entry in enumerate(transcript.entries) if entry.scope == scope]
    entries = list(transcript.entries)
    recorded = entries[places[number]]
    assert isinstance(recorded, ExchangeEntry)
    entries[places[number]] = dataclasses.replace(recorded, answer=answer)
    return dataclasses.replace(transcript, entries=tuple(entries))


@pytest.mark.parametrize(
    ("scope", "number", "status", "changed", "verdict"),
    [
        ("INV-2.a", 1, 200, {"INV-2.a": "fail"}, Verdict.NOT_CONFORMANT),
        ("INV-4.a", 1, 200, {"INV-4.a": "warn"}, Verdict.CONFORMANT),
        ("INV-4.a", 0, 503, {"INV-4.a": "could_not_run"}, Verdict.INCOMPLETE),
        ("HLT-1.a", 0, 500, {"HLT-1.a": "fail"}, Verdict.NOT_CONFORMANT),
        (
            "control",
            0,
            500,
            {"INV-1.a": "could_not_run", "INV-2.a": "could_not_run"},
            Verdict.INCOMPLETE,
        ),
    ],
)
async def test_one_altered_answer_changes_exactly_the_outcomes_that_rest_on_it(
    scope: str, number: int, status: int, changed: dict[str, str], verdict: Verdict
) -> None:
    run = await run_on()
    answer = Answer(status=status, fields=(), body=b"")
    again = await judge_async(with_answer(run.transcript, scope, number, answer), catalogue=CHECKS)
    before = {result.requirement.id: str(result.outcome) for result in run.results}
    after = {result.requirement.id: str(result.outcome) for result in again.results}
    assert after == before | changed
    assert again.verdict is verdict


async def test_an_altered_request_is_our_error_and_no_verdict_on_the_endpoint() -> None:
    run = await run_on()
    transcript = run.transcript
    place = next(n for n, entry in enumerate(transcript.entries) if entry.scope == "INV-2.a")
    entry = transcript.entries[place]
    assert isinstance(entry, ExchangeEntry)
    entries = list(transcript.entries)
    request = dataclasses.replace(entry.request, raw=entry.request.raw + b" ")
    entries[place] = dataclasses.replace(entry, request=request)
    again = await judge_async(dataclasses.replace(transcript, entries=tuple(entries)), catalogue=CHECKS)
    by_id = {result.requirement.id: result for result in again.results}
    assert by_id["INV-2.a"].outcome is Outcome.ERROR
    assert "INV-2.a asks for POST" in (by_id["INV-2.a"].reason or "")
    assert by_id["INV-1.a"].outcome is Outcome.PASS
    assert again.verdict is Verdict.ERROR


async def slowly(target: TargetProbe) -> Findings:
    """Asks, and then asks for something that never comes."""
    first = await target.health()
    await target.get("/slow")
    return [Finding("never here", first.index)]


async def sleeping(target: TargetProbe) -> Findings:
    """Asks, and then waits for nothing that is on record."""
    await target.health()
    await target.session.pause(60)
    await target.health()
    return ()


async def control_slowly(target: TargetProbe) -> Findings:
    """Waits for the shared control."""
    await target.control()
    return ()


class SlowRoute(BaseTarget):
    """Has a route that never answers, and an Agent that does not the first time."""

    runs = 0

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") == "/slow":
            await asyncio.sleep(60)
        await super().serve(scope, receive, send)

    async def agent(self, recording: Any) -> str:
        self.runs += 1
        if self.runs == 1:
            await asyncio.sleep(60)
        return await super().agent(recording)


async def test_checks_that_took_too_long_end_the_same_way_from_the_transcript() -> None:
    catalogue = catalogue_of(
        made("HLT-1.a", slowly),
        made("HLT-1.b", sleeping),
        made("INV-1.a", control_slowly),
        made("INV-1.b", control_slowly),
    )
    run = await run_on(SlowRoute().serve, catalogue, check_seconds=0.05)
    assert [str(result.outcome) for result in run.results] == ["could_not_run"] * 3 + ["pass"]
    again = await judge_async(read_transcript(written(run.transcript)), catalogue=catalogue)
    assert again.results == run.results
    assert again.verdict is run.verdict


async def test_an_interrupted_run_ends_the_same_way_from_the_transcript() -> None:
    interruption = Interruption()

    async def interrupt(target: TargetProbe) -> Findings:
        await target.health()
        interruption.ask()
        await target.health()
        await asyncio.sleep(60)
        return ()

    catalogue = {"HLT-1.a": CHECKS["HLT-1.a"], **catalogue_of(made("HLT-1.b", interrupt)), **CHECKS}
    run = await run_on(catalogue=catalogue, interruption=interruption)
    assert run.transcript.interrupted == "HLT-1.b"
    again = await judge_async(read_transcript(written(run.transcript)), catalogue=catalogue)
    assert again.results == run.results
    assert again.verdict is run.verdict is Verdict.INCOMPLETE


async def test_a_transcript_that_stops_inside_a_check_without_a_word_is_our_error() -> None:
    catalogue = catalogue_of(made("HLT-1.a", slowly))
    run = await run_on(SlowRoute().serve, catalogue, check_seconds=0.05)
    silent = dataclasses.replace(run.transcript, timed_out=frozenset())
    again = await judge_async(silent, catalogue=catalogue)
    assert again.results[0].outcome is Outcome.ERROR


async def test_commands_are_judged_again_without_being_run() -> None:
    class Restarting:
        count = 0

        async def restart(self, *, scope: str) -> bool:
            self.count += 1
            return self.count == 1

        async def write(self, canary: str, *, run_id: str, scope: str) -> bool:
            return False

    async def twice(target: TargetProbe) -> Findings:
        await target.session.restart()
        await target.health()
        await target.session.restart()
        return ()

    catalogue = catalogue_of(made("HLT-1.a", CHECKS["HLT-1.a"].check), made("INV-4.e", twice))
    commands = Restarting()
    plan = plan_of(catalogue, capabilities=[Capability.RESTART])
    run = await run_on(plan=plan, commands=commands)
    assert run.results[1].outcome is Outcome.COULD_NOT_RUN
    assert_same(await judge_async(read_transcript(written(run.transcript)), catalogue=catalogue), run)
    assert commands.count == 2


async def test_pauses_are_not_waited_for_again() -> None:
    waited: list[float] = []

    async def wait(target: TargetProbe) -> Findings:
        await target.session.pause(3600)
        return list(await CHECKS["HLT-1.a"].check(target))

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    catalogue = catalogue_of(made("HLT-1.a", wait))
    run = await run_on(catalogue=catalogue, pause=pause)
    assert_same(await judge_async(run.transcript, catalogue=catalogue), run)
    assert waited == [3600]


HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "another catalogue": ({"catalogue_digest": "sha256:" + "1" * 64}, "made with the catalogue sha256:111"),
    "a requirement that there is not": ({"planned": ("INV-99.a",)}, "INV-99.a"),
    "nothing planned": ({"planned": ()}, "none"),
    "options of no probe": (
        {"subject": dataclasses.replace(subject(), options={"tea": 1})},
        "the subject's options",
    ),
}


@pytest.mark.parametrize(("change", "message"), HEADERS.values(), ids=HEADERS.keys())
async def test_a_transcript_that_this_suite_cannot_judge_is_refused(
    change: dict[str, Any], message: str
) -> None:
    transcript = (await run_on()).transcript
    header = dataclasses.replace(transcript.header, **change)
    with pytest.raises(TranscriptError, match=message):
        await judge_async(dataclasses.replace(transcript, header=header), catalogue=CHECKS)
