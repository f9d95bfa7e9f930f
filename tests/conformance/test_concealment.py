"""Secrets on their way to the endpoint and back: what the endpoint gets, and what nobody else does."""

from __future__ import annotations

import base64
import html
import json
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_conformance.exchanges import Answer, Exchange, Failure, Request
from agentbeat_conformance.wires import ConcealingWire, Concealment, marker

SECRET = "tea+and/biscuits=="
MARKER = "[redacted-secret]"


def is_concealable(secret: str) -> bool:
    """Whether it is no word of the protocol: Hypothesis tries those that stand in the code too."""
    try:
        Concealment({"secret": secret})
    except ValueError:
        return False
    return True


#: The characters of a bearer token (RFC 6750, section 2.1).
CHARACTERS = string.ascii_letters + string.digits + "-._~+/"
TOKENS = st.text(CHARACTERS, min_size=12, max_size=40).filter(is_concealable)


class Echo:
    """A wire that answers with the bytes it was given, and keeps the request."""

    has_sockets = True

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer
        self.seen: list[Request] = []

    async def exchange(self, request: Request, *, scope: str) -> Exchange:
        self.seen.append(request)
        answer = self.answer or Answer(status=200, fields=(), body=request.raw)
        return Exchange(request=request, answer=answer)


def test_the_marker_is_not_the_word_that_targets_write_over_secrets() -> None:
    assert marker() == MARKER
    assert marker("business") == "[redacted-business]"
    assert "[redacted]" not in MARKER


SPELLINGS = {
    "plain": SECRET,
    "JSON": json.dumps(SECRET),
    "JSON with escaped slashes, as PHP writes it": json.dumps(SECRET).replace("/", "\\/"),
    "JSON with every character escaped": "".join(f"\\u{ord(c):04x}" for c in SECRET),
    "JSON with upper-case escapes": "".join(f"\\u{ord(c):04X}" for c in SECRET),
    "HTML-safe JSON, as Go writes it": SECRET.replace("+", "\\u002B").replace("=", "\\u003D"),
    "percent": quote(SECRET, safe=""),
    "percent in lower case": quote(SECRET, safe="").lower(),
    "HTML": html.escape(SECRET).replace("+", "&#43;").replace("/", "&#x2F;"),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 behind one byte": base64.b64encode(b"a" + SECRET.encode()).decode(),
    "base64 behind a user, as Basic has it": base64.b64encode(b"user:" + SECRET.encode() + b"\n").decode(),
    "base64url": base64.urlsafe_b64encode(b"??" + SECRET.encode() + b"??").decode(),
    "twice": SECRET + SECRET,
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_the_secret_is_concealed_in_every_spelling(spelling: str) -> None:
    concealed = Concealment({"secret": SECRET}).conceal_text(f"before {spelling} after")
    assert MARKER in concealed
    assert concealed.startswith("before ")
    assert concealed.endswith(" after")
    for part in (SECRET, quote(SECRET, safe=""), "biscuits"):
        assert part not in concealed


def test_the_secret_without_its_last_character_is_concealed_as_the_near_miss_that_it_is() -> None:
    concealment = Concealment({"secret": SECRET})
    assert concealment.conceal(f"<{SECRET[:-1]}>".encode()) == f"<{MARKER[:-1]}>".encode()


def test_text_without_the_secret_stays_as_it_is() -> None:
    text = '{"token": "[redacted]", "note": "tea and biscuits \\u0041 %41 &amp;"}'
    assert Concealment({"secret": SECRET}).conceal_text(text) == text


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (MARKER, SECRET),
        (f"{MARKER}x", f"{SECRET}x"),
        (f"x{MARKER}", f"x{SECRET}"),
        (MARKER[:-1], SECRET[:-1]),
        ("[redacted]", "[redacted]"),
    ],
    ids=["whole", "longer", "something-before", "one-short", "another-word"],
)
def test_a_marker_becomes_the_secret_and_a_near_miss_a_near_miss(asked: str, sent: str) -> None:
    assert Concealment({"secret": SECRET}).reveal(asked.encode()) == sent.encode()


