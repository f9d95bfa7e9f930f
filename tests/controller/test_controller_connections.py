"""HTTP/1.1 by the byte on both planes: what a State Controller must refuse, and how long a client may take.

The lines of `invocations.jsonl` that speak of bytes, not of invocations, hold for the control plane too.
"""

import asyncio
import contextlib
import json
import socket
import threading
import time

import pytest

from agentbeat_controller import ControllerLimits, Service
from agentbeat_controller.framing import body_length, check_framing
from agentbeat_controller.front import guarded
from agentbeat_protocol import ProtocolError
from support.cases import SECRET, load, request_bytes
from support.controllers import CONTROL_SECRET, reset_body, rig_in
from support.raw_http import connected, exchange, read_answers

#: Rules about bytes, sizes, media types, secrets and routes.
RULES = "AFJMRZ"
#: They are right when an invocation is; to reset, the same body is another shape.
OWN_BODY = {"inv-022", "inv-023", "inv-069"}
#: Lines about documents of evidence that were never made here.
NOT_HERE = {"inv-214"}
CASES = [
    case for case in load("invocations.jsonl") if case["rule"][0] in RULES and case["id"] not in NOT_HERE
]
HASTY = ControllerLimits(head_seconds=1, max_connections=3, max_head_bytes=8 * 1024)


@contextlib.contextmanager
def serving(control, business, limits=None):
    """Both planes on real sockets, in a thread of this process."""
    up = threading.Event()
    services = []

    async def serve():
        services.append(Service.bind(control=control, business=business, limits=limits))
        loop = asyncio.get_running_loop()
        # Signals are the main thread's.
        loop.add_signal_handler = lambda *_: None
        loop.remove_signal_handler = lambda *_: None
        services.append(loop)
        await services[0].run(on_ready=up.set)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert up.wait(10)
        yield services[0]
    finally:
        services[1].call_soon_threadsafe(services[0].stop)
        services[1].call_soon_threadsafe(services[0].stop)
        thread.join(10)


async def answers_at_once(scope, receive, send):
    """An application whose `/slow` takes a moment, and nothing else does."""
    if scope["type"] == "lifespan":
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(0.1)
    fields = [(b"content-length", b"2"), (b"x-fields", b"%d" % len(scope["headers"]))]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    await send({"type": "http.response.body", "body": b"{}"})


@pytest.fixture(scope="module")
def served_rig(tmp_path_factory):
    with (
        rig_in(tmp_path_factory.mktemp("connections")) as rig,
        serving(rig.control_app, rig.business_app) as service,
    ):
        yield rig, service


@pytest.fixture(scope="module")
def hasty():
    """Two planes that give up soon."""
    app = guarded(answers_at_once, HASTY)
    with serving(app, app, HASTY) as service:
        yield service.control_url


def translated(case):
    """A line's bytes, sent to the control plane with its secret."""
    raw = request_bytes(case)
    for old, new in (
        (b"/v1/agent/invocations", b"/v1/environment/reset"),
        (b"/v1/evidence/", b"/v1/environment/snapshots/"),
        (SECRET.encode(), CONTROL_SECRET.encode()),
    ):
        raw = raw.replace(old, new)
    return raw


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']} {case['what']}")
def test_a_hostile_request_is_refused_in_the_protocols_words(served_rig, case):
    rig, service = served_rig
    rows = rig.rows()
    answers = exchange(service.control_url, translated(case))
    expected = [400] if case["id"] in OWN_BODY else case["expect_status"]
    assert len(answers) == 1
    assert answers[0].status in expected
    assert answers[0].header("content-type") == "application/json"
    assert answers[0].header("cache-control") == "no-store"
    assert set(answers[0].json()) == {"error"}
    assert rig.rows() == rows


