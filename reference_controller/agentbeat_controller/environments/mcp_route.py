"""`POST /mcp`: the business plane's tools over MCP's streamable HTTP, with the plane's own rules in front.

The secret has been checked by the time a request comes here (401). Then, in this order: the method (405:
there is no stream to GET and no session to DELETE), `Origin` (403: no browser's page calls this plane), the
run's header, the body's media type, size, time and strict JSON. Only then is the MCP library asked.

Each answer is one JSON body. Refusals of this module are errors of JSON-RPC without an id, as the protocol
has it, with the plane's code in `data`.

The library is the extra `mcp`. It is looked for when the plane is made, and loaded, in a worker thread, when
the route is first used: a Controller that nobody calls over MCP does not pay for it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from agentbeat_controller.front import read_body
from agentbeat_protocol import RUN_ID_HEADER, ProtocolError, read_json

from .mcp_tools import CallerTools, Toolbox
from .operations import status_of_code

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from agentbeat_protocol import JSONValue

    from .requests import BusinessLimits

__all__ = ["MCP_PATH", "McpRoute", "mcp_is_installed"]

MCP_PATH: Final = "/mcp"

#: The levels of a message around a tool's arguments: the message itself and `params`.
_ENVELOPE_DEPTH: Final = 2
#: JSON-RPC's codes for a body that is no JSON and for a request that cannot be taken.
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600

_Answer = Callable[..., Awaitable[None]]


def mcp_is_installed() -> bool:
    """Whether the extra `mcp` is there, in a version that this package knows; it is not loaded."""
    return importlib.util.find_spec("mcp") is not None and importlib.util.find_spec("mcp_types") is not None


class McpRoute:
    """The ASGI application of the route; `name` and `version` are those of the application it speaks for."""

    def __init__(self, toolbox: Toolbox, *, name: str, version: str, limits: BusinessLimits) -> None:
        self._toolbox = toolbox
        self._name, self._version = name, version
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope=scope)
        named = headers.getlist(RUN_ID_HEADER)
        if scope["method"] != "POST":
            response = _refused("method_not_allowed", "expected POST")
            response.headers["Allow"] = "POST"
        elif "origin" in headers:
            response = _refused("invalid_request", "expected no Origin", status=403)
        elif len(named) > 1:
            response = _refused("invalid_request", f"expected {RUN_ID_HEADER} once")
        else:
            try:
                raw = await self._body(scope, receive)
            except ProtocolError as error:
                response = _refused(error.code, error.envelope()["error"]["message"])
            else:
                await self._answer(scope, _replayed(raw, receive), send, named[0] if named else None)
                return
        await response(scope, receive, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The body's bytes, which are one message in strict JSON (INV-7, INV-8)."""
        limits = self._limits
        raw = await read_body(scope, receive, max_bytes=limits.body_bytes, seconds=limits.body_seconds)
        depth = limits.body_depth + _ENVELOPE_DEPTH
        _check_message(read_json(raw, max_bytes=limits.body_bytes, max_depth=depth))
        return raw

    async def _answer(self, scope: Scope, receive: Receive, send: Send, run_id: str | None) -> None:
        answer = await run_in_threadpool(_load)
        deployment = scope["state"]["deployment"]
        tools = CallerTools(toolbox=self._toolbox, deployment=deployment, run_id=run_id)
        await answer(
            scope,
            receive,
            send,
            name=self._name,
            version=self._version,
            tools=tools,
            max_bytes=self._limits.body_bytes,
        )


def _check_message(value: JSONValue) -> None:
    """One request or notification. The library would take a request with an odd id for a notification.

    Raises:
        ProtocolError: `invalid_request`.
    """
    match value:
        case {"jsonrpc": "2.0", "method": str(), **rest}:
            asked = rest.get("id", 0)
            if isinstance(asked, str | int) and not isinstance(asked, bool):
                return
    raise ProtocolError(
        "CTL-9", code="invalid_request", got="another body", expected="one JSON-RPC 2.0 request"
    )


def _load() -> _Answer:
    from .mcp_server import answer

    return answer


def _replayed(raw: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that has been read, and then what the server has to say."""
    messages: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def _refused(code: str, message: str, *, status: int | None = None) -> Response:
    number = _PARSE_ERROR if code == "invalid_json" else _INVALID_REQUEST
    error = {"code": number, "message": message, "data": {"code": code}}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status or status_of_code(code))
