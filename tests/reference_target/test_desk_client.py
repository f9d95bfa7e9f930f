"""The business API as the Agent's side of it sees it: what is sent, and what each answer is taken for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agentbeat_reference_target import Desk, DeskClosedError, DeskError, DeskFailedError, DeskRefusedError
from agentbeat_reference_target.tools import DeskTools

SECRET = "business-secret-0123"
Handler = Callable[[httpx.Request], httpx.Response]


async def call(handler: Handler, *args: Any, base_url: str = "http://desk.example", **kwargs: Any) -> Any:
    desk = Desk(base_url, secret=SECRET, transport=httpx.MockTransport(handler))
    async with desk.session({"X-AIBeat-Run-ID": "run-1"}) as session:
        return await session.call(*args, **kwargs)


def refusal(status: int, code: Any, message: Any = "no") -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "message": message}})


async def test_every_call_carries_the_secret_and_the_run() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"ok": True})

    url = "https://desk.example/behind/a/prefix/"
    answer = await call(
        handler, "PATCH", "/v1/customers/CUS-1", body={"email": None, "phone": "1"}, base_url=url
    )
    assert answer == {"ok": True}
    assert str(seen[0].url) == "https://desk.example/behind/a/prefix/v1/customers/CUS-1"
    assert seen[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert seen[0].headers["X-AIBeat-Run-ID"] == "run-1"
    assert seen[0].read() == b'{"phone":"1"}', "a member that is None is left out"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "not_found", DeskRefusedError),
        (409, "ticket_closed", DeskRefusedError),
        (401, "unauthorized", DeskRefusedError),
        (429, "call_limit_reached", DeskRefusedError),
        (409, "environment_closed", DeskClosedError),
        (409, "lease_expired", DeskClosedError),
        (503, "controller_unavailable", DeskFailedError),
        (500, "internal_error", DeskFailedError),
        (200, "not_found", None),
        (404, None, DeskFailedError),
        (404, 7, DeskFailedError),
    ],
)
async def test_a_refusal_is_told_from_a_failure(status: int, code: Any, kind: type[DeskError] | None) -> None:
    if kind is None:
        assert await call(lambda _: refusal(status, code), "GET", "/x") == {
            "error": {"code": code, "message": "no"}
        }
        return
    with pytest.raises(DeskError) as raised:
        await call(lambda _: refusal(status, code), "GET", "/x")
    assert type(raised.value) is kind
    if isinstance(raised.value, DeskRefusedError):
        assert (raised.value.code, raised.value.message, raised.value.status) == (code, "no", status)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, content=b"<html>"),
        httpx.Response(200, content=b""),
        httpx.Response(200, content=b"\xff\xfe{"),
        httpx.Response(200, content=b"[" * 100_000),
        httpx.Response(200, content=b'"' + b"x" * (4 * 1024 * 1024) + b'"'),
        httpx.Response(302, headers={"Location": "http://elsewhere.example/"}),
        httpx.Response(404, content=b"nothing here"),
        httpx.Response(404, json=["error"]),
        httpx.Response(200, stream=httpx.ByteStream(b"{}"), headers={"Content-Encoding": "gzip"}),
    ],
    ids=[
        "html",
        "empty",
        "no text",
        "deep",
        "endless",
        "redirect",
        "404 without code",
        "404 list",
        "no gzip",
    ],
)
async def test_an_answer_that_is_not_the_desks_is_a_failure(answer: httpx.Response) -> None:
    """A redirect is one too: the secret goes nowhere else."""
    calls: list[httpx.URL] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(request.url)
        return answer

    with pytest.raises(DeskFailedError) as raised:
        await call(handler, "GET", "/v1/orders/ORD-1")
    assert len(calls) == 1
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    "error", [httpx.ConnectError("x"), httpx.ReadTimeout("x"), httpx.RemoteProtocolError("x")]
)
async def test_no_answer_is_a_failure(error: httpx.HTTPError) -> None:
    def handler(_request: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(DeskFailedError, match=type(error).__name__):
        await call(handler, "GET", "/v1/orders/ORD-1")


async def test_a_long_message_of_the_desk_is_cut_and_stands_on_one_line() -> None:
    with pytest.raises(DeskRefusedError) as raised:
        await call(lambda _: refusal(409, "x" * 500, "a\nb " * 500), "GET", "/x")
    assert len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)


async def test_a_record_without_its_members_is_a_failure_that_shows_nothing_of_it() -> None:
    desk = Desk(
        "http://desk.example",
        secret=SECRET,
        transport=httpx.MockTransport(lambda _: httpx.Response(200, json={"order_id": "private"})),
    )
    async with desk.session({}) as session:
        with pytest.raises(DeskFailedError, match="no Order") as raised:
            await DeskTools(session).get_order("ORD-1")
    assert "private" not in str(raised.value)


async def test_an_id_cannot_lead_to_another_route() -> None:
    seen: list[bytes] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.raw_path)
        return refusal(404, "not_found")

    desk = Desk("http://desk.example", secret=SECRET, transport=httpx.MockTransport(handler))
    async with desk.session({}) as session:
        with pytest.raises(DeskRefusedError):
            await DeskTools(session).get_order("../emails?limit=1")
    assert seen == [b"/v1/orders/..%2Femails%3Flimit%3D1"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "desk.example",
        "ftp://desk.example",
        "http://",
        "http://user:pass@desk",
        "http://d/?a=1",
        "http://d/#a",
        "http://[::1",
    ],
)
def test_a_url_that_is_no_plain_http_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="business URL") as raised:
        Desk(url, secret=SECRET)
    assert "pass" not in str(raised.value)


@pytest.mark.parametrize("secret", ["", "two words", "line\n", "naïve"])
def test_a_secret_that_is_no_header_value_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(ValueError, match="business secret") as raised:
        Desk("http://desk.example", secret=secret)
    assert not secret or secret not in str(raised.value)


def test_a_desk_shows_its_url_and_not_its_secret() -> None:
    assert repr(Desk("http://desk.example", secret=SECRET)) == "Desk('http://desk.example')"
