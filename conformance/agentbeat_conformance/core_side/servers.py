"""Loopback HTTP servers that note everything that reaches them, and answer as hostile as they are told.

The servers of one scenario share a `Journal`: one count of order over all of them, so that it can be said
what was asked before what. On a busy machine somebody else may try a port that was free a moment ago: what
names neither the run nor a secret of the scene is answered, and not noted.

A request is read as HTTP/1.1 demands (chunked bodies and `Expect` too). An answer is a `Delivery`, which
writes to the connection as it likes.

    async with HostileTarget(journal, secret="…") as target:
        ...  # somebody calls target.port
    journal.of("target")
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Protocol, Self

import h11

from agentbeat_conformance.exchanges import Fields

__all__ = ["Arrival", "Delivery", "Journal", "Line", "Server"]

_MAX_REQUEST: Final = 32 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class Arrival:
    """A request as it arrived.

    Attributes:
        server: the name of the server that it reached.
        order: its place among everything that the journal counts.
        answered: the place at which its answer had been handed over; None while it has not.
        fields: the header fields in order, names in lower case.
    """

    server: str
    order: int
    method: str
    path: str
    fields: Fields
    body: bytes
    answered: int | None = None

    def value(self, name: str) -> str | None:
        """The one value of a header field; None when it is absent or repeated."""
        values = [value for field_name, value in self.fields if field_name == name]
        return values[0] if len(values) == 1 else None


@dataclass(slots=True)
class Journal:
    """What reached the servers of one scenario.

    Attributes:
        tokens: what a request names one of when it belongs here: the run id and the secrets. None: all do.
        written: the most bytes that one connection of each server took.
        faults: what went wrong in the servers themselves.
    """

    tokens: tuple[str, ...] = ()
    arrivals: list[Arrival] = field(default_factory=list)
    written: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    _order: int = 0

    def next(self) -> int:
        """The next place in the order."""
        self._order += 1
        return self._order

    def note(self, arrival: Arrival) -> None:
        """Note a request, if it belongs here."""
        text = "\n".join((arrival.path, *(value for _, value in arrival.fields)))
        named = (token in text or token.encode() in arrival.body for token in self.tokens)
        if not self.tokens or any(named):
            self.arrivals.append(arrival)

    def of(self, server: str) -> list[Arrival]:
        """The requests that reached a server, in order."""
        return [arrival for arrival in self.arrivals if arrival.server == server]


class Line:
    """The writing side of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.written = 0

    async def write(self, raw: bytes) -> None:
        """Write, and wait until there is room for more.

        Raises:
            ConnectionError: the other side has gone.
        """
        self._writer.write(raw)
        self.written += len(raw)
        await self._writer.drain()

    def abort(self) -> None:
        """End the connection at once, whatever is still to be written."""
        self._writer.transport.abort()

    async def gone_within(self, seconds: float) -> bool:
        """Whether the other side ends the connection within `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while await self._reader.read(65536):
                    pass
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True


class Delivery(Protocol):
    """An answer on its way."""

    async def send(self, line: Line) -> None:
        """Write it; the connection is closed afterwards."""
        ...


class Server:
    """A server on a loopback port. What it answers is for its subclasses to say.

    Args:
        name: what the journal calls it.
        host, port: where to listen; port 0 is any free one.
    """

    def __init__(self, name: str, journal: Journal, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.name = name
        self.journal = journal
        self.host = host
        self.port = port
        #: Whether anybody listens. Else the port is kept, and a connection is refused.
        self.listens = True
        self._dead = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._socket: socket.socket | None = None

    def answer(self, arrival: Arrival) -> Delivery:
        """The answer to a request."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._socket = _bound(self.host, self.port)
        self.port = self._socket.getsockname()[1]
        if self.listens:
            self._server = await asyncio.start_server(self._connected, sock=self._socket)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._socket is not None:
            self._socket.close()

    def die(self) -> None:
        """From now on every connection is ended at once. The port is kept: nobody else may answer at it."""
        self._dead = True

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a connection is served by a task")
        self._tasks.add(task)
        line = Line(reader, writer)
        try:
            arrival = None if self._dead else await self._read(reader, writer)
            if arrival is None:
                line.abort()
            else:
                self.journal.note(arrival)
                await self.answer(arrival).send(line)
                arrival.answered = self.journal.next()
        except (ConnectionError, h11.RemoteProtocolError, asyncio.CancelledError):
            pass  # The other side has gone or speaks no HTTP, or the scene is over.
        except Exception as error:  # noqa: BLE001  our own fault, told as one
            self.journal.faults.append(f"{self.name}: {type(error).__name__}: {error}")
        finally:
            self._tasks.discard(task)
            self.journal.written[self.name] = max(self.journal.written[self.name], line.written)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Arrival | None:
        """One whole request; None when the connection ends before."""
        connection = h11.Connection(h11.SERVER)
        request: Any = None
        body = bytearray()
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if connection.they_are_waiting_for_100_continue:
                    go_on = h11.InformationalResponse(status_code=100, headers=[])
                    writer.write(connection.send(go_on) or b"")
                connection.receive_data(await reader.read(65536))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > _MAX_REQUEST:
                    return None
            elif isinstance(event, h11.EndOfMessage):
                return self._arrival(request, bytes(body))
            else:
                return None

    def _arrival(self, request: Any, body: bytes) -> Arrival:
        return Arrival(
            server=self.name,
            order=self.journal.next(),
            method=request.method.decode("ascii"),
            path=request.target.decode("ascii"),
            fields=tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers),
            body=body,
        )


def _bound(host: str, port: int) -> socket.socket:
    """A bound socket; to an IPv4-mapped address too, which asyncio by itself does not listen on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if port:
            # One that was in use a moment ago will do. A free one is ours alone, whether we listen or not.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if "ffff" in host else 1)
        bound.bind((host, port))
        bound.setblocking(False)
    except OSError:
        bound.close()
        raise
    return bound
