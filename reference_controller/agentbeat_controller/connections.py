"""One HTTP/1.1 connection: uvicorn's httptools protocol, with the bounds that a port needs.

uvicorn waits for a head as long as the client likes, keeps all of it, and answers what the parser refuses in
plain text. Here:

- a head that does not come in time is 408, one beyond its bounds 431, anything that the parser refuses 400,
  each with the envelope of every refusal (INV-10), and the connection ends;
- a client is one of a bounded number: the connections of one plane never take all files of the process;
- one request at a time: what comes behind a request that has no answer yet is thrown away, and the connection
  ends after that answer. Nothing is written into another request's answer;
- a client that has asked may close its side: a whole request still gets its answer;
- trailer fields are no header fields: uvicorn would add them to a head that has been judged already;
- nothing is upgraded: the request is served as it is and ends the connection, with a body it is 400.

How long a body may take is the application's business (`front.read_body`).
"""

from __future__ import annotations

import asyncio
import http
import json
import re
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from agentbeat_controller.limits import ControllerLimits
from agentbeat_protocol import error_envelope, status_of

__all__ = ["BoundedConfig", "BoundedProtocol"]

#: RFC 9112, section 3.2: a path, `*`, or a URL that this server may be asked for; none with a fragment.
_TARGET: Final = re.compile(rb"(?:/[^#]*|\*|https?://[^/?#@]+(?:[/?][^#]*)?)", re.IGNORECASE)


class BoundedConfig(uvicorn.Config):
    """uvicorn's configuration, with our limits beside it."""

    limits: ControllerLimits


class _RefusedError(Exception):
    """A head that the parser takes and we do not; raised inside the parser, which then stops."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection. uvicorn makes it, with a `BoundedConfig`."""

    def __init__(
        self,
        config: BoundedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = config.limits
        self._deadline: asyncio.TimerHandle | None = None
        self._begun = False  # whether a byte of the head has come in
        self._in_head = True  # whether a head is waited for
        self._head_bytes = 0  # bytes of reads that held nothing but a part of this head
        self._deaf = False  # whether what comes in is thrown away

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected: its first head must come in time."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.max_connections:
            self._end("controller_unavailable", "too many connections", b"retry-after: 1\r\n")
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended; uvicorn tells the application."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes have come in: they are parsed, or thrown away before the last answer."""
        if self._deaf or self.transport.is_closing():
            return
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > self._limits.max_head_bytes:
                self._end("request_header_too_large", "expected a shorter head")
        if self._in_head or not self._answering():
            self._arm()  # empty lines between two requests have ended uvicorn's wait for the next one

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more, but may still read: whether the connection stays for an answer."""
        whole = self._answering() and not self.cycle.more_body
        if whole:
            self.cycle.keep_alive = False
        return whole

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words are for people at a screen
        """The parser has stopped. A whole request before the fault still gets its answer."""
        if self._answering() and (self.cycle.response_started or not self.cycle.more_body):
            self.cycle.keep_alive = False
            self._deaf = True
            self._disarm()
        else:
            self._end("invalid_request", "expected a valid HTTP/1.1 request")

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        if self._answering():
            raise _RefusedError
        self._begun = self._in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A whole field: of the head, or a trailer, which is left out."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete: the application begins."""
        upgrade = self.parser.should_upgrade()
        framed = any(name in (b"content-length", b"transfer-encoding") for name, _ in self.headers)
        if not _TARGET.fullmatch(self.url) or (upgrade and framed):
            # The parser would take the body behind an Upgrade for another protocol's first bytes.
            raise _RefusedError
        super().on_headers_complete()
        if upgrade:
            self.cycle.keep_alive = False
        self._begun = self._in_head = False
        self._disarm()

    def _answering(self) -> bool:
        """Whether a request waits for the end of its answer."""
        return self.cycle is not None and not self.cycle.response_complete

    def _arm(self) -> None:
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(self._limits.head_seconds, self._head_is_late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _head_is_late(self) -> None:
        self._deadline = None
        if self._begun:
            self._end("request_timeout", f"expected the head within {self._limits.head_seconds} seconds")
        else:
            self.transport.close()

    def _end(self, code: str, message: str, fields: bytes = b"") -> None:
        """Write a refusal and close."""
        self._disarm()
        self._deaf = True
        status = http.HTTPStatus(status_of(code))
        body = json.dumps(error_envelope(code, message)).encode()
        self.transport.write(
            b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode())
            + b"content-type: application/json\r\ncontent-length: %d\r\n" % len(body)
            + b"cache-control: no-store\r\nx-content-type-options: nosniff\r\nconnection: close\r\n"
            + fields
            + b"\r\n"
            + body
        )
        self.transport.close()
