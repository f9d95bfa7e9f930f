"""How the checks of L1 ask: tables that say what they mean, and requests with one thing wrong."""

from __future__ import annotations

import json

import pytest

from agentbeat_conformance.checks import invocations_disclosures as disclosures
from agentbeat_conformance.checks import invocations_overrides as overrides
from agentbeat_conformance.exchanges import Answer, Exchange, Failure, Request
from agentbeat_conformance.mutants.base_target import SECRET, Asked, BaseTarget, Refused, Reply
from agentbeat_conformance.mutants.streams import listening
from agentbeat_conformance.oversized import DECLARED_BYTES, SENT_BYTES, too_large
from agentbeat_conformance.refusals import Refusal
from agentbeat_conformance.requirements import CouldNotRun
from agentbeat_conformance.sessions import Ids, Session
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wires import AsgiWire, SocketWire
from agentbeat_conformance.wrong_requests import Wrong, claims_nothing, refused
from agentbeat_protocol import check_metadata, is_runtime_override


class Scripted:
    """A wire that answers with one status after the other, and keeps what it was asked."""

    has_sockets = True

    def __init__(self, *ends: int | Failure) -> None:
        self.ends = list(ends)
        self.asked: list[Request] = []

    async def exchange(self, request: Request, *, scope: str) -> Exchange:
        self.asked.append(request)
        end = self.ends.pop(0)
        if isinstance(end, Failure):
            return Exchange(request=request, answer=None, failure=end)
        return Exchange(request=request, answer=Answer(status=end, fields=(), body=b""))


def probe(wire, *, host="127.0.0.1:1") -> TargetProbe:
    return TargetProbe(Session(wire=wire, seed="0"), host=host, secret=SECRET)


def values(request: Request, name: str) -> list[str]:
    return [value for field, value in request.fields if field == name]


# --- Requests with one thing wrong


async def test_the_control_comes_first_and_each_request_has_ids_of_its_own() -> None:
    wire = Scripted(200, 400, 400)
    wrongs = [Wrong("one", changes={"extra": 1}), Wrong("two", changes={"input": ...})]
    assert await refused(probe(wire), wrongs, {"400"}) == []
    bodies = [json.loads(request.body) for request in wire.asked]
    assert len({body["run_id"] for body in bodies}) == 3
    assert bodies[1]["extra"] == 1
    assert "input" not in bodies[2]


async def test_without_a_control_that_is_accepted_nothing_else_is_asked() -> None:
    wire = Scripted(503)
    with pytest.raises(CouldNotRun, match="answered 503"):
        await refused(probe(wire), [Wrong("one", body=b"[]")], {"400"})
    assert len(wire.asked) == 1


@pytest.mark.parametrize("end", [200, 202, Failure.TIMEOUT], ids=str)
async def test_after_one_that_is_accepted_or_never_answered_the_rest_is_not_sent(end) -> None:
    wire = Scripted(200, 400, end)
    wrongs = [Wrong(what, body=b"[]") for what in ("one", "two", "three")]
    (finding,) = await refused(probe(wire), wrongs, {"400"})
    assert finding.message == f"two: got {end}, expected 400"
    assert finding.exchange == 2
    assert len(wire.asked) == 3


async def test_the_correlation_header_follows_a_wrong_id_as_far_as_a_header_can() -> None:
    wire = Scripted(200, 400, 400, 400)
    wrongs = [
        Wrong("upper case", changes=lambda ids: {"run_id": ids.run_id.upper()}),
        Wrong("a line break", changes=lambda ids: {"run_id": ids.run_id + "\n"}),
        Wrong("an array", changes={"case_id": ["case-a"]}),
    ]
    await refused(probe(wire), wrongs, {"400"})
    _, upper, broken, array = wire.asked
    assert values(upper, "X-AIBeat-Run-ID") == [json.loads(upper.body)["run_id"]]
    assert values(broken, "X-AIBeat-Run-ID") == [json.loads(broken.body)["run_id"].strip()]
    assert len(values(array, "X-AIBeat-Case-ID")) == 1


async def test_a_body_is_spoilt_from_the_right_one() -> None:
    wire = Scripted(400)
    ids = Ids("run-a", "case-a")
    await Wrong("cut", body=lambda right: right[:-1]).sent(probe(wire), ids=ids)
    (request,) = wire.asked
    assert json.loads(request.body + b"}")["run_id"] == "run-a"
    assert values(request, "Content-Length") == [str(len(request.body))]


async def test_what_is_refused_is_asked_under_one_run_id_which_is_then_used_well() -> None:
    wire = Scripted(200, 400, 415, 404, 200)
    wrongs = [Wrong("one", body=b"["), Wrong("two", fields={"Content-Type": None})]
    assert await claims_nothing(probe(wire), wrongs) == []
    _, one, two, evidence, good = wire.asked
    assert evidence.target == "/v1/evidence/" + values(good, "X-AIBeat-Run-ID")[0]
    assert values(one, "X-AIBeat-Run-ID") == values(two, "X-AIBeat-Run-ID") == values(good, "X-AIBeat-Run-ID")


async def test_a_run_id_that_was_accepted_in_between_shows_nothing_about_claims() -> None:
    wire = Scripted(200, 200)
    with pytest.raises(CouldNotRun, match="one: got 200"):
        await claims_nothing(probe(wire), [Wrong("one", body=b"[")])


# --- A body over any limit


