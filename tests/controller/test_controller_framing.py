"""HTTP/1.1 by the byte on the control plane: what a State Controller must refuse.

The lines of `invocations.jsonl` that speak of bytes, not of invocations, hold for it too.
"""

import json

import pytest

from agentbeat_controller.framing import body_length, check_framing
from agentbeat_protocol import ProtocolError
from support.cases import SECRET, load, request_bytes
from support.controllers import CONTROL_SECRET, reset_body, rig_in
from support.planes import serving
from support.raw_http import exchange

#: Rules about bytes, sizes, media types, secrets and routes.
RULES = "AFJMRZ"
#: They are right when an invocation is; to reset, the same body is another shape.
OWN_BODY = {"inv-022", "inv-023", "inv-069"}
#: Lines about documents of evidence that were never made here.
NOT_HERE = {"inv-214"}
CASES = [
    case for case in load("invocations.jsonl") if case["rule"][0] in RULES and case["id"] not in NOT_HERE
]


@pytest.fixture(scope="module")
def served_rig(tmp_path_factory):
    with (
        rig_in(tmp_path_factory.mktemp("connections")) as rig,
        serving(rig.control_app, rig.business_app) as service,
    ):
        yield rig, service


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
