"""HTTP/1.1 on one connection: uvicorn's httptools protocol, with the bounds that a public port needs.

What it adds:

- The parser's own refusals are answered in the protocol's shape (INV-10); so are a head over its bounds (431)
  and a head or body that does not come in time (408).
- One request at a time. What a client sends behind a request that has no answer yet is not looked at; the
  connection is closed after that answer (RFC 9112, section 9.3.2 leaves that open).
- An answer that comes before its request's end closes the connection, but gently: we stop sending, and throw
  away what still comes in for a bounded while. A plain close would make the kernel reset the connection, and
  the client could lose the answer.
- A client that has asked may close its side: a whole request still gets its answer, part of one is 400. To
  uvicorn the client would be gone, and the answer to a run that cannot be repeated would be lost.
- Trailer fields are no header fields: uvicorn would add them to the scope that the application has judged.
- A connection whose client takes nothing of its answer for `idle_timeout` is cut.
"""

from __future__ import annotations

import asyncio
import http
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn, cast

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from agentbeat_sdk.answers import Answer, RefusedError
from agentbeat_sdk.gentle_transports import GentleTransport
from agentbeat_sdk.limits import Limits

__all__ = ["LimitedConfig", "LimitedProtocol"]


class LimitedConfig(Config):
    """uvicorn's configuration, with our limits beside it."""

    limits: Limits


# RFC 9112, section 3.2: where the request's target is a URL, it is one that this server may be asked for.
_HTTP_URL: Final = re.compile(rb"https?://[^/?#@]+(?:[/?]|$)", re.IGNORECASE)

# The states of a connection. Constants of the module, for they are asked for with every header field.
_WAITING: Final = "between two requests"
_HEAD: Final = "a head has begun"
_BODY: Final = "the head is complete, the body is not"
_ANSWER: Final = "the request is complete, its answer is not"