async def test_on_a_connection_a_length_is_declared_and_nothing_sent() -> None:
    wire = Scripted(413)
    exchange, what = await too_large(probe(wire))
    assert exchange.status == 413
    assert "nothing sent" in what
    assert values(wire.asked[0], "Content-Length") == [str(DECLARED_BYTES)]
    assert wire.asked[0].raw.endswith(b"\r\n\r\n")


async def test_a_target_that_counts_what_arrives_is_sent_enough() -> None:
    class Counts(BaseTarget):
        async def read_body(self, asked: Asked) -> bytes:
            raw = await asked.body.read(self.max_body + 1)
            if len(raw) > self.max_body:
                raise Refused("request_too_large", "expected less")
            return raw

    async with listening(Counts().stream) as port:
        target = probe(SocketWire(f"http://127.0.0.1:{port}"), host=f"127.0.0.1:{port}")
        target.session.wire = Impatient(target.session.wire)
        exchange, what = await too_large(target)
    assert (exchange.status, what) == (413, "a body of 8 MiB")


class Impatient:
    """A wire that does not wait long for what is withheld."""

    has_sockets = True

    def __init__(self, wire) -> None:
        self._wire = wire

    async def exchange(self, request: Request, *, scope: str) -> Exchange:
        if not request.body:
            return Exchange(request=request, answer=None, failure=Failure.TIMEOUT)
        return await self._wire.exchange(request, scope=scope)


async def test_in_process_a_long_body_is_sent_that_runs_nothing_where_it_is_read() -> None:
    class Unlimited(BaseTarget):
        max_body = 1 << 40

    server = Unlimited()
    async with AsgiWire(server.app) as wire:
        exchange, _ = await too_large(probe(wire))
    assert exchange.status == 400
    assert len(exchange.request.body) == SENT_BYTES
    assert server.claims == set()


# --- Tables


@pytest.mark.parametrize("name", [*overrides.WORDS, *overrides.SPELLINGS, *overrides.DISGUISES], ids=ascii)
def test_each_name_of_the_tables_is_a_setting_by_the_protocols_own_reading(name: str) -> None:
    assert is_runtime_override(name)


def test_the_words_are_those_of_the_spec_and_in_other_spellings_none_is_the_word_itself() -> None:
    assert len(set(overrides.WORDS)) == 23
    assert not set(overrides.WORDS) & {*overrides.SPELLINGS, *overrides.DISGUISES}
    assert all(name.isascii() for name in overrides.SPELLINGS)
    assert not any(name.isascii() for name in overrides.DISGUISES)


def test_harmless_metadata_is_harmless_and_has_eight_levels() -> None:
    harmless = dict(overrides.harmless())
    check_metadata(harmless)
    with pytest.raises(ValueError, match="8 levels"):
        check_metadata({**harmless, "a": {"a": harmless["a"]}})


TRACES = {
    "Python": 'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in run\nKeyError',
    "Python, a frame alone": 'File "/srv/app.py", line 3, in run',
    "JavaScript": "TypeError: x\n    at handler (/srv/app.js:10:15)",
    "JavaScript, no name": "    at /srv/app.js:10:15",
    "JavaScript, modules": "    at async file:///srv/app.mjs:10:15",
    "Java": "\tat com.example.Agent.run(Agent.java:17)",
    "Go": "goroutine 7 [running]:\nmain.run(0xc000)\n\t/srv/main.go:12 +0x1d",
    "Ruby": "app.rb:12:in `run'",
    "PHP": "#0 /srv/app.php(12): run()",
    "Rust": "thread 'main' panicked at src/main.rs:4:5:",
    ".NET": "   at Agent.Run() in /srv/Agent.cs:line 12",
}
NO_TRACES = {
    "where in the document": "/input/text: expected text, at line 3, column 7",
    "at a time": "at 12:30:45 the run began",
    "a mention": "see README.md, line 12, or https://example.org:8080/errors",
    "at the end": "at the end of the text: expected a quotation mark",
    "a hint": "expected at most 64 characters at /metadata/a",
}


@pytest.mark.parametrize("text", TRACES.values(), ids=TRACES)
def test_a_stack_trace_of_any_language_is_one_also_inside_json(text: str) -> None:
    assert disclosures.TRACES.search(said(text.encode()))
    assert disclosures.TRACES.search(said(json.dumps({"error": {"message": f"failed:\n{text}"}}).encode()))


@pytest.mark.parametrize("text", NO_TRACES.values(), ids=NO_TRACES)
def test_a_message_is_no_stack_trace(text: str) -> None:
    assert not disclosures.TRACES.search(said(json.dumps({"error": {"message": text}}).encode()))


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[" * 100_000, b""], ids=["no text", "too deep", "empty"])
def test_a_body_that_is_no_json_is_read_as_text(body: bytes) -> None:
    assert said(body) == body.decode("utf-8", "replace")


def said(body: bytes) -> str:
    request = Request.build("GET", "/", host="a")
    exchange = Exchange(request=request, answer=Answer(status=400, fields=(), body=body))
    return Refusal("it", Ids("run-a", "case-a"), exchange).said()


async def test_values_are_found_however_they_are_escaped() -> None:
    """A Target that escapes what it repeats has repeated it."""

    class Escapes(BaseTarget):
        def refusal(self, refused: Refused, asked: Asked) -> Reply:
            name = "".join(f"\\u{ord(c):04x}" for c in asked.value("x-aibeat-run-id") or "")
            body = f'{{"error": {{"code": "invalid_request", "message": "{name}"}}}}'
            return Reply(refused.status, body.encode(), [("Content-Type", "application/json")])

    async with AsgiWire(Escapes().app) as wire:
        findings = await disclosures.no_value(probe(wire))
    assert len(list(findings)) == 10
