"""What stands in front of either plane: bounds of a request, one form of refusal, no stack trace to anyone.

`guarded` wraps an ASGI application:

- a head that two readers could read differently is 400, one beyond its bounds 431, and any other fault that
  nobody has answered is 500 `internal_error`;
- each answer is `Cache-Control: no-store` and `X-Content-Type-Options: nosniff` (INV-11);
- an answer that comes before the body's end is sent at once; then the connection is closed, after a bounded
  time in which the client may stop sending and read.

`read_body` reads a bounded body (413, 415, 408). `refusal` is a `ProtocolError` as a response (INV-10).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from agentbeat_controller.framing import body_length, check_framing
from agentbeat_controller.refusals import RetryLaterError
from agentbeat_protocol import ProtocolError, check_media_type, error_envelope, status_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from agentbeat_controller.limits import ControllerLimits

__all__ = ["guarded", "header", "json_response", "read_body", "refusal"]

_log = logging.getLogger("agentbeat.controller")

_EVERY_ANSWER: Final[Mapping[bytes, bytes]] = {
    b"cache-control": b"no-store",
    b"x-content-type-options": b"nosniff",
}


def json_response(content: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON bytes as a response; they go out as they are."""
    return Response(content, status, dict(headers or {}), media_type="application/json")


def refusal(error: ProtocolError, *, headers: Mapping[str, str] | None = None) -> Response:
    """The response that says why: status, envelope and the headers that belong to the code."""
    found = dict(headers or {})
    if error.code == "unauthorized":
        found["WWW-Authenticate"] = "Bearer"
    if isinstance(error, RetryLaterError):
        found["Retry-After"] = str(error.retry_after)
    return json_response(json.dumps(error.envelope()).encode(), status=error.status, headers=found)


def header(scope: Scope, name: bytes) -> str | None:
    """A header's value if it stands there once; none or several are None."""
    values = [value for key, value in scope["headers"] if key.lower() == name]
    return values[0].decode("latin-1") if len(values) == 1 else None


async def read_body(scope: Scope, receive: Receive, *, max_bytes: int, seconds: float) -> bytes:
    """The whole body of a JSON request.

    Raises:
        ProtocolError: `unsupported_media_type`, `request_too_large` (as soon as it is known),
            `request_timeout`, or `invalid_request` for a client that has gone.
    """
    check_media_type(header(scope, b"content-type"))
    if (body_length(scope) or 0) > max_bytes:
        raise _too_large(max_bytes)
    try:
        async with asyncio.timeout(seconds):
            return await _read(receive, max_bytes)
    except TimeoutError:
        raise ProtocolError(
            "INV-7", code="request_timeout", got="a slow body", expected=f"the body within {seconds} seconds"
        ) from None


async def _read(receive: Receive, max_bytes: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ProtocolError("INV-7", code="invalid_request", got="a part", expected="the whole body")
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        if not message.get("more_body", False):
            return bytes(body)


def _too_large(max_bytes: int) -> ProtocolError:
    return ProtocolError(
        "INV-7", code="request_too_large", got="a longer body", expected=f"at most {max_bytes} bytes"
    )


def guarded(app: ASGIApp, limits: ControllerLimits) -> ASGIApp:
    """`app` behind the rules of this module; anything but HTTP goes through as it is."""

    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, limits)
        try:
            refused = _refused_head(scope, limits)
            await (refused or app)(scope, exchange.receive, exchange.send)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException:  # an application may be somebody else's, and call `sys.exit`
            _log.exception("a call failed")
            if not exchange.started:
                await _error("internal_error", "the Controller failed")(
                    scope, exchange.receive, exchange.send
                )
            elif not exchange.finished:
                raise  # the server cuts the connection: half an answer must not look like a whole one

    return front


def _refused_head(scope: Scope, limits: ControllerLimits) -> Response | None:
    fields: list[tuple[bytes, bytes]] = scope["headers"]
    size = sum(len(name) + len(value) for name, value in fields)
    size += len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"")
    if len(fields) > limits.max_header_fields or size > limits.max_head_bytes:
        return _error("request_header_too_large", "expected a shorter head")
    try:
        check_framing(scope)
    except ProtocolError as error:
        return refusal(error)
    return None


def _error(code: str, message: str) -> Response:
    return json_response(json.dumps(error_envelope(code, message)).encode(), status=status_of(code))


class _Exchange:
    """One request and its answer, watched on their way through."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: ControllerLimits) -> None:
        self._receive = receive
        self._send = send
        self._limits = limits
        names = {name.lower(): value for name, value in scope["headers"]}
        #: Whether there is body left that nobody has read.
        self._unread = b"transfer-encoding" in names or names.get(b"content-length", b"0").strip() != b"0"
        self.started = False
        self.finished = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            self._unread = False
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            await self._send({**message, "headers": self._headers(message)})
            return
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if last and self._unread:
            # The whole answer is out; only its end, on which the server closes, waits for the client.
            await self._send({**message, "more_body": True})
            await self._drain()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        self.finished = last
        await self._send(message)

    def _headers(self, message: Message) -> list[tuple[bytes, bytes]]:
        given = list(message.get("headers", ()))
        names = {name.lower() for name, _ in given}
        given += [(name, value) for name, value in _EVERY_ANSWER.items() if name not in names]
        if self._unread:
            given.append((b"connection", b"close"))
        return given

    async def _drain(self) -> None:
        left = self._limits.early_answer_bytes
        try:
            async with asyncio.timeout(self._limits.early_answer_seconds):
                while self._unread and left > 0:
                    message = await self.receive()
                    left -= len(message.get("body", b""))
        except TimeoutError:
            return
