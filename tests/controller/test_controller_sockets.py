"""What a refusal is like on a real connection, when the client has not sent its body yet or never stops."""

import json

import pytest

from support.controllers import served
from support.raw_http import connected, exchange, read_answers


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    with served(tmp_path_factory.mktemp("sockets")) as controller:
        yield controller


#: Far more than a body's limit, what is drained and what two socket buffers hold, together.
LIMIT = 64 * 1024 * 1024

PLANES = pytest.mark.parametrize(
    ("plane", "path"),
    [
        ("control", "/v1/environment/reset"),
        ("control", "/no/such/route"),
        ("business", "/v1/orders/ORD-1003/refunds"),
        ("business", "/no/such/route"),
    ],
)


def head(path, *fields):
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *fields, "", ""]
    return "\r\n".join(lines).encode()


@PLANES
@pytest.mark.parametrize("fields", [["Content-Length: 1000"], ["Transfer-Encoding: chunked"]])
def test_a_missing_secret_is_401_before_the_body_was_sent(controller, plane, path, fields):
    """INV-2: the answer is there although the client has sent its head only."""
    with connected(controller.ready[plane]["url"]) as connection:
        connection.sendall(head(path, *fields))
        (answer,) = read_answers(connection, count=1)
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.header("www-authenticate") == "Bearer"
    assert (answer.header("cache-control"), answer.header("x-content-type-options")) == (
        "no-store",
        "nosniff",
    )
    assert answer.header("server") is None


def test_a_client_that_waits_for_100_continue_is_told_the_refusal_instead(controller):
    request = head("/v1/environment/reset", "Content-Length: 1000", "Expect: 100-continue")
    with connected(controller.ready["control"]["url"]) as connection:
        connection.sendall(request)
        (answer,) = read_answers(connection, count=1)
    assert answer.status == 401


def test_a_client_that_sends_all_of_a_large_body_can_still_read_the_refusal(controller):
    """It is read and thrown away for a while, so the answer is not lost in a reset connection."""
    body = b"x" * (3 * 1024 * 1024)
    request = head("/v1/environment/reset", f"Content-Length: {len(body)}") + body
    (answer,) = exchange(controller.ready["control"]["url"], request)
    assert (answer.status, answer.header("connection")) == (401, "close")


def test_an_endless_body_is_cut_off(controller):
    """413 as soon as the limit is passed, and then the connection ends, whatever else is sent."""
    secret = controller.control_secret
    start = head("/v1/environment/reset", "Transfer-Encoding: chunked", f"Authorization: Bearer {secret}")
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    sent = 0
    with connected(controller.ready["control"]["url"]) as connection:
        connection.sendall(start)
        try:
            while sent < LIMIT:
                connection.sendall(chunk)
                sent += 65_536
        except (ConnectionResetError, BrokenPipeError):
            pass
    assert sent < LIMIT


def test_a_connection_serves_many_calls_one_after_the_other(controller):
    secret = controller.control_secret
    body = json.dumps({}).encode()
    fields = [f"Content-Length: {len(body)}", f"Authorization: Bearer {secret}"]
    request = head("/v1/environment/reset", *fields) + body
    with connected(controller.ready["control"]["url"]) as connection:
        for _ in range(3):
            connection.sendall(request)
            (answer,) = read_answers(connection, count=1)
            assert (answer.status, answer.header("connection")) == (400, None)
