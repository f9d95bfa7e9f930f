"""The server as a whole: its port, its connections, and its end."""

from __future__ import annotations

import socket
import threading

import pytest

from agentbeat_sdk import Limits
from agentbeat_sdk.server import listening
from agentbeat_sdk.testing import serving
from support.raw_http import RawAnswer, connected, exchange, invocation_request, read_answers
from support.served import HEALTH, Served, only


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
