"""What `/mcp` refuses before any tool is asked: nothing is read without the secret, and nothing changes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentbeat_controller import ControllerLimits
from agentbeat_controller.environments import plane
from agentbeat_controller.environments.requests import BusinessLimits
from agentbeat_controller.front import guarded
from agentbeat_protocol import RUN_ID_HEADER
from support.asgi import Exchange
from support.desk import RUN, SECRET, Desk
from support.mcp_clients import message, over_http

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
CALL = {"name": "add_ticket_reply", "arguments": {"ticket_id": "TCK-2", "body": "On it."}}
DEEP = {"name": "get_ticket", "arguments": json.loads('{"a":' * 20 + "1" + "}" * 20)}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def app(desk: Desk) -> Any:
    return guarded(desk.environment.business_app(desk), ControllerLimits())


async def posted(desk: Desk, body: bytes, *, headers: Any = JSON, secret: str | None = SECRET) -> Any:
    async with over_http(app(desk), secret=secret, run_id=RUN) as http:
        return await http.post("/mcp", content=body, headers=headers)


@pytest.mark.parametrize("secret", [None, "another-secret", "control-secret"], ids=str)
async def test_without_the_secret_nothing_is_read_and_no_tool_is_listed(
    desk: Desk, secret: str | None
) -> None:
    before = desk.state()
    for body in (message(), message("initialize"), message("tools/call", CALL), b"{"):
        answer = await posted(desk, body, secret=secret)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "ticket" not in answer.text
    assert desk.state() == before


async def test_a_wrong_secret_is_refused_before_the_body_has_come(desk: Desk) -> None:
    head = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
    exchange = Exchange(desk.environment.business_app(desk), "POST", "/mcp", head)
    await exchange.run()
    assert (exchange.status, exchange.reads) == (401, 0)


UNREADABLE: dict[str, tuple[bytes, int, str]] = {
    "no JSON": (b"{", 400, "invalid_json"),
    "nothing": (b"", 400, "invalid_json"),
    "a name twice": (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', 400, "invalid_json"),
    "not a number": (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","x":NaN}', 400, "invalid_json"),
    "a byte order mark": (b"\xef\xbb\xbf" + message(), 400, "invalid_json"),
    "half a character": (message().replace(b"tools", b"\xff"), 400, "invalid_json"),
    "half a pair": (message().replace(b"tools", rb"\ud800"), 400, "invalid_json"),
    "too deep": (message("tools/call", DEEP), 400, "invalid_json"),
    "too long": (message("tools/call", {**CALL, "_meta": {"x": "y" * 65536}}), 413, "request_too_large"),
}


@pytest.mark.parametrize(("body", "status", "code"), UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_a_body_that_the_routes_would_not_read_is_refused(
    desk: Desk, body: bytes, status: int, code: str
) -> None:
    """INV-7, INV-8: with an error of JSON-RPC that has no id, and our code."""
    before = desk.state()
    answer = await posted(desk, body)
    assert answer.status_code == status
    assert answer.json()["id"] is None
    assert answer.json()["error"]["data"] == {"code": code}
    assert answer.headers["cache-control"] == "no-store"
    assert desk.state() == before


async def test_a_body_of_exactly_the_bound_is_taken(desk: Desk) -> None:
    padded = message("tools/call", CALL)
    padded += b" " * (BusinessLimits().body_bytes - len(padded))
    assert (await posted(desk, padded)).status_code == 200
    assert (await posted(desk, padded + b" ")).status_code == 413
    assert len(desk.state()["calls"]) == 1


NO_MESSAGE: dict[str, bytes] = {
    "a batch": b"[" + message("tools/call", CALL) + b"]",
    "an empty batch": b"[]",
    "a text": b'"tools/list"',
    "another version": message("tools/call", CALL, jsonrpc="1.0"),
    "no method": b'{"jsonrpc":"2.0","id":1}',
    "an id that is none": message("tools/call", CALL, id={"a": 1}),
    "arguments that are none": message("tools/call", {"name": "get_ticket", "arguments": ["TCK-2"]}),
    "no name": message("tools/call", {"arguments": {}}),
}


@pytest.mark.parametrize("body", NO_MESSAGE.values(), ids=NO_MESSAGE.keys())
@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28", "1999-01-01"])
async def test_what_is_no_message_of_the_protocol_calls_nothing(
    desk: Desk, body: bytes, version: str | None
) -> None:
    before = desk.state()
    answer = await posted(desk, body, headers=JSON | ({"MCP-Protocol-Version": version} if version else {}))
    assert answer.status_code in (200, 400)
    assert isinstance(answer.json()["error"]["code"], int)
    assert len(answer.content) < 2_000
    assert desk.state() == before


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "subscriptions/listen", "no/such"])
async def test_there_is_nothing_but_tools(desk: Desk, method: str) -> None:
    answer = await posted(desk, message(method))
    assert answer.json()["error"]["code"] in (-32601, -32602)


OTHER_REQUESTS: dict[str, tuple[str, dict[str, str], int, str]] = {
    "GET": ("GET", {"Accept": "text/event-stream"}, 405, "method_not_allowed"),
    "DELETE": ("DELETE", {"Mcp-Session-Id": "a"}, 405, "method_not_allowed"),
    "OPTIONS": ("OPTIONS", {}, 405, "method_not_allowed"),
    "a page": ("POST", JSON | {"Origin": "http://desk"}, 403, "invalid_request"),
    "a page of nowhere": ("POST", JSON | {"Origin": "null"}, 403, "invalid_request"),
    "a form": ("POST", JSON | {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
    "no type": ("POST", {"Content-Type": ""}, 415, "unsupported_media_type"),
}


@pytest.mark.parametrize(
    ("method", "headers", "status", "code"), OTHER_REQUESTS.values(), ids=OTHER_REQUESTS.keys()
)
async def test_only_a_plain_post_is_taken(
    desk: Desk, method: str, headers: dict[str, str], status: int, code: str
) -> None:
    """There is no stream to read, no session to end, and no web page that may call."""
    before = desk.state()
    async with over_http(app(desk), secret=SECRET, run_id=RUN) as http:
        answer = await http.request(method, "/mcp", content=message("tools/call", CALL), headers=headers)
    assert (answer.status_code, answer.json()["error"]["data"]) == (status, {"code": code})
    assert answer.headers.get("allow") == ("POST" if status == 405 else None)
    assert desk.state() == before


async def test_two_runs_in_one_request_are_refused(desk: Desk) -> None:
    before = desk.state()
    async with over_http(app(desk), secret=SECRET) as http:
        twice = [*JSON.items(), (RUN_ID_HEADER, RUN), (RUN_ID_HEADER, RUN)]
        answer = await http.post("/mcp", content=message("tools/call", CALL), headers=twice)
    assert (answer.status_code, answer.json()["error"]["data"]) == (400, {"code": "invalid_request"})
    assert desk.state() == before


async def test_an_answer_is_one_json_body_without_a_session(desk: Desk) -> None:
    """Whatever a client sends of a session, and without a word of greeting before."""
    for extra in ({}, {"Mcp-Session-Id": "made-up", "Last-Event-ID": "7"}):
        for body in (
            message(),
            message("tools/call", CALL),
            message("ping"),
            message("initialize", INITIALIZE),
        ):
            answer = await posted(desk, body, headers=JSON | extra)
            assert answer.status_code == 200, answer.text
            assert "result" in answer.json()
            assert answer.headers["content-type"] == "application/json"
            assert "mcp-session-id" not in answer.headers
    assert len(desk.state()["calls"]) == 2


INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a", "version": "1"},
}


async def test_a_notification_is_taken_and_does_nothing(desk: Desk) -> None:
    """A call without an id would have no answer, so it is no call."""
    before = desk.state()
    for method, params in (
        ("notifications/initialized", {}),
        ("notifications/cancelled", {"requestId": 1}),
        ("tools/call", CALL),
    ):
        body = {"jsonrpc": "2.0", "method": method, "params": params}
        answer = await posted(desk, json.dumps(body).encode())
        assert (answer.status_code, answer.content) == (202, b"")
    assert desk.state() == before


async def test_a_slow_body_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that says little holds neither a lease nor the plane."""
    desk = Desk(tmp_path)
    served = plane.business_plane(
        name="desk", operations=(), document={}, door=desk, limits=BusinessLimits(body_seconds=0.05)
    )
    head = [(name.lower().encode(), value.encode()) for name, value in JSON.items()]
    head.append((b"authorization", f"Bearer {SECRET}".encode()))
    exchange = Exchange(served, "POST", "/mcp", head, body=[b"{"])
    await asyncio.wait_for(exchange.run(), 10)
    assert (exchange.status, exchange.answer["error"]["data"]) == (408, {"code": "request_timeout"})
