"""One connection to `target.run()`: what a client may do to it, and what it gets back."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from agentbeat_sdk import Limits, MemoryStore, Run, Target
from agentbeat_sdk.server import listening
from agentbeat_sdk.testing import serving
from support.raw_http import PATIENCE, RawAnswer, connected, exchange, invocation_request, read_answers

SECRET = "test-token"
AUTHORIZATION = f"Authorization: Bearer {SECRET}\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
KIB = 1024
MIB = 1024 * KIB


class Served:
    """A served Target and the runs of its Agent; the text `wait` holds the Agent until `release`."""

    def __init__(self, limits: Limits) -> None:
        self.runs: list[str] = []
        self.begun = threading.Event()
        self.release = threading.Event()
        self.store = MemoryStore()
        self.target = Target("bench", token=SECRET, tier="L2", limits=limits, store=self.store)
        self.target.invoke(self._agent)
        self.url = ""

    def _agent(self, run: Run) -> str:
        self.runs.append(run.run_id)
        if run.text == "wait":
            self.begun.set()
            self.release.wait(10)
        return "done"


@pytest.fixture(scope="module")
def patient_server() -> Iterator[Served]:
    served = Served(Limits(max_concurrent_runs=2))
    with serving(served.target) as served.url:
        yield served


@pytest.fixture
def patient(patient_server: Served) -> Served:
    """A server with the usual deadlines."""
    patient_server.runs.clear()
    patient_server.begun.clear()
    patient_server.release.clear()
    return patient_server


@pytest.fixture(scope="module")
def hasty() -> Iterator[Served]:
    """A server that gives up soon."""
    limits = Limits(head_timeout=0.1, body_timeout=0.1, idle_timeout=0.25, early_answer_seconds=0.1)
    served = Served(limits)
    with serving(served.target) as served.url:
        yield served


def only(answers: list[RawAnswer]) -> RawAnswer:
    (answer,) = answers
    assert answer.header("content-type") == "application/json"
    assert answer.header("cache-control") == "no-store"
    assert answer.header("x-content-type-options") == "nosniff"
    return answer


def _received(connection: socket.socket) -> int:
    """The number of bytes that still come."""
    received = 0
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(MIB):
            received += len(piece)
    return received


def _sent(connection: socket.socket, most: int) -> int:
    """The number of bytes that the other side takes, at most `most`."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < most:
            connection.sendall(b" " * MIB)
            sent += MIB
    return sent


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


class TestDeadlines:
    """408, and the end of connections that nobody uses."""

    def test_a_head_that_does_not_end(self, hasty: Served) -> None:
        with connected(hasty.url) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n")
            answer = only(read_answers(connection))
        assert (answer.status, answer.code) == (408, "request_timeout")

    def test_a_head_that_comes_in_drops(self, hasty: Served) -> None:
        """Each byte is in time, the whole is not."""
        with connected(hasty.url) as connection:
            begun = time.monotonic()
            for byte in HEALTH * 20:
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    break
                time.sleep(0.02)
                if time.monotonic() > begun + 0.2:
                    break
            assert only(read_answers(connection)).status == 408

    def test_a_body_that_does_not_end(self, hasty: Served) -> None:
        hasty.runs.clear()
        with connected(hasty.url) as connection:
            connection.sendall(invocation_request("run-late-body")[:-1])
            answer = only(read_answers(connection))
        assert (answer.status, answer.code, hasty.runs) == (408, "request_timeout", [])
        assert not hasty.store.is_claimed("run-late-body")

    def test_a_new_connection_that_asks_for_nothing_is_closed(self, hasty: Served) -> None:
        with connected(hasty.url) as connection:
            assert connection.recv(1) == b""

    def test_a_kept_connection_that_asks_for_nothing_more_is_closed(self, hasty: Served) -> None:
        with connected(hasty.url) as connection:
            connection.sendall(HEALTH)
            assert [answer.status for answer in read_answers(connection)] == [200]

    def test_empty_lines_do_not_keep_it(self, hasty: Served) -> None:
        with connected(hasty.url) as connection:
            connection.sendall(HEALTH)
            read_answers(connection, 1)
            connection.sendall(b"\r\n")
            assert only(read_answers(connection)).status == 408

    def test_a_run_may_take_longer_than_any_of_them(self, hasty: Served) -> None:
        hasty.release.clear()
        with connected(hasty.url) as connection:
            connection.sendall(invocation_request("run-long", "wait"))
            time.sleep(0.25)
            hasty.release.set()
            assert only(read_answers(connection)).status == 200

    def test_a_client_that_takes_nothing_is_cut(self, hasty: Served) -> None:
        """A large answer in the server's memory does not stay there for it."""
        hasty.store.claim("run-large", "case-a")
        hasty.store.finish("run-large", b"x" * 8 * MIB)
        request = f"GET /v1/evidence/run-large HTTP/1.1\r\nHost: a\r\n{AUTHORIZATION}\r\n".encode()
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * KIB)
            connection.settimeout(10)
            host, port = hasty.url.removeprefix("http://").split(":")
            connection.connect((host, int(port)))
            connection.sendall(request)
            time.sleep(0.8)
            assert _received(connection) < 8 * MIB

    def test_a_slow_client_that_takes_something_is_waited_for(self, hasty: Served) -> None:
        hasty.store.claim("run-slow-reader", "case-a")
        hasty.store.finish("run-slow-reader", b"x" * 8 * MIB)
        request = f"GET /v1/evidence/run-slow-reader HTTP/1.1\r\nHost: a\r\n{AUTHORIZATION}\r\n".encode()
        with connected(hasty.url) as connection:
            connection.sendall(request)
            received = 0
            while received < 8 * MIB:
                piece = connection.recv(MIB)
                assert piece, received
                received += len(piece)
                time.sleep(0.05)


