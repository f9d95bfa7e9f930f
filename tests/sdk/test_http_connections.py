"""One connection to `target.run()`: early answers, several requests, and clients that go away."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agentbeat_sdk import Limits
from agentbeat_sdk.gentle_transports import GentleTransport
from agentbeat_sdk.testing import serving
from support.raw_http import PATIENCE, connected, exchange, invocation_request, read_answers
from support.served import AUTHORIZATION, HEALTH, Served, only

KIB = 1024
MIB = 1024 * KIB


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


def _sent(connection: socket.socket, most: int) -> int:
    """The number of bytes that the other side takes, at most `most`."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < most:
            connection.sendall(b" " * MIB)
            sent += MIB
    return sent


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

    def test_http_1_0_gets_no_interim_answer(self, patient: Served) -> None:
        """RFC 9110, section 10.1.1: its client would take it for the answer."""
        request = invocation_request("run-old-expect", fields=("Expect: 100-continue",))
        answers = exchange(patient.url, request.replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert [answer.status for answer in answers] == [200]

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


class TestClientThatClosesItsSide:
    """What it has asked for as a whole is answered; it can still read."""

    def test_after_a_whole_request_the_run_is_answered(self, patient: Served) -> None:
        with connected(patient.url) as connection:
            connection.sendall(invocation_request("run-half-close", "wait", close=False))
            connection.shutdown(socket.SHUT_WR)
            assert patient.begun.wait(10)
            patient.release.set()
            answer = only(read_answers(connection))
        assert (answer.status, answer.header("connection")) == (200, "close")
        assert patient.runs == ["run-half-close"]

    @pytest.mark.parametrize("kept", [8, -1], ids=["within its head", "within its body"])
    def test_after_part_of_a_request_nothing_runs(self, patient: Served, kept: int) -> None:
        with connected(patient.url) as connection:
            connection.sendall(invocation_request("run-half-asked")[:kept])
            connection.shutdown(socket.SHUT_WR)
            answer = only(read_answers(connection))
        assert (answer.status, answer.code) == (400, "invalid_request")
        assert (patient.runs, patient.store.is_claimed("run-half-asked")) == ([], False)

    def test_part_of_a_request_without_the_secret_is_401(self, patient: Served) -> None:
        with connected(patient.url) as connection:
            connection.sendall(invocation_request("run-half-secret", token=None)[:-1])
            connection.shutdown(socket.SHUT_WR)
            assert only(read_answers(connection)).status == 401

    def test_before_it_has_asked_for_anything(self, patient: Served) -> None:
        with connected(patient.url) as connection:
            connection.shutdown(socket.SHUT_WR)
            assert read_answers(connection) == []


class RecordedTransport:
    """Keeps what is written to it, piece by piece."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)


class TestHeadOfAnAnswer:
    """A head is written with the first piece of its body, and is never left behind."""

    @pytest.fixture
    def gentle(self) -> GentleTransport:
        transport: Any = RecordedTransport()
        gentle = GentleTransport(transport, lambda: transport.write(b"(closed)"))
        gentle.request = SimpleNamespace(response_started=False)
        return gentle

    def _written(self, gentle: GentleTransport) -> list[bytes]:
        return gentle.written  # type: ignore[no-any-return]

    def _begin(self, gentle: GentleTransport) -> None:
        assert gentle.request is not None
        gentle.request.response_started = True
        gentle.write(b"head")
        assert self._written(gentle) == []

    def test_it_goes_with_the_first_piece_only(self, gentle: GentleTransport) -> None:
        self._begin(gentle)
        gentle.write(b" one")
        gentle.write(b" two")
        assert self._written(gentle) == [b"head one", b" two"]

    def test_what_comes_before_it_goes_at_once(self, gentle: GentleTransport) -> None:
        gentle.write(b"100 Continue")
        assert self._written(gentle) == [b"100 Continue"]

    def test_a_large_piece_is_not_copied(self, gentle: GentleTransport) -> None:
        body = bytes(MIB)
        self._begin(gentle)
        gentle.write(body)
        assert self._written(gentle)[0] == b"head"
        assert self._written(gentle)[1] is body

    def test_an_answer_without_a_body_has_one_too(self, gentle: GentleTransport) -> None:
        self._begin(gentle)
        gentle.flush()
        gentle.flush()
        assert self._written(gentle) == [b"head"]

    def test_it_goes_before_the_connection_does(self, gentle: GentleTransport) -> None:
        self._begin(gentle)
        gentle.close()
        assert self._written(gentle) == [b"head", b"(closed)"]
