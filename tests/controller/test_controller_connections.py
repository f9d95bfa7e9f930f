"""How long a client of either plane may take, how much it may send, and what it may ask of a connection."""

import asyncio
import contextlib
import socket
import threading
import time

import pytest

from agentbeat_controller import ControllerLimits
from agentbeat_controller.front import guarded
from support.planes import answers_at_once, serving
from support.raw_http import connected, exchange, read_answers

HASTY = ControllerLimits(head_seconds=1, max_connections=3, max_head_bytes=8 * 1024)


@pytest.fixture(scope="module")
def hasty():
    """Two planes that give up soon."""
    app = guarded(answers_at_once, HASTY)
    with serving(app, app, HASTY) as service:
        yield service.control_url


@pytest.mark.parametrize("target", ["/healthz#top", "ftp://127.0.0.1/healthz", "http://", "healthz"])
def test_a_target_that_is_no_path_is_400(hasty, target):
    (answer,) = exchange(hasty, f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    assert answer.status == 400


def received(connection):
    with contextlib.suppress(ConnectionError):
        return read_answers(connection)
    return []


WHOLE = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize("requests", [0, 1], ids=["the first", "the second"])
def test_a_head_that_does_not_end_is_408(hasty, requests):
    with connected(hasty) as connection:
        for _ in range(requests):
            connection.sendall(WHOLE)
            assert read_answers(connection, count=1)[0].status == 200
        connection.sendall(b"GET /a HTTP/1.1\r\nHost: a\r\nX: ")
        (answer,) = read_answers(connection)
    assert (answer.status, answer.code, answer.header("connection")) == (408, "request_timeout", "close")


@pytest.mark.parametrize("requests", [0, 1], ids=["before the first", "after it"])
@pytest.mark.parametrize("sent", [b"", b"\r\n"], ids=["nothing", "an empty line"])
def test_a_client_that_asks_nothing_is_let_go(sent, requests):
    """Empty lines, which the parser skips, buy no more time than a head has."""
    limits = ControllerLimits(head_seconds=1, idle_seconds=1)
    with (
        serving(answers_at_once, answers_at_once, limits) as service,
        connected(service.control_url) as connection,
    ):
        for _ in range(requests):
            connection.sendall(WHOLE)
            assert read_answers(connection, count=1)[0].status == 200
        connection.sendall(sent)
        assert read_answers(connection) == []  # it would raise at its patience's end


def test_an_endless_head_is_cut_off(hasty):
    sent = 0
    with connected(hasty) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        while sent < 64 * 2**20:
            connection.sendall(b"x" * 65_536)
            sent += 65_536
    assert sent < 64 * 2**20


def test_a_head_over_its_bounds_is_431_before_it_is_complete(hasty):
    with connected(hasty) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n")
        time.sleep(0.05)
        connection.sendall(b"X: " + b"x" * 8 * 1024)
        (answer,) = received(connection)
    assert (answer.status, answer.code) == (431, "request_header_too_large")


def test_one_connection_too_many_is_503_and_the_others_are_served(hasty):
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connected(hasty)) for _ in range(HASTY.max_connections)]
        for connection in held:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert [answer.status for answer in read_answers(connection, count=1)] == [200]
        (answer,) = received(stack.enter_context(connected(hasty)))
        assert (answer.status, answer.code) == (503, "controller_unavailable")
        assert answer.header("retry-after") == "1"
        held[0].sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert [answer.status for answer in read_answers(held[0])] == [200]


@pytest.mark.parametrize("behind", [b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n", b"\0\0\0", b"GET /\r\n"])
def test_what_comes_behind_a_request_is_not_written_into_its_answer(hasty, behind):
    """The first request gets its own answer, whole, and the connection ends."""
    with connected(hasty) as connection:
        connection.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n" + behind)
        answers = received(connection)
    assert [(answer.status, answer.body) for answer in answers] == [(200, b"{}")]


def test_a_client_that_has_asked_may_close_its_side(hasty):
    with connected(hasty) as connection:
        connection.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        assert [(answer.status, answer.body) for answer in read_answers(connection)] == [(200, b"{}")]


@pytest.mark.parametrize(
    "part",
    [b"", b"GET /slow HT", b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"],
    ids=["nothing", "a head", "a body"],
)
def test_a_client_that_leaves_in_the_middle_of_a_request_is_not_waited_for(hasty, part):
    with connected(hasty) as connection:
        connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
        begun = time.monotonic()
        received(connection)
        assert time.monotonic() - begun < HASTY.head_seconds / 2


def test_a_trailer_is_no_header_field(hasty):
    request = b"POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    (answer,) = exchange(hasty, request + b"0\r\nX-AIBeat-Run-ID: run-other\r\n\r\n")
    assert (answer.status, answer.header("x-fields")) == (200, "3")


def test_an_upgrade_is_served_as_it_is_and_ends_the_connection(hasty):
    request = b"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    (answer,) = exchange(hasty, request)
    assert (answer.status, answer.header("connection")) == (200, "close")


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="a bound that Linux knows")
def test_a_client_that_takes_nothing_of_its_answer_is_cut_off():
    """Each accepted connection has the bound; the kernel ends it, whatever the application waits for."""
    ended = threading.Event()

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            for _ in range(100):
                await send({"type": "http.response.body", "body": b"x" * 2**20, "more_body": True})
                if (await asyncio.wait_for(receive(), 0.01))["type"] == "http.disconnect":
                    break
        except TimeoutError:
            pass
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()

    limits = ControllerLimits(stalled_seconds=1)
    with serving(app, app, limits) as service, connected(service.control_url) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert ended.wait(10)
