"""What a client may send to `target.run()`: what is malformed or too large is refused, and nothing runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentbeat_sdk import Limits
from agentbeat_sdk.testing import serving
from support.raw_http import exchange, invocation_request
from support.served import HEALTH, Served, only


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    served = Served(Limits(max_concurrent_runs=2))
    with serving(served.target) as served.url:
        yield served


@pytest.fixture
def patient(server: Served) -> Served:
    """A server with the usual deadlines."""
    server.forget()
    return server


class TestParser:
    """What the parser refuses is refused in the protocol's shape, and the Agent does not run."""

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param((b"X-A: 1\r\n", b"X-A: 1\r\n 2\r\n"), id="folded field"),
            pytest.param((b"X-A: 1\r\n", b"X-A: 1\r\n\t2\r\n"), id="field folded with a tab"),
            pytest.param((b"X-A: 1\r\n", b" X-A: 1\r\n"), id="white space before a name"),
            pytest.param((b"X-A: 1\r\n", b"X-A : 1\r\n"), id="space before the colon"),
            pytest.param((b"X-A: 1\r\n", b"X-A\r\n"), id="no colon"),
            pytest.param((b"X-A: 1\r\n", b": 1\r\n"), id="no name"),
            pytest.param((b"X-A: 1\r\n", b"X-A: a\x00b\r\n"), id="NUL in a value"),
            pytest.param((b"X-A: 1\r\n", b"X-A: a\rb\r\n"), id="CR in a value"),
            pytest.param((b"X-A: 1\r\n", b"X-A: 1\n"), id="LF alone"),
            pytest.param((b"X-A: 1\r\n", b"X\xc3\xa9: 1\r\n"), id="name that is not ASCII"),
            pytest.param((b"HTTP/1.1", b"HTTP/1.1 "), id="space behind the version"),
            pytest.param((b"HTTP/1.1", b"HTTP/1"), id="half a version"),
            pytest.param((b"HTTP/1.1", b"HTTP/2.0"), id="another version"),
            pytest.param((b"HTTP/1.1", b"http/1.1"), id="lower-case version"),
            pytest.param((b" HTTP/1.1", b""), id="no version"),
            pytest.param((b"POST ", b"post "), id="lower-case method"),
            pytest.param((b"POST ", b"GLOP "), id="unknown method"),
            pytest.param((b"POST /v1/agent/", b"POST /v1/agent/ "), id="space in the target"),
            pytest.param((b"/v1/agent/invocations", b"/v1/agent/invocations#a"), id="fragment"),
            pytest.param((b"/v1/agent/invocations", b"v1/agent/invocations"), id="no slash"),
            pytest.param((b"/v1/agent/invocations", b"/v1/agent/invocations\xc3\xa9"), id="target not ASCII"),
            pytest.param((b"Content-Length: ", b"Content-Length: +"), id="length with a sign"),
            pytest.param((b"Content-Length: ", b"Content-Length: 1\r\nContent-Length: "), id="two lengths"),
            pytest.param((b"X-A: 1\r\n", b"Transfer-Encoding: chunked\r\n"), id="length and chunked"),
            pytest.param(
                (b"X-A: 1\r\n", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"), id="upgrade with a body"
            ),
        ],
    )
    def test_a_malformed_head_is_400(self, patient: Served, change: tuple[bytes, bytes]) -> None:
        request = invocation_request("run-malformed", fields=("X-A: 1",))
        assert request.count(change[0]) == 1
        answer = only(exchange(patient.url, request.replace(*change)))
        assert (answer.status, answer.code) == (400, "invalid_request")
        assert answer.header("connection") == "close"
        assert patient.runs == []
        assert not patient.store.is_claimed("run-malformed")

    @pytest.mark.parametrize(
        "chunks",
        [
            pytest.param(b"zz\r\n", id="no number"),
            pytest.param(b"-1\r\n", id="negative"),
            pytest.param(b"0x2\r\n{}\r\n0\r\n\r\n", id="0x"),
            pytest.param(b" 2\r\n{}\r\n0\r\n\r\n", id="space before the number"),
            pytest.param(b"2\r\n{}}\r\n0\r\n\r\n", id="longer than it says"),
            pytest.param(b"fffffffffffffffff\r\n", id="beyond 64 bits"),
            pytest.param(b"2\n{}\n0\n\n", id="LF alone"),
        ],
    )
    def test_a_malformed_chunk_is_400(self, patient: Served, chunks: bytes) -> None:
        head = invocation_request("run-chunk").partition(b"\r\n\r\n")[0]
        head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length"))
        request = head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
        answer = only(exchange(patient.url, request))
        assert (answer.status, answer.code) == (400, "invalid_request")
        assert patient.runs == []

    def test_no_http_at_all(self, patient: Served) -> None:
        assert only(exchange(patient.url, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc")).status == 400
        assert only(exchange(patient.url, b"SSH-2.0-OpenSSH_9.6\r\n")).status == 400

    def test_an_upgrade_without_a_body_is_ignored(self, patient: Served) -> None:
        request = HEALTH[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        answer = only(exchange(patient.url, request))
        assert (answer.status, answer.header("connection")) == (200, "close")

    def test_a_connect_is_refused(self, patient: Served) -> None:
        answer = only(exchange(patient.url, b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"))
        assert answer.status == 400

    @pytest.mark.parametrize("origin", ["ftp://a", "http://me@a"])
    def test_a_url_that_no_http_server_is_asked_for_is_no_route(self, patient: Served, origin: str) -> None:
        """404 behind the secret, 401 before it: the path in it counts for nothing."""
        target = f"POST {origin}/v1/agent/".encode()
        for token, status in (("test-token", 404), (None, 401)):
            request = invocation_request("run-elsewhere", token=token).replace(b"POST /v1/agent/", target)
            assert only(exchange(patient.url, request)).status == status
        assert (patient.runs, patient.store.is_claimed("run-elsewhere")) == ([], False)

    @pytest.mark.parametrize("origin", ["http://a", "HTTPS://[::1]:8080"])
    def test_an_absolute_target_is_its_path(self, patient: Served, origin: str) -> None:
        """RFC 9112, section 3.2.2."""
        run_id = f"run-absolute-{origin.partition(':')[0].lower()}"
        request = invocation_request(run_id).replace(b"POST /", f"POST {origin}/".encode())
        assert only(exchange(patient.url, request)).status == 200
        assert patient.runs == [run_id]

    def test_trailers_are_no_header_fields(self, patient: Served) -> None:
        """A correlation header behind the body would come after the check of the head."""
        good = invocation_request("run-trailer")
        head, _, body = good.partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.startswith((b"Content-L", b"X-AIBeat-Run"))]
        chunked = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
        request = b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", b""]) + chunked
        answer = only(exchange(patient.url, request + b"X-AIBeat-Run-ID: run-trailer\r\n\r\n"))
        assert (answer.status, answer.code) == (400, "correlation_binding_mismatch")
        assert patient.runs == []


class TestHead:
    """431."""

    @pytest.mark.parametrize(
        "head",
        [
            pytest.param(b"GET /" + b"a" * 33_000 + b" HTTP/1.1\r\n\r\n", id="target"),
            pytest.param(b"GET /" + b"a" * 33_000, id="target without an end"),
            pytest.param(b"GET / HTTP/1.1\r\nX: " + b"a" * 33_000 + b"\r\n\r\n", id="value"),
            pytest.param(b"GET / HTTP/1.1\r\nX: " + b"a" * 33_000, id="value without an end"),
            pytest.param(b"GET / HTTP/1.1\r\n" + b"a" * 33_000 + b": 1\r\n\r\n", id="name"),
            pytest.param(b"GET / HTTP/1.1\r\n" + b"a" * 33_000, id="name without an end"),
            pytest.param(b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 101 + b"\r\n", id="fields"),
            pytest.param(b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 200, id="fields without an end"),
        ],
    )
    def test_a_head_over_its_bounds(self, patient: Served, head: bytes) -> None:
        answer = only(exchange(patient.url, head))
        assert (answer.status, answer.code) == (431, "request_header_too_large")

    def test_a_head_within_its_bounds(self, patient: Served) -> None:
        padding = tuple(f"X-{number}: {'v' * 330}" for number in range(92))
        answer = only(exchange(patient.url, invocation_request("run-wide", fields=padding)))
        assert answer.status == 200

    def test_empty_lines_are_no_way_around_them(self, patient: Served) -> None:
        assert only(exchange(patient.url, b"\r\n" * 20_000)).status == 431

    def test_too_many_trailers(self, patient: Served) -> None:
        head = invocation_request("run-trailers").partition(b"\r\n\r\n")[0]
        head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length"))
        trailers = b"2\r\n{}\r\n0\r\n" + b"X: 1\r\n" * 200 + b"\r\n"
        answer = only(exchange(patient.url, head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + trailers))
        assert answer.status == 431
        assert patient.runs == []
