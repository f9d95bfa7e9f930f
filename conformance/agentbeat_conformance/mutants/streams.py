"""An ASGI application on real connections, small enough to be bent: one request, one answer, close.

A production server repairs, reorders and keeps alive; the mutants and oddities of the wire need one that does
what it is told. It reads the body only when the application asks for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Final

import h11

from agentbeat_conformance.mutants.registry import ASGIApp, Stream

__all__ = ["Connections", "Reading", "hang_up", "listening"]

_CHUNK: Final = 65_536
#: How much of an unread body is read and thrown away, so that closing does not take the answer with it.
_DISCARD: Final = 32 * 1024 * 1024
_DISCARD_SECONDS: Final = 2.0


class Reading:
    """The body of an ASGI request, read as far as somebody asks."""

    def __init__(self, receive: Any) -> None:
        self._receive = receive

    async def read(self, limit: int) -> bytes:
        """The body, or its first bytes once `limit` is reached."""
        parts: list[bytes] = []
        size = 0
        while size < limit:
            message = await self._receive()
            if message["type"] != "http.request":
                break
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if not message.get("more_body", False):
                break
        return b"".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """Serves one request on each connection.

    Args:
        app: the ASGI application.
        chunked: whether answers are sent in chunks, without a Content-Length.
        http_1_0: whether answers say HTTP/1.0 and end with the connection.
        title_case: whether field names are sent as `Content-Type`, not `content-type`.
    """

    app: ASGIApp
    chunked: bool = False
    http_1_0: bool = False
    title_case: bool = False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the connection and close it."""
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_CHUNK)
        exchange = _Exchange(self, connection, reader, writer)
        try:
            with contextlib.suppress(ConnectionError, h11.RemoteProtocolError):
                await exchange.serve()
        finally:
            await hang_up(reader, writer)

    def head(self, status: int, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
        """The head of an answer, as it is sent."""
        framed = [(name, value) for name, value in fields if not self.unframed or name != b"content-length"]
        if self.chunked and not self.http_1_0:
            framed.append((b"transfer-encoding", b"chunked"))
        framed.append((b"connection", b"close"))
        version = b"HTTP/1.0" if self.http_1_0 else b"HTTP/1.1"
        lines = [b"%s %d Answer" % (version, status)]
        lines += [b"%s: %s" % (name.title() if self.title_case else name, value) for name, value in framed]
        return b"\r\n".join([*lines, b"", b""])

    def part(self, data: bytes, *, last: bool) -> bytes:
        """A part of an answer's body, as it is sent."""
        if not self.chunked or self.http_1_0:
            return data
        return (b"%x\r\n%s\r\n" % (len(data), data) if data else b"") + (b"0\r\n\r\n" if last else b"")

    @property
    def unframed(self) -> bool:
        """Whether an answer goes out without its length."""
        return self.chunked or self.http_1_0


class _Exchange:
    def __init__(
        self,
        style: Connections,
        connection: h11.Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._style = style
        self._connection = connection
        self._reader = reader
        self._writer = writer

    async def serve(self) -> None:
        event = await self._next()
        if not isinstance(event, h11.Request):
            return
        path, _, query = event.target.partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": event.http_version.decode("ascii"),
            "method": event.method.decode("ascii"),
            "path": path.decode("latin-1"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": list(event.headers),
        }
        await self._style.app(scope, self._receive, self._send)

    async def _next(self) -> Any:
        """The next event of the request."""
        while True:
            event = self._connection.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._connection.they_are_waiting_for_100_continue:
                interim = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
                await self._write(self._connection.send(interim) or b"")
            self._connection.receive_data(await self._reader.read(_CHUNK))

    async def _receive(self) -> dict[str, Any]:
        event = await self._next()
        if isinstance(event, h11.Data):
            return {"type": "http.request", "body": bytes(event.data), "more_body": True}
        if isinstance(event, h11.EndOfMessage):
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            await self._write(self._style.head(message["status"], message["headers"]))
            return
        last = not message.get("more_body", False)
        await self._write(self._style.part(message.get("body", b""), last=last))

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Close a connection so that what was written arrives, though the request was not read to its end."""
    try:
        with contextlib.suppress(ConnectionError, TimeoutError):
            if writer.can_write_eof():
                writer.write_eof()
            async with asyncio.timeout(_DISCARD_SECONDS):
                left = _DISCARD
                while left > 0 and (data := await reader.read(_CHUNK)):
                    left -= len(data)
    finally:
        writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


@contextlib.asynccontextmanager
async def listening(stream: Stream) -> AsyncIterator[int]:
    """Serve connections on a free loopback port, the value, until the block ends; then drop those left."""
    connections: set[asyncio.Task[None]] = set()

    # No coroutine: it is called at once, so that no connection is missed that came just before the end.
    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.ensure_future(_served(stream, reader, writer))
        connections.add(serving)

        def ended(_: object) -> None:
            connections.discard(serving)
            # Here, for a task that is cancelled before it has begun closes nothing itself.
            writer.close()

        serving.add_done_callback(ended)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        left = tuple(connections)
        for serving in left:
            serving.cancel()
        for outcome in await asyncio.gather(*left, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        await server.wait_closed()


async def _served(stream: Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await stream(reader, writer)