class LimitedProtocol(HttpToolsProtocol):
    """One connection. uvicorn makes it, with a `LimitedConfig`."""

    def __init__(
        self,
        config: LimitedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = config.limits
        self.timeout_keep_alive = config.limits.idle_timeout  # type: ignore[assignment]
        self._retry = ((b"retry-after", b"%d" % config.limits.retry_after),)
        self._state: str = _WAITING
        self._deadline: asyncio.TimerHandle | None = None
        self._refusal: RefusedError | None = None
        self._fields = 0  # header and trailer fields of this request
        self._head_bytes = 0  # bytes in its line and fields
        self._raw_bytes = 0  # bytes that came in since the last request, while no head is complete
        self._body_begun = False  # whether the deadline of its body runs
        self._keep_alive = False  # whether the connection may stay once the body is complete
        self._deaf = False  # whether what comes in is thrown away
        self._thrown = 0  # bytes thrown away
        self._unsent = -1  # bytes of the answer that were still to send at the last look

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected: its first head must come in time."""
        self._socket = transport
        self._gentle = GentleTransport(transport, self._close)
        super().connection_made(cast(asyncio.Transport, self._gentle))
        self._arm(self._limits.head_timeout, self._head_is_late)
        if len(self.connections) > self._limits.max_connections:
            self._write(RefusedError("target_busy", "too many connections", self._retry).answer())
            self._close_now()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended; uvicorn tells the application."""
        self._disarm()
        self._gentle.closed = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes have come in: they are parsed, or thrown away after the last answer."""
        if self._deaf:
            self._throw_away(len(data))
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # the request was complete; nothing is upgraded, and nothing may follow it here
        except httptools.HttpParserError:
            self._unreadable()
        # The usual request comes in whole, and needs no deadline.
        if self._state in (_WAITING, _HEAD) and not self._deaf:
            if self._raw_bytes == 0:
                self._arm(self._limits.head_timeout, self._head_is_late)
            self._raw_bytes += len(data)
            if self._raw_bytes > self._limits.max_head_bytes:
                self._refuse(self._head_too_large())
        elif self._state is _BODY and not self._body_begun and not self._deaf:
            self._body_begun = True
            self._arm(self._limits.body_timeout, self._body_is_late)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more, but it may still read: whether the connection stays open for that."""
        begun = self._state is _BODY and self.cycle.response_started
        if (begun or self._state is _ANSWER) and not self._gentle.closed:
            self.cycle.keep_alive = False
            return True
        if self._state in (_HEAD, _BODY) and not self._deaf:
            self._refuse(RefusedError("invalid_request", "expected the whole request"))
        self._close_now()
        return False

    def _throw_away(self, size: int) -> None:
        self._thrown += size
        if not self._gentle.closed:
            # An answer is still to come. Until then the client may wait with its further requests.
            self.flow.pause_reading()
        elif self._thrown > self._limits.early_answer_bytes:
            self._close_now()

    def shutdown(self) -> None:
        """The server stops: a request that is not complete yet is not waited for."""
        if self._state is _BODY and not self._deaf:
            self._refuse(RefusedError("target_draining", "the Target is stopping", self._retry))
        else:
            super().shutdown()

    # What the parser sees

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        if self._state is not _WAITING:
            self._fail(RefusedError("invalid_request", "expected one request at a time"))
        self._state = _HEAD
        self._fields = self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A piece of the request's target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A whole field: of the head, or a trailer, which is counted and left out."""
        self._fields += 1
        self._count(len(name) + len(value) + 4)
        if self._state is _HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete: the application begins."""
        if b"#" in self.url:
            self._fail(RefusedError("invalid_request", "expected a target without a fragment"))
        upgrade = self.parser.should_upgrade()
        if upgrade and any(name in (b"content-length", b"transfer-encoding") for name, _ in self.headers):
            # The parser would take the body for another protocol's first bytes.
            self._fail(RefusedError("invalid_request", "expected no Upgrade of a request with a body"))
        # RFC 9110, section 10.1.1: HTTP/1.0 knows no interim answers.
        self.expect_100_continue &= self.parser.get_http_version() != "1.0"
        super().on_headers_complete()
        if not self.url.startswith(b"/") and not _HTTP_URL.match(self.url):
            # As a whole it is the path of no route, which is found out behind the secret.
            self.scope["path"] = self.url.decode("latin-1")
        self._gentle.request = self.cycle
        self._state = _BODY
        self._raw_bytes, self._body_begun = 0, False
        # An answer that comes before the body's end closes the connection; on_message_complete lifts this.
        self._keep_alive = self.cycle.keep_alive and not upgrade
        self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """The request is complete."""
        super().on_message_complete()
        self._state = _ANSWER
        self._disarm()
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._keep_alive

    def on_response_complete(self) -> None:
        """The answer was given to the transport."""
        self._gentle.flush()
        super().on_response_complete()  # which sets the deadline of an idle connection
        if not self.transport.is_closing():
            self._state = _WAITING
            self._raw_bytes, self._unsent = 0, -1

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._limits.max_head_bytes or self._fields > self._limits.max_header_fields:
            self._fail(self._head_too_large())

    def _fail(self, refusal: RefusedError) -> NoReturn:
        """Stop the parser from within one of its callbacks; it reports that as an error of its own."""
        self._refusal = refusal
        raise refusal

    def _head_too_large(self) -> RefusedError:
        most = f"{self._limits.max_head_bytes} bytes of head and {self._limits.max_header_fields} fields"
        return RefusedError("request_header_too_large", f"expected at most {most}")

    # Refusals of the server's own

    def _unreadable(self) -> None:
        """The parser has given up."""
        if self._state is _ANSWER:
            # It did so behind a complete request, which still gets its answer.
            self._deaf = True
            self.cycle.keep_alive = False
            return
        malformed = RefusedError("invalid_request", "expected a well-formed HTTP/1.1 request")
        self._refuse(self._refusal or malformed)

    def _head_is_late(self) -> None:
        if self._state is _WAITING and self._raw_bytes == 0:
            self._close_now()  # nothing was asked
        else:
            self._refuse(RefusedError("request_timeout", "expected the whole head sooner"))

    def _body_is_late(self) -> None:
        self._refuse(RefusedError("request_timeout", "expected the whole body sooner"))

    def _refuse(self, refusal: RefusedError) -> None:
        """Answer in the application's place, then close. An application that has begun sees a disconnect."""
        begun = self._state is _BODY
        if not begun or not self.cycle.response_started:
            self._write(refusal.answer())
        if begun:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._deaf = True
        self._gentle.close()

    def _write(self, answer: Answer) -> None:
        fields = (*self.server_state.default_headers, *answer.headers, (b"connection", b"close"))
        status = b"HTTP/1.1 %d %s" % (answer.status, http.HTTPStatus(answer.status).phrase.encode())
        lines = [status, *(b"%s: %s" % field for field in fields), b"", b""]
        self._socket.write(b"\r\n".join(lines) + answer.body)

    # The end of the connection

    def _close(self) -> None:
        """Close after what was written; gently while the client may still be sending."""
        if self._gentle.closed:
            return
        if self._deaf or self._state is _BODY:
            self._gentle.closed = self._deaf = True
            if self._socket.can_write_eof():
                self._socket.write_eof()
            self.flow.resume_reading()
            self._arm(self._limits.early_answer_seconds, self._close_now)
        else:
            self._close_now()

    def _close_now(self) -> None:
        self._gentle.closed = self._deaf = True
        self._disarm()
        self._socket.close()
        if self._socket.get_write_buffer_size():
            self._arm(self._limits.idle_timeout, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        """Nothing has come in for a while: wait on only for a client that still takes its answer."""
        unsent = self._socket.get_write_buffer_size()
        if unsent and unsent == self._unsent:
            self._socket.abort()
        elif unsent:
            self._unsent = unsent
            self._arm(self._limits.idle_timeout, self.timeout_keep_alive_handler)
        else:
            self._close_now()

    def _arm(self, seconds: float, late: Callable[[], None]) -> None:
        """Call `late` in a while, unless another deadline or none takes its place."""
        self._disarm()
        self._deadline = self.loop.call_later(seconds, late)

    def _disarm(self) -> None:
        self._unset_keepalive_if_required()
        if self._deadline is not None:
            self._deadline.cancel()
