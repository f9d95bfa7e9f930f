"""Requests to an application in this process: its answers, its faults, its life."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request as StarletteRequest
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from agentbeat_conformance.exchanges import Exchange, Failure, Request
from agentbeat_conformance.wires import AsgiWire


def request(
    method: str = "POST", target: str = "/a%20b?c=d", body: bytes = b"{}", seconds: float | None = None
) -> Request:
    fields = [("X-Two", "1"), ("x-two", "2")]
    return Request.build(method, target, host="agent.example:8080", fields=fields, body=body, seconds=seconds)


async def exchanged(app: Any, asked: Request | None = None, **options: Any) -> Exchange:
    async with AsgiWire(app, **options) as wire:
        return await wire.exchange(asked or request(), scope="a-check")


def sending(*messages: dict[str, Any], then: BaseException | None = None) -> Any:
    """An application that sends these messages, then returns or raises."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            for message in messages:
                await send(message)
            if then is not None:
                raise then

    return app


def start(*fields: tuple[bytes, bytes], status: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": list(fields)}


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def test_the_application_sees_the_request_as_a_server_would_show_it() -> None:
    seen: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.update(scope, message=await receive())
            await send(start(status=201))
            await send(part(b""))

    exchange = await exchanged(app)
    assert exchange.status == 201
    assert (seen["method"], seen["path"], seen["raw_path"]) == ("POST", "/a b", b"/a%20b")
    assert seen["query_string"] == b"c=d"
    assert seen["server"] == ("agent.example", 8080)
    assert seen["message"] == {"type": "http.request", "body": b"{}", "more_body": False}
    assert seen["headers"] == [
        (b"host", b"agent.example:8080"),
        (b"x-two", b"1"),
        (b"x-two", b"2"),
        (b"connection", b"close"),
        (b"content-length", b"2"),
    ]


async def test_an_answer_in_parts_is_put_together_with_its_fields_in_lower_case() -> None:
    app = sending(start((b"B", b"1"), (b"a", b"2")), part(b"{", more=True), part(b"}"))
    exchange = await exchanged(app)
    assert exchange.answer is not None
    assert exchange.answer.fields == (("b", "1"), ("a", "2"))
    assert exchange.answer.body == b"{}"


async def test_a_starlette_application_answers_and_its_own_errors_are_500s() -> None:
    async def echo(asked: StarletteRequest) -> JSONResponse:
        return JSONResponse({"got": (await asked.body()).decode()})

    async def fail(asked: StarletteRequest) -> JSONResponse:
        raise LookupError(asked)

    app = Starlette(routes=[Route("/echo", echo, methods=["POST"]), Route("/fail", fail, methods=["POST"])])
    exchange = await exchanged(app, request(target="/echo"))
    assert exchange.answer is not None
    assert exchange.answer.body == b'{"got":"{}"}'
    assert (await exchanged(app, request(target="/fail"))).status == 500


CUTS = {
    "raises before an answer": (sending(then=LookupError()), Failure.CLOSED),
    "returns without an answer": (sending(), Failure.CLOSED),
    "raises inside the answer": (sending(start(), part(b"{", more=True), then=LookupError()), Failure.CUT),
    "returns inside the answer": (sending(start(), part(b"{", more=True)), Failure.CUT),
    "returns after the head": (sending(start()), Failure.CUT),
    "sends a body without a head": (sending(part(b"{}")), Failure.CLOSED),
    "sends less than it declares": (sending(start((b"content-length", b"3")), part(b"{}")), Failure.CUT),
    "sends more than it declares": (sending(start((b"content-length", b"1")), part(b"{}")), Failure.CUT),
    "sends more than is read": (sending(start(), part(b"x" * 101)), Failure.TOO_LARGE),
    "ends its process": (sending(then=SystemExit(3)), Failure.CLOSED),
}


@pytest.mark.parametrize(("app", "failure"), CUTS.values(), ids=CUTS.keys())
async def test_what_would_break_a_connection_breaks_the_exchange(app: Any, failure: Failure) -> None:
    exchange = await exchanged(app, max_bytes=100)
    assert exchange.failure is failure


async def test_an_endless_answer_is_left_at_the_limit() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x"

    async def answer(asked: StarletteRequest) -> StreamingResponse:
        return StreamingResponse(endless())

    app = Starlette(routes=[Route("/", answer, methods=["POST"])])
    assert (await exchanged(app, request(target="/"), max_bytes=100)).failure is Failure.TOO_LARGE


async def test_a_late_answer_is_a_time_out_and_the_application_is_told_that_nobody_waits() -> None:
    told: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await receive()
            told.append((await receive())["type"])

    async with AsgiWire(app) as wire:
        exchange = await wire.exchange(request(seconds=0.02), scope="a-check")
        await asyncio.sleep(0.01)
    assert exchange.failure is Failure.TIMEOUT
    assert told == ["http.disconnect"]


async def test_what_still_runs_when_the_wire_closes_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            try:
                await asyncio.sleep(60)
            finally:
                cancelled.set()

    await exchanged(app, request(seconds=0.01))
    assert cancelled.is_set()


async def test_an_answer_does_not_wait_for_what_the_application_does_after_it() -> None:
    released = asyncio.Event()
    done: list[bool] = []

    async def work() -> None:
        await released.wait()
        done.append(True)

    async def answer(asked: StarletteRequest) -> JSONResponse:
        return JSONResponse({}, background=BackgroundTask(work))

    app = Starlette(routes=[Route("/", answer, methods=["POST"])])
    async with AsgiWire(app, timeout=5) as wire:
        assert (await wire.exchange(request(target="/"), scope="a-check")).status == 200
        assert not done
        released.set()
        await asyncio.sleep(0.01)
        assert done == [True]


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("POST", 204), ("POST", 304)])
async def test_an_answer_that_has_no_body_on_a_connection_has_none_here(method: str, status: int) -> None:
    app = sending(start((b"content-length", b"900"), status=status), part(b"{}"))
    exchange = await exchanged(app, request(method))
    assert exchange.answer is not None
    assert exchange.answer.body == b""


