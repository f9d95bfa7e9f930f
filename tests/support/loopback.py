"""A small HTTP/1.1 server on a free loopback port, in the test's own event loop, that can misbehave.

A handler gets each request and gives an `Answer`, or a coroutine function that writes to the socket as it
likes: an endless body, a byte now and then, half a response.

    async with Loopback(lambda request: Answer(200, b"{}")) as server:
        ...  # call server.url; then look at server.seen
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

__all__ = ["Answer", "Loopback", "Seen", "free_port", "json_answer"]

MAX_BODY = 64 * 1024 * 1024


@dataclass(frozen=True)
class Seen:
    """A request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What the server answers."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


Write = Callable[[asyncio.StreamWriter], Awaitable[None]]
Handled = Answer | Write
Handler = Callable[[Seen], Handled | Awaitable[Handled]]


def json_answer(value: Any, status: int = 200, **headers: str) -> Answer:
    """An answer with a JSON body."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"} | named)


def free_port() -> int:
    """A loopback port on which nobody listens now."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Loopback:
    """The server. `seen` holds every request in the order of its arrival."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.seen: list[Seen] = []
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=256 * 1024)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stop listening, and drop every connection."""
        if self._server is None:
            return
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._served(reader, writer):
                    pass
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; whether another may follow on this connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        request_line, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, path, _ = request_line.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        seen = Seen(method, path, headers, body)
        self.seen.append(seen)
        handled = self.handler(seen)
        if inspect.isawaitable(handled):
            handled = await handled
        if not isinstance(handled, Answer):
            await handled(writer)
            await writer.drain()
            return False
        fields = {"Content-Length": str(len(handled.body))} | dict(handled.headers)
        text = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {handled.status} Some Reason\r\n{text}\r\n".encode("latin-1") + handled.body)
        await writer.drain()
        return True