@given(secret=TOKENS, before=st.binary(max_size=20), after=st.binary(max_size=20))
def test_what_is_concealed_holds_no_secret_and_reveals_as_what_it_was(
    secret: str, before: bytes, after: bytes
) -> None:
    concealment = Concealment({"secret": secret})
    data = before + secret.encode() + after
    concealed = concealment.conceal(data)
    assert secret.encode() not in concealed
    assert concealment.reveal(concealed) == data


@pytest.mark.parametrize(
    "secret",
    ["", "short", "completed", "schema_version", "redacted-secret", "geheimnis-ü-123", "line\nline\nline"],
)
def test_a_secret_that_cannot_be_told_from_other_text_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        Concealment({"secret": secret})
    assert len(secret) < 6 or secret not in str(caught.value)


def test_two_planes_have_two_secrets() -> None:
    with pytest.raises(ValueError, match="same secret twice"):
        Concealment({"secret": SECRET, "business": SECRET})
    both = Concealment({"secret": "first-of-two-secrets", "business": "first-of-two-secrets-and-more"})
    text = "first-of-two-secrets first-of-two-secrets-and-more"
    assert both.conceal_text(text) == f"{MARKER} [redacted-business]"
    assert both.reveal(both.conceal(text.encode())) == text.encode()


async def test_the_endpoint_gets_the_secret_and_the_exchange_holds_the_marker() -> None:
    echo = Echo()
    wire = ConcealingWire(echo, Concealment({"secret": SECRET}))
    asked = Request.build("GET", "/", host="h", fields=[("Authorization", f"Bearer {MARKER}")])
    exchange = await wire.exchange(asked, scope="a-check")
    assert dict(echo.seen[0].fields)["Authorization"] == f"Bearer {SECRET}"
    assert f"Bearer {SECRET}\r\n".encode() in echo.seen[0].raw
    assert exchange.request == asked
    assert exchange.answer is not None
    assert exchange.answer.body == asked.raw


async def test_a_body_with_the_secret_goes_out_with_the_length_that_it_then_has() -> None:
    echo = Echo()
    wire = ConcealingWire(echo, Concealment({"secret": SECRET}))
    body = f'{{"text": "{MARKER}"}}'.encode()
    exchange = await wire.exchange(Request.build("POST", "/", host="h", body=body), scope="a-check")
    [sent] = echo.seen
    assert sent.body == f'{{"text": "{SECRET}"}}'.encode()
    assert dict(sent.fields)["Content-Length"] == str(len(sent.body))
    head, _, rest = sent.raw.partition(b"\r\n\r\n")
    assert rest == sent.body
    assert f"Content-Length: {len(sent.body)}".encode() in head
    assert exchange.request.body == body


async def test_a_request_without_a_marker_goes_out_as_it_is() -> None:
    echo = Echo()
    asked = Request(raw=b"anything at all\x00\xff", method="GET", target="/", fields=())
    await ConcealingWire(echo, Concealment({"secret": SECRET})).exchange(asked, scope="a-check")
    assert echo.seen == [asked]
    assert echo.seen[0] is asked


async def test_the_answers_fields_are_concealed_too() -> None:
    answer = Answer(status=302, fields=(("location", f"/?t={quote(SECRET, safe='')}"),), body=b"\xff")
    wire = ConcealingWire(Echo(answer), Concealment({"secret": SECRET}))
    exchange = await wire.exchange(Request.build("GET", "/", host="h"), scope="a-check")
    assert exchange.answer == Answer(status=302, fields=(("location", f"/?t={MARKER}"),), body=b"\xff")


async def test_a_failure_stays_the_failure_that_it_is() -> None:
    class Dead:
        has_sockets = False

        async def exchange(self, request: Request, *, scope: str) -> Exchange:
            return Exchange(request=request, answer=None, failure=Failure.CUT)

    wire = ConcealingWire(Dead(), Concealment({"secret": SECRET}))
    exchange = await wire.exchange(Request.build("GET", "/", host="h"), scope="a-check")
    assert (exchange.answer, exchange.failure) == (None, Failure.CUT)
    assert not wire.has_sockets