GOOD = {
    "host": "Host: 127.0.0.1",
    "secret": f"Authorization: Bearer {CONTROL_SECRET}",
    "type": "Content-Type: application/json",
    "close": "Connection: close",
}
BODY = json.dumps(reset_body("framing")).encode()
LENGTH = f"Content-Length: {len(BODY)}"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
#: name: request line, what differs of the fields, further fields, body. The body is a reset that would do.
AMBIGUOUS = {
    "two hosts": ("1.1", {}, ["Host: other", LENGTH], BODY),
    "no host": ("1.1", {"host": None}, [LENGTH], BODY),
    "no host that one can ask for": ("1.1", {"host": "Host: a b"}, [LENGTH], BODY),
    "two hosts in one": ("1.1", {"host": "Host: a, b"}, [LENGTH], BODY),
    "length and chunked": ("1.1", {}, [LENGTH, "Transfer-Encoding: chunked"], CHUNKED),
    "chunked and length": ("1.1", {}, ["Transfer-Encoding: chunked", LENGTH], CHUNKED),
    "chunked twice": ("1.1", {}, ["Transfer-Encoding: chunked, chunked"], CHUNKED),
    "gzip first": ("1.1", {}, ["Transfer-Encoding: gzip, chunked"], CHUNKED),
    "chunked in HTTP/1.0": ("1.0", {}, ["Transfer-Encoding: chunked"], CHUNKED),
    "another version": ("1.2", {}, [LENGTH], BODY),
    "a body behind an upgrade": ("1.1", {"close": "Connection: upgrade"}, ["Upgrade: h2c", LENGTH], BODY),
    "a folded field": ("1.1", {}, ["X-Folded: a\r\n b", LENGTH], BODY),
    "a bare carriage return": ("1.1", {}, ["X-Bare: a\rb", LENGTH], BODY),
    "a length with a sign": ("1.1", {}, [f"Content-Length: +{len(BODY)}"], BODY),
    "two lengths in one": ("1.1", {}, [f"Content-Length: {len(BODY)}, {len(BODY)}"], BODY),
    "a chunk of no size": ("1.1", {}, ["Transfer-Encoding: chunked"], b"x\r\n{}\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_head_that_two_readers_could_read_differently_is_400(served_rig, name):
    rig, service = served_rig
    rows = rig.rows()
    version, changes, further, body = AMBIGUOUS[name]
    fields = [field for field in (GOOD | changes).values() if field is not None] + further
    head = "\r\n".join([f"POST /v1/environment/reset HTTP/{version}", *fields, "", ""]).encode()
    (answer,) = exchange(service.control_url, head + body)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert rig.rows() == rows


def test_the_same_reset_in_good_framing_is_answered(served_rig):
    """What the table above refuses is refused for its framing alone."""
    _, service = served_rig
    answers = []
    for fields, body in (([LENGTH], BODY), (["Transfer-Encoding: Chunked"], CHUNKED)):
        head = "\r\n".join(["POST /v1/environment/reset HTTP/1.1", *GOOD.values(), *fields, "", ""]).encode()
        answers += exchange(service.control_url, head + body)
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].body == answers[1].body


@pytest.mark.parametrize("target", ["/healthz#top", "ftp://127.0.0.1/healthz", "http://", "healthz"])
def test_a_target_that_is_no_path_is_400(hasty, target):
    (answer,) = exchange(hasty, f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    assert answer.status == 400


# Under any server: the scope alone


@pytest.mark.parametrize(
    "fields",
    [
        [(b"host", b"a"), (b"HOST", b"a")],
        [(b"host", b"a"), (b"content-length", b"1"), (b"content-length", b"1")],
        [(b"host", b"a"), (b"content-length", "²".encode("latin-1"))],
        [(b"host", b"a"), (b"content-length", b"")],
        [(b"host", b"a"), (b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"chunked")],
    ],
)
def test_framing_is_judged_without_the_parser_too(fields):
    with pytest.raises(ProtocolError) as caught:
        check_framing({"http_version": "1.1", "headers": fields})
    assert caught.value.code == "invalid_request"


def test_a_length_of_any_number_of_digits_is_a_length():
    """`int` gives up at 4,300 digits; a refusal of the size must not become a fault."""
    scope = {"http_version": "1.1", "headers": [(b"host", b"a"), (b"content-length", b"9" * 5_000)]}
    check_framing(scope)
    assert body_length(scope) > 10**18
    assert body_length(scope | {"headers": [(b"content-length", b"0" * 5_000 + b"7")]}) == 7
    assert body_length(scope | {"headers": []}) is None


# Time and room


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
