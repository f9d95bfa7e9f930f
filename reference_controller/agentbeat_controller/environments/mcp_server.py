"""The Model Context Protocol for one request: a server of its own, made from one caller's tools.

Each POST gets a new server, which knows who calls and for which run, answers one message in one JSON body and
is gone. So there is no session: nothing is kept between two requests, and nothing of one caller can be in
another's way. Both of the protocol's ways to begin are answered, `initialize` and `server/discover`.

A refused call is a tool error, which an Agent's model reads: `isError`, with the same envelope and code as
the route's refusal. So is a tool that has run and failed, with the answer that the route gives. What is no
call of a tool at all, such as a name that is not there, is an error of the protocol with the code in `data`.
Nothing of a fault's own words leaves the process.

This module needs the extra `mcp`; `mcp_route` imports it when it is first asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from sqlalchemy.exc import SQLAlchemyError

from agentbeat_protocol import ProtocolError

from .containment import in_thread
from .mcp_tools import CallerTools, UnknownToolError, tool_members
from .operations import Outcome, Refusal, refused

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["answer"]

_log = logging.getLogger("agentbeat.controller")

T = TypeVar("T")


async def answer(
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    name: str,
    version: str,
    tools: CallerTools,
    max_bytes: int,
) -> None:
    """Answer one POST.

    Args:
        name: the application's name and `version` its version, which the server gives as its own.
        max_bytes: of the body, which has been read and found to be strict JSON before.
    """

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        listed = await _in_thread(tools.listed)
        if isinstance(listed, Outcome):
            error = listed.body["error"]
            raise MCPError(INVALID_REQUEST, error["message"], {"code": error["code"]})
        return ListToolsResult(tools=[Tool.model_validate(tool_members(each)) for each in listed])

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        return _result(await _in_thread(lambda: tools.call(params.name, params.arguments or {})))

    server: Server[Any] = Server(
        name,
        version=version,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # No tool has arguments that stand in a header.
        get_tool_input_schema=lambda _name: None,
    )
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=max_bytes
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)


async def _in_thread(work: Callable[[], T]) -> T | Outcome:
    """What `work` gives in a worker thread, or the refusal that it ends in.

    Raises:
        MCPError: for what is no refusal of a call.
    """
    try:
        return await in_thread(work)
    except UnknownToolError:
        raise MCPError(INVALID_PARAMS, "no such tool", {"code": "not_found"}) from None
    except Refusal as refusal:
        return refused(refusal)
    except ProtocolError as error:
        return Outcome(status=error.status, body=error.envelope())
    except SQLAlchemyError:
        return refused(Refusal("controller_unavailable", "the database did not answer"))
    except Exception:  # noqa: BLE001 - the library would tell the client a fault's own words
        _log.exception("a call over MCP failed")
        raise MCPError(INTERNAL_ERROR, "the application failed", {"code": "internal_error"}) from None


def _result(outcome: Outcome) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=outcome.content.decode())],
        structured_content=outcome.body if isinstance(outcome.body, dict) else None,
        is_error=outcome.failed or outcome.status >= 400,
    )