class TestEarlyAnswers:
    """An answer before the body's end is one that the client can read."""

    def test_a_client_that_sends_everything_first_reads_the_401(self, patient: Served) -> None:
        # More than fits into the buffers between the two: the server must take it off the wire.
        request = invocation_request("run-early", "x" * 3 * MIB, token="nope")
        with connected(patient.url) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * KIB)
            connection.sendall(request)
            answer = only(read_answers(connection))
        assert (answer.status, patient.runs) == (401, [])

    def test_a_large_body_is_not_waited_for(self, patient: Served) -> None:
        head = f"POST /v1/agent/invocations HTTP/1.1\r\nHost: a\r\nContent-Length: {MIB}\r\n\r\n".encode()
        with connected(patient.url) as connection:
            connection.sendall(head)
            answer = only(read_answers(connection))
        assert (answer.status, answer.header("connection")) == (401, "close")

    def test_a_body_over_the_limit_is_refused_from_its_head(self, patient: Served) -> None:
        head = (
            f"POST /v1/agent/invocations HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            f"{AUTHORIZATION}Content-Length: {2 * MIB}\r\n\r\n"
        ).encode()
        assert only(exchange(patient.url, head + b" " * (2 * MIB))).status == 413

    def test_what_comes_behind_it_is_thrown_away_only_so_long(self, patient: Served) -> None:
        head = b"POST /v1/agent/invocations HTTP/1.1\r\nHost: a\r\nContent-Length: 1099511627776\r\n\r\n"
        with connected(patient.url) as connection:
            connection.sendall(head)
            assert _sent(connection, 64 * MIB) < 64 * MIB

    def test_a_body_that_has_come_already_keeps_the_connection(self, patient: Served) -> None:
        request = invocation_request("run-keep", token="nope", close=False)
        with connected(patient.url) as connection:
            connection.sendall(request)
            assert [answer.status for answer in read_answers(connection, 1)] == [401]
            connection.sendall(HEALTH)
            assert [answer.status for answer in read_answers(connection, 1)] == [200]

    def test_expect_100_continue_gets_its_word_when_the_body_is_wanted(self, patient: Served) -> None:
        request = invocation_request("run-expect", fields=("Expect: 100-continue",))
        head, _, body = request.partition(b"\r\n\r\n")
        with connected(patient.url) as connection:
            connection.sendall(head + b"\r\n\r\n")
            assert [answer.status for answer in read_answers(connection, 1)] == [100]
            connection.sendall(body)
            assert only(read_answers(connection)).status == 200

    def test_and_the_refusal_alone_when_it_is_not(self, patient: Served) -> None:
        request = invocation_request("run-expect-not", token=None, fields=("Expect: 100-continue",))
        with connected(patient.url) as connection:
            connection.sendall(request.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
            assert only(read_answers(connection)).status == 401


class TestSeveralRequests:
    """One at a time."""

    def test_one_after_the_other_on_a_kept_connection(self, patient: Served) -> None:
        with connected(patient.url) as connection:
            for number in range(3):
                connection.sendall(invocation_request(f"run-kept-{number}", close=False))
                (answer,) = read_answers(connection, 1)
                assert (answer.status, answer.header("connection")) == (200, None)
        assert patient.runs == ["run-kept-0", "run-kept-1", "run-kept-2"]

    def test_an_empty_line_between_them_is_nothing(self, patient: Served) -> None:
        with connected(patient.url) as connection:
            connection.sendall(HEALTH + b"\r\n")
            read_answers(connection, 1)
            connection.sendall(b"\r\n" + HEALTH)
            assert [answer.status for answer in read_answers(connection, 1)] == [200]

    @pytest.mark.parametrize(
        ("run_id", "second"),
        [
            pytest.param("run-first-good", invocation_request("run-behind"), id="a good request"),
            pytest.param("run-first-bad", b"garbage\r\n\r\n", id="garbage"),
        ],
    )
    def test_what_follows_a_request_too_soon_is_not_looked_at(
        self, patient: Served, run_id: str, second: bytes
    ) -> None:
        """The first gets its answer, whole and first; then the connection is closed."""
        request = invocation_request(run_id, "wait", close=False)
        with connected(patient.url) as connection:
            connection.sendall(request + second)
            assert patient.begun.wait(10)
            # The server takes no more of it than a buffer holds.
            connection.settimeout(0.2)
            with pytest.raises(TimeoutError):
                connection.sendall(second * MIB)
            connection.settimeout(PATIENCE)
            patient.release.set()
            answer = only(read_answers(connection))
        assert (answer.status, answer.header("connection")) == (200, "close")
        assert answer.json()["run_id"] == run_id
        assert patient.runs == [run_id]
        assert not patient.store.is_claimed("run-behind")

    def test_http_1_0(self, patient: Served) -> None:
        request = invocation_request("run-old", close=False).replace(b"HTTP/1.1", b"HTTP/1.0")
        answer = only(exchange(patient.url, request.replace(b"Host: 127.0.0.1\r\n", b"")))
        assert (answer.status, answer.header("connection")) == (200, "close")

    def test_head_has_the_headers_and_no_body(self, patient: Served) -> None:
        with connected(patient.url) as connection:
            connection.sendall(HEALTH.replace(b"GET", b"HEAD"))
            raw = connection.recv(65_536)
        assert raw.startswith(b"HTTP/1.1 200 ")
        assert raw.endswith(b"\r\n\r\n")


class TestClientThatGoesAway:
    """A claimed run goes on, and its document is stored."""

    @pytest.mark.parametrize("how", ["closes", "resets"])
    def test_during_its_run(self, patient: Served, how: str) -> None:
        run_id = f"run-gone-{how}"
        with connected(patient.url) as connection:
            connection.sendall(invocation_request(run_id, "wait"))
            assert patient.begun.wait(10)
            if how == "resets":
                linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        patient.release.set()
        while patient.store.document(run_id) is None:
            time.sleep(0.005)
        assert patient.runs == [run_id]
        assert only(exchange(patient.url, invocation_request(run_id))).status == 409

    def test_during_its_body(self, patient: Served) -> None:
        with connected(patient.url) as connection:
            connection.sendall(invocation_request("run-gone-early")[:-1])
        assert only(exchange(patient.url, invocation_request("run-after"))).status == 200
        assert patient.runs == ["run-after"]
        assert not patient.store.is_claimed("run-gone-early")


def test_a_server_with_too_many_connections_says_so() -> None:
    served = Served(Limits(max_connections=2, retry_after=9))
    with serving(served.target) as url, connected(url) as first, connected(url) as second:
        for connection in (first, second):
            connection.sendall(HEALTH)
            read_answers(connection, 1)
        answer = only(exchange(url, b""))
        assert (answer.status, answer.code, answer.header("retry-after")) == (503, "target_busy", "9")


def test_answers_do_not_wait_for_the_clients_acknowledgement() -> None:
    """asyncio sets TCP_NODELAY on the connections of such a socket only."""
    with listening("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_that_is_taken_is_an_error_and_not_the_end_of_the_process(host: str) -> None:
    with listening(host, 0) as listener, pytest.raises(OSError, match="in use"):
        Served(Limits()).target.run(host, listener.getsockname()[1])


def test_a_target_that_has_stopped_may_serve_again() -> None:
    served = Served(Limits())
    for run_id in ("run-first-time", "run-second-time"):
        with serving(served.target) as url:
            assert only(exchange(url, invocation_request(run_id))).status == 200
    assert served.runs == ["run-first-time", "run-second-time"]


def test_a_stopping_server_does_not_wait_for_half_a_request() -> None:
    served = Served(Limits(early_answer_seconds=0.2))
    answers: list[RawAnswer] = []
    with connected_to(served) as (url, half):
        half.sendall(invocation_request("run-half")[:-1])
        # The server has seen the half: a request that came later has its answer.
        assert only(exchange(url, invocation_request("run-whole"))).status == 200
        reader = threading.Thread(target=lambda: answers.extend(read_answers(half)))
        reader.start()
    reader.join(10)
    assert (only(answers).status, only(answers).code) == (503, "target_draining")
    assert served.runs == ["run-whole"]


def test_runs_that_do_not_end_are_given_up_when_the_server_stops() -> None:
    served = Served(Limits(drain_timeout=0.2))
    answers: list[RawAnswer] = []
    with connected_to(served) as (_, client):
        client.sendall(invocation_request("run-endless", "wait"))
        assert served.begun.wait(10)
        reader = threading.Thread(target=lambda: answers.extend(read_answers(client)))
        reader.start()
    reader.join(10)
    assert (only(answers).status, only(answers).code) == (502, "target_execution_failed")
    assert b"the Target stopped before the Agent had finished" in (
        served.store.document("run-endless") or b""
    )
    served.release.set()


class connected_to:  # noqa: N801 - reads as a function
    """Serve a Target and connect to it; the server stops first, the connection stays open."""

    def __init__(self, served: Served) -> None:
        self._serving = serving(served.target)

    def __enter__(self) -> tuple[str, socket.socket]:
        url = self._serving.__enter__()
        self._context = connected(url)
        self._socket = self._context.__enter__()
        return url, self._socket

    def __exit__(self, *error: object) -> None:
        self._serving.__exit__(None, None, None)
