"""The business plane over HTTP, and over MCP at `/mcp`: a table of operations behind a door.

In this order: the secret (401, before anything is read), the route (404, 405), the arguments, and then one
transaction of the door's in which the window is checked, the call runs and its line is written. Only
`GET /healthz` and `GET /openapi.json` need no secret; they say nothing about any record.

A body is read before the transaction begins, so a slow client holds no lease. The work runs in a worker
thread; a client that goes away does not stop it half-way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentbeat_protocol import RUN_ID_HEADER, ProtocolError, error_envelope, is_run_id

from .containment import in_thread
from .mcp_route import MCP_PATH, McpRoute, mcp_is_installed
from .mcp_tools import OperationsOf, Toolbox
from .operations import Operation, Outcome, Refusal, perform, status_of_code, written
from .requests import BusinessLimits, read_arguments

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from .base import BusinessDoor

__all__ = ["BUSINESS_LIMITS", "Caller", "business_plane", "call_through"]

BUSINESS_LIMITS: Final = BusinessLimits()

#: How a call goes through the door: the door, the Deployment, the run if one is named, the operation, and its
#: arguments or the refusal that reading them ended in. It raises what the door refuses with.
Caller = Callable[["BusinessDoor", str, str | None, Operation, BaseModel | Refusal], Outcome]


def call_through(
    door: BusinessDoor, deployment: str, run_id: str | None, operation: Operation, asked: BaseModel | Refusal
) -> Outcome:
    """One call in one transaction: for an application whose records are in the Controller's database."""
    with door.enter(deployment, run_id) as entry:
        return perform(entry, operation, asked)


_OPEN_PATHS: Final = frozenset({"/healthz", "/openapi.json"})
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def business_plane(
    *,
    name: str,
    operations: Iterable[Operation],
    document: Mapping[str, Any],
    door: BusinessDoor,
    limits: BusinessLimits = BUSINESS_LIMITS,
    call: Caller = call_through,
    operations_of: OperationsOf | None = None,
) -> ASGIApp:
    """The ASGI application that serves `operations` behind `door`.

    Args:
        name: the environment's name, shown by the health route.
        document: the OpenAPI document of the operations.
        call: takes a call through the door.
        operations_of: the operations of a profile, for the list of tools over MCP; None: all of them.

    Raises:
        ValueError: the document has no JSON form.
    """
    listed = tuple(operations)
    document_content = written(document)
    by_path: dict[str, list[Operation]] = defaultdict(list)
    for operation in listed:
        by_path[operation.path].append(operation)

    async def health(_request: Request) -> Response:
        return _answer(200, {"status": "ok", "environment": name})

    async def openapi(_request: Request) -> Response:
        return _sent(200, document_content)

    toolbox = Toolbox(operations=listed, operations_of=operations_of, door=door, caller=call)
    version = str(document.get("info", {}).get("version", ""))
    route = Route(MCP_PATH, McpRoute(toolbox, name=name, version=version, limits=limits))
    mcp = [route] if mcp_is_installed() else []
    app = Starlette(
        routes=[
            Route("/healthz", health),
            Route("/openapi.json", openapi),
            *mcp,
            *(Route(path, _Resource(here, door, limits, call)) for path, here in by_path.items()),
        ],
        exception_handlers={HTTPException: _on_http_exception, Exception: _on_exception},
    )
    app.router.redirect_slashes = False
    return _SecretGate(app, door, mcp_path=MCP_PATH if mcp else None)


class _SecretGate:
    """Nothing but the two open routes is looked at before the secret has been (401).

    Args:
        mcp_path: where the tools are served over MCP; None without the extra `mcp`.
    """

    def __init__(self, app: ASGIApp, door: BusinessDoor, *, mcp_path: str | None) -> None:
        self._app = app
        self._door = door
        self.mcp_path = mcp_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _OPEN_PATHS:
            given = Headers(scope=scope).getlist("authorization")
            try:
                secret = given[0] if len(given) == 1 else None
                deployment = await in_thread(lambda: self._door.authenticate(secret))
            except (ProtocolError, SQLAlchemyError) as error:
                await _on_refusal(error)(scope, receive, send)
                return
            scope.setdefault("state", {})["deployment"] = deployment
        await self._app(scope, receive, send)


class _Resource:
    """One path: its operations by method."""

    def __init__(
        self, operations: Iterable[Operation], door: BusinessDoor, limits: BusinessLimits, call: Caller
    ) -> None:
        self._operations: Mapping[str, Operation] = {each.method: each for each in operations}
        self._door = door
        self._limits = limits
        self._call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        operation = self._operations.get(request.method)
        if operation is None:
            allowed = ", ".join(sorted(self._operations))
            response = _error("method_not_allowed", "another method", {"Allow": allowed})
        else:
            response = await self._respond(request, operation)
        await response(scope, receive, send)

    async def _respond(self, request: Request, operation: Operation) -> Response:
        named = request.headers.getlist(RUN_ID_HEADER)
        if len(named) > 1:
            return _error("invalid_request", f"expected {RUN_ID_HEADER} once")
        if named and not is_run_id(named[0]):
            return _error("not_found", "no such run")
        run_id = named[0] if named else None
        arguments = await read_arguments(request, operation, self._limits)
        try:
            outcome = await in_thread(
                lambda: self._call(self._door, request.state.deployment, run_id, operation, arguments)
            )
        except (ProtocolError, SQLAlchemyError) as error:
            return _on_refusal(error)
        return _sent(outcome.status, outcome.content)


def _answer(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    return _sent(status, written(body), headers)


def _sent(status: int, content: bytes, headers: Mapping[str, str] | None = None) -> Response:
    return Response(content, status, {**_HEADERS, **(headers or {})}, media_type="application/json")


def _error(code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return _answer(status_of_code(code), error_envelope(code, message), headers)


def _on_refusal(error: ProtocolError | SQLAlchemyError) -> Response:
    """The door's refusal in the wire's words; a database's own words never leave the process."""
    if isinstance(error, SQLAlchemyError):
        return _error("controller_unavailable", "the database did not answer", {"Retry-After": "1"})
    headers = {
        "unauthorized": {"WWW-Authenticate": "Bearer"},
        "controller_unavailable": {"Retry-After": "1"},
    }
    return _answer(error.status, error.envelope(), headers.get(error.code))


async def _on_http_exception(_request: Request, error: Exception) -> Response:
    missing = isinstance(error, HTTPException) and error.status_code == 404
    if missing:
        return _error("not_found", "no such route")
    allow = (error.headers or {}).get("Allow", "GET") if isinstance(error, HTTPException) else "GET"
    return _error("method_not_allowed", "another method", {"Allow": allow})


async def _on_exception(*_: object) -> Response:
    return _error("internal_error", "the application failed")
