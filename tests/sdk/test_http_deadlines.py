"""How long a client may take."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from agentbeat_sdk import Limits
from agentbeat_sdk.testing import serving
from support.raw_http import connected, invocation_request, read_answers
from support.served import AUTHORIZATION, HEALTH, Served, only

KIB = 1024
MIB = 1024 * KIB


@pytest.fixture(scope="module")
def hasty() -> Iterator[Served]:
    """A server that gives up soon."""
    limits = Limits(head_timeout=0.1, body_timeout=0.1, idle_timeout=0.25, early_answer_seconds=0.1)
    served = Served(limits)
    with serving(served.target) as served.url:
        yield served


def _received(connection: socket.socket) -> int:
    """The number of bytes that still come."""
    received = 0
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(MIB):
            received += len(piece)
    return received


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
