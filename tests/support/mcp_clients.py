"""The MCP library's own client, in process or over a socket, and plain POSTs of single messages."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agentbeat_controller.environments.operations import Operation
from agentbeat_protocol import RUN_ID_HEADER

__all__ = ["MODES", "headers", "http_request", "message", "over_http", "over_mcp", "refused_code"]

#: The ways in which a client may begin: the handshake, and the protocol without one.
MODES = ("legacy", "2026-07-28")


def headers(secret: str | None, run_id: str | None) -> dict[str, str]:
    """What every request to the business plane carries."""
    named = {RUN_ID_HEADER: run_id, "Authorization": secret and f"Bearer {secret}"}
    return {name: value for name, value in named.items() if value is not None}


@contextlib.asynccontextmanager
async def over_http(
    where: Any, *, secret: str | None, run_id: str | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    """A plain client of `where`: a URL, or an application in this process."""
    transport = None if isinstance(where, str) else httpx2.ASGITransport(where, raise_app_exceptions=False)
    base = where if isinstance(where, str) else "http://desk"
    async with httpx2.AsyncClient(
        transport=transport, base_url=base, headers=headers(secret, run_id), trust_env=False
    ) as http:
        yield http


@contextlib.asynccontextmanager
async def over_mcp(
    where: Any, *, secret: str | None, run_id: str | None = None, mode: str = "legacy"
) -> AsyncIterator[Client]:
    """The library's client of `where`, connected."""
    async with over_http(where, secret=secret, run_id=run_id) as http:
        transport = streamable_http_client(str(http.base_url.join("/mcp")), http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def message(method: str = "tools/list", params: Any = None, **changes: Any) -> bytes:
    """One request as bytes."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params})}
    return json.dumps(body | changes).encode()


def http_request(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The request to an operation's route that a call with these arguments is: for `client.request`."""
    rest = {name: value for name, value in arguments.items() if name not in operation.path_arguments}
    sent: dict[str, Any] = {"params": rest} if operation.method == "GET" else {"json": rest}
    path = operation.path.format(**{name: arguments[name] for name in operation.path_arguments})
    return {"method": operation.method, "url": path, **sent}


def refused_code(result: Any) -> str:
    """The code of a refused call."""
    assert result.is_error
    assert json.loads(result.content[0].text) == result.structured_content
    code: str = result.structured_content["error"]["code"]
    return code