@pytest.mark.parametrize("odd", [{"needs_socket": True}, {"withhold": 1}], ids=["needs-socket", "withhold"])
async def test_a_request_that_needs_a_connection_is_a_fault_of_the_check(odd: dict[str, Any]) -> None:
    asked = Request(raw=b"{}", method="GET", target="/", fields=(), **odd)
    with pytest.raises(ValueError, match="needs a real connection"):
        await exchanged(sending(start(), part(b"")), asked)


# --- Lifespan


async def test_the_application_is_started_once_and_its_state_reaches_each_request() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        events.append("start")
        yield {"number": 7}
        events.append("end")

    async def answer(asked: StarletteRequest) -> JSONResponse:
        return JSONResponse(asked.state.number)

    app = Starlette(routes=[Route("/", answer, methods=["POST"])], lifespan=lifespan)
    async with AsgiWire(app) as wire:
        first = await wire.exchange(request(target="/"), scope="a-check")
        second = await wire.exchange(request(target="/"), scope="a-check")
        assert events == ["start"]
    assert events == ["start", "end"]
    assert first.answer == second.answer
    assert first.answer is not None
    assert first.answer.body == b"7"


async def test_an_application_that_cannot_start_is_unreachable() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    async with AsgiWire(app) as wire:
        exchange = await wire.exchange(request(), scope="a-check")
        assert wire.trouble == "the application answered lifespan.startup.failed"
    assert exchange.failure is Failure.UNREACHABLE


async def test_an_application_that_raises_at_the_lifespan_has_none_and_answers_all_the_same() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise LookupError(scope["type"])
        await send(start())
        await send(part(b"{}"))

    assert (await exchanged(app)).status == 200


async def test_a_wire_that_was_not_opened_starts_the_application_at_the_first_request() -> None:
    wire = AsgiWire(sending(start(), part(b"{}")))
    assert (await wire.exchange(request(), scope="a-check")).status == 200
    await wire.aclose()
