"""The transport: nothing that a peer does stretches Core's time, memory or trust."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from agentbeat_core.clients import ClientPool, Peer, TransportError
from agentbeat_core.core import Core
from agentbeat_core.credentials import Redactor, Secret
from agentbeat_core.plans import Endpoint
from agentbeat_protocol.origins import Origin
from support.evaluations import ENVIRON, TARGET_SECRET, eval_request, registry
from support.fakes import FakeTarget
from support.loopback import Answer, Handled, Loopback, free_port, json_answer

SECRET = "a-bearer-secret-41"
Write = Callable[[asyncio.StreamWriter], Awaitable[None]]


def peer_for(pool: ClientPool, url: str, *, keep_alive: bool = False, connect: float = 1.0) -> Peer:
    endpoint = Endpoint(base=url, origin=Origin.parse(url), secret=Secret(SECRET))
    return Peer(pool=pool, endpoint=endpoint, keep_alive=keep_alive, connect_seconds=connect)


async def send(url: str, *, seconds: float = 5.0, max_bytes: int = 1024, connect: float = 1.0) -> Any:
    async with ClientPool() as pool:
        peer = peer_for(pool, url, connect=connect)
        return await peer.send("GET", "/x", seconds=seconds, max_bytes=max_bytes)


async def faulty(handled: Handled, *, seconds: float = 5.0, max_bytes: int = 1024) -> TransportError:
    """The error when a server answers like this."""
    async with Loopback(lambda seen: handled) as server:
        with pytest.raises(TransportError) as caught:
            await send(server.url, seconds=seconds, max_bytes=max_bytes)
    return caught.value


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1000\r\n" + b" " * 4096 + b"\r\n")
        await writer.drain()


async def dripping_body(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Content-Length: 100000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def dripping_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(0.01)


async def endless_informational(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.001)


async def endless_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"a" * 4096 + b"\r\n")
        await writer.drain()


async def no_http(writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n\r\n")


async def half_a_body(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Content-Length: 100\r\n\r\n{")


async def nothing(writer: asyncio.StreamWriter) -> None:
    del writer


async def two_lengths(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}")


@pytest.mark.parametrize("write", [endless], ids=["chunked"])
async def test_an_endless_body_is_cut_off_at_its_limit(write: Write) -> None:
    fault = await faulty(write, max_bytes=100_000)
    assert (fault.kind, fault.started) == ("too_large", True)


@pytest.mark.parametrize(
    "write",
    [dripping_body, dripping_head, endless_informational],
    ids=["a-byte-now-and-then", "a-head-that-does-not-end", "early-hints-without-end"],
)
async def test_an_answer_that_drips_ends_at_the_total_deadline(write: Write) -> None:
    fault = await faulty(write, seconds=0.15)
    assert (fault.kind, fault.started) == ("timeout", True)


@pytest.mark.parametrize(
    ("handled", "kind"),
    [
        (Answer(301, b"", {"Location": "http://127.0.0.1:1/x"}), "redirected"),
        (Answer(302, b"", {"Location": "/x"}), "redirected"),
        (Answer(308), "redirected"),
        (Answer(304), "redirected"),
        (Answer(200, gzip.compress(b"{}"), {"Content-Encoding": "gzip"}), "content_encoding"),
        (Answer(200, b"{}", {"Content-Encoding": "identity, br"}), "content_encoding"),
        (Answer(200, b" " * 1025), "too_large"),
        (no_http, "bad_http"),
        (two_lengths, "bad_http"),
        (endless_head, "bad_http"),
        (half_a_body, "connection_lost"),
        (nothing, "connection_lost"),
    ],
    ids=[
        "moved",
        "found-same-origin",
        "permanent-without-location",
        "not-modified",
        "gzip",
        "encodings",
        "over-the-limit",
        "no-http",
        "two-lengths",
        "endless-head",
        "half-a-body",
        "hangs-up",
    ],
)
async def test_what_cannot_be_used_is_an_error_of_its_kind(handled: Handled, kind: str) -> None:
    fault = await faulty(handled)
    assert (fault.kind, fault.started) == (kind, True)


async def test_a_body_of_exactly_the_limit_is_read() -> None:
    async with Loopback(lambda seen: Answer(200, b" " * 1024)) as server:
        reply = await send(server.url, max_bytes=1024)
    assert (reply.status, len(reply.body)) == (200, 1024)


async def test_an_error_is_read_up_to_64_kib_and_is_no_fault_of_the_transport() -> None:
    async with Loopback(lambda seen: Answer(500, b"e" * 200_000)) as server:
        reply = await send(server.url)
    assert (reply.status, len(reply.body)) == (500, 64 * 1024)
    assert reply.error_code is None


async def test_the_code_of_an_error_envelope_is_read() -> None:
    body = {"error": {"code": "target_busy", "message": "later"}}
    async with Loopback(lambda seen: json_answer(body, 503, Retry_After="7")) as server:
        reply = await send(server.url)
    assert (reply.error_code, reply.retry_after()) == ("target_busy", 7.0)


@pytest.mark.parametrize("value", ["soon", "-1", "1.5", "", "9" * 40, "Wed, 21 Oct 2015 07:28:00 GMT"])
async def test_a_retry_after_that_is_no_number_of_seconds_says_nothing(value: str) -> None:
    async with Loopback(lambda seen: Answer(503, b"", {"Retry-After": value})) as server:
        reply = await send(server.url)
    assert reply.retry_after() is None


async def test_without_a_connection_nothing_was_started() -> None:
    with pytest.raises(TransportError) as caught:
        await send(f"http://127.0.0.1:{free_port()}")
    assert (caught.value.kind, caught.value.started) == ("no_connection", False)


async def test_a_peer_that_speaks_no_tls_was_not_started() -> None:
    async with Loopback(lambda seen: Answer()) as server:
        with pytest.raises(TransportError) as caught:
            await send(server.url.replace("http://", "https://"), connect=0.1)
    assert (caught.value.kind, caught.value.started) == ("no_connection", False)
    assert server.seen == []


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        Loopback(lambda seen: Answer(200, b"proxy")) as proxy,
        Loopback(lambda seen: Answer()) as server,
    ):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        reply = await send(server.url)
    assert reply.body == b""
    assert proxy.seen == []


async def test_a_cookie_of_one_answer_is_not_sent_with_the_next_request() -> None:
    cookie = Answer(200, b"", {"Set-Cookie": "run=1; Path=/"})
    async with Loopback(lambda seen: cookie) as server, ClientPool() as pool:
        for _ in range(2):
            await peer_for(pool, server.url).send("GET", "/", seconds=5, max_bytes=10)
    assert [seen.headers.get("cookie") for seen in server.seen] == [None, None]


@pytest.mark.parametrize(("keep_alive", "connections"), [(False, 3), (True, 1)])
async def test_only_who_may_be_asked_twice_keeps_a_connection(keep_alive: bool, connections: int) -> None:
    async with Loopback(lambda seen: Answer()) as server, ClientPool() as pool:
        peer = peer_for(pool, server.url, keep_alive=keep_alive)
        for _ in range(3):
            await peer.send("GET", "/", seconds=5, max_bytes=10)
        assert server.connections == connections


async def test_one_client_serves_an_origin() -> None:
    async with ClientPool() as pool:
        one = pool.client(Origin.parse("http://127.0.0.1:80/a"), keep_alive=True)
        assert pool.client(Origin.parse("HTTP://127.0.0.1/b"), keep_alive=True) is one
        assert pool.client(Origin.parse("http://127.0.0.1:81"), keep_alive=True) is not one


async def test_no_secret_is_in_an_error_or_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    faults = [await faulty(handled) for handled in (no_http, half_a_body, Answer(302))]
    with pytest.raises(TransportError) as caught:
        await send(f"http://127.0.0.1:{free_port()}")
    for fault in (*faults, caught.value):
        assert SECRET not in f"{fault} {fault!r} {fault.__cause__!r}"
    assert SECRET not in caplog.text


async def test_what_a_peer_says_is_in_no_log_of_the_libraries(caplog: pytest.LogCaptureFixture) -> None:
    async def echo(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 {SECRET}\r\nX-Echo: {SECRET}\r\nContent-Length: 0\r\n\r\n".encode())

    async def no_head(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\n{SECRET}\r\n\r\n".encode())

    caplog.set_level(logging.DEBUG)
    async with Loopback(lambda seen: echo) as server:
        assert (await send(server.url)).status == 200
        assert (await faulty(no_head)).kind == "bad_http"
        assert SECRET not in caplog.text
        # The steps are logged all the same, and another's use of the libraries as ever.
        assert "receive_response_headers.complete" in caplog.text
        async with httpx.AsyncClient() as client:
            await client.get(server.url)
    assert SECRET in caplog.text


# --- Through a whole run --------------------------------------------------------------------------------


async def evaluated(target: FakeTarget, tier: str, **timeouts: float) -> Any:
    core = Core(registry(ENVIRON | {"DESK_URL": target.url}, state_controller=...))
    return await core.evaluate(eval_request(tier, timeouts=timeouts))


@pytest.mark.parametrize(
    ("write", "code"),
    [
        (endless, "target_contract_failed"),
        (dripping_body, "target_timeout"),
        (no_http, "target_contract_failed"),
    ],
    ids=["endless", "dripping", "no-http"],
)
async def test_a_target_that_misbehaves_on_the_wire_fails_its_run(write: Write, code: str) -> None:
    async with FakeTarget() as target:
        target.handle["invoke"] = lambda seen: write
        response = await evaluated(target, "L1", invoke=0.3 if code == "target_timeout" else 10)
    assert response.failure.code == code
    assert response.evaluation is None


@pytest.mark.parametrize(
    ("write", "reason"),
    [(endless, "evidence_too_large: EVD-15"), (dripping_body, "evidence_timeout")],
    ids=["endless", "dripping"],
)
async def test_evidence_without_end_is_missing_evidence(write: Write, reason: str) -> None:
    async with FakeTarget() as target:
        target.handle["evidence"] = lambda seen: write
        response = await evaluated(target, "L2", evidence=0.3 if "timeout" in reason else 10)
    assert response.eval_run.status == "completed"
    missing = [each for each in response.evaluation.evidence.observations if each.state == "missing"]
    assert {each.reason for each in missing} == {reason}


async def test_the_secret_does_not_follow_a_redirect() -> None:
    async with Loopback(lambda seen: Answer(200, b"{}")) as elsewhere, FakeTarget() as target:
        location = {"Location": f"{elsewhere.url}/v1/evidence/run-core-001"}
        target.handle["evidence"] = lambda seen: Answer(307, b"", location)
        response = await evaluated(target, "L2")
    assert response.eval_run.status == "completed"
    assert elsewhere.seen == []


# --- Secrets --------------------------------------------------------------------------------------------


def test_a_secret_shows_itself_only_when_asked() -> None:
    secret = Secret(SECRET)
    assert SECRET not in f"{secret} {secret!r} {[secret]} {secret!s:>40}"
    assert secret.reveal() == SECRET
    assert secret == Secret(SECRET)
    assert secret != Secret(SECRET + "x")


def test_a_secret_is_not_pickled() -> None:
    import pickle

    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(Secret(SECRET))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Bearer {TARGET_SECRET}.", "Bearer [redacted]."),
        (TARGET_SECRET * 2, "[redacted][redacted]"),
        ("nothing", "nothing"),
        ('{"a": "say \\"hi\\" ü"}', '{"a": "[redacted]"}'),
        ("say%20%22hi%22%20%C3%BC", "[redacted]"),
        ('say "hi" ü', "[redacted]"),
    ],
    ids=["once", "twice", "none", "as-json-writes-it", "as-a-url-writes-it", "plain"],
)
def test_every_spelling_of_a_secret_is_redacted(text: str, expected: str) -> None:
    redactor = Redactor([Secret(TARGET_SECRET), Secret('say "hi" ü')])
    assert redactor.text(text) == expected


SLASHED = 'k/e+y="1'


@pytest.mark.parametrize(
    "text",
    [
        'k\\/e+y=\\"1',
        "\\u006b/e\\u002By\\u003d\\u00221",
        "".join(f"\\u{ord(character):04X}" for character in SLASHED),
        'k\\\\\\/e+y=\\\\\\"1',
        "k%2fe%2By%3D%221",
        "".join(f"%{ord(character):02x}" for character in SLASHED),
    ],
    ids=["slash", "some-escaped", "all-escaped", "json-in-json", "url", "all-percent"],
)
def test_a_secret_is_found_however_json_or_a_url_spells_it(text: str) -> None:
    assert Redactor([Secret(SLASHED)]).text(f"a {text} z") == "a [redacted] z"


def test_a_text_made_of_escapes_takes_no_time_to_speak_of() -> None:
    """A square of its length would be hours."""
    text = "\\" * 300_000 + "%" * 300_000
    assert Redactor([Secret(SLASHED)]).text(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f'members named "aaaa{TARGET_SECRET[:9]}…", expected one',
            'members named "aaaa[redacted]…", expected one',
        ),
        (f"/{TARGET_SECRET[:-1]}…/{TARGET_SECRET}", "/[redacted]…/[redacted]"),
        (f"{TARGET_SECRET[:9]}… and {TARGET_SECRET[:5]}…", "[redacted]… and [redacted]…"),
        (f"{TARGET_SECRET[:3]}…", f"{TARGET_SECRET[:3]}…"),
        (f"{TARGET_SECRET[:9]} is no excerpt", f"{TARGET_SECRET[:9]} is no excerpt"),
    ],
    ids=["cut-in-it", "cut-before-its-end", "twice", "chance", "not-cut"],
)
def test_an_excerpt_holds_no_beginning_of_a_secret(text: str, expected: str) -> None:
    assert Redactor([Secret(TARGET_SECRET)]).excerpt(text) == expected


def test_a_secret_inside_another_leaves_nothing_behind() -> None:
    assert Redactor([Secret("abc"), Secret("abcdef")]).text("abcdef abc") == "[redacted] [redacted]"


def test_member_names_are_redacted_too() -> None:
    assert Redactor([Secret("s3cr3t")]).value({"s3cr3t": ["x s3cr3t", 1, None]}) == {
        "[redacted]": ["x [redacted]", 1, None]
    }
