"""Requests over real connections: each goes out byte for byte on a connection of its own.

    wire = SocketWire("http://127.0.0.1:8080")
    exchange = await wire.exchange(request, scope="HLT-1")

Whatever the other side does is an answer or a `Failure`, never an exception. Redirects are answers like any
other: nothing here follows one.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Final

from agentbeat_conformance.endpoints import Endpoint
from agentbeat_conformance.exchanges import MAX_ANSWER_BYTES, Answer, Exchange, Failure, Request
from agentbeat_conformance.wires.answers import AnswerReader, NoAnswerError
from agentbeat_conformance.wires.connections import Connection, connect

__all__ = ["TIMEOUT_SECONDS", "SocketWire"]

#: How long the wire waits for a whole answer, in seconds, when the request does not say.
TIMEOUT_SECONDS: Final = 120.0


class SocketWire:
    """Carries requests to a URL.

    Args:
        url: the endpoint's base URL, or a Target's invocation URL.
        timeout: seconds from connecting to the last byte of the answer.
        max_bytes: where reading a body stops.
        context: how to check certificates; None is the system's own trust.

    Attributes:
        trouble: why the endpoint could not be reached the last time, for people; None if it could.

    Raises:
        URLError: the URL is none (see `Endpoint.parse`).
    """

    has_sockets = True

    def __init__(
        self,
        url: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        max_bytes: int = MAX_ANSWER_BYTES,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.endpoint = Endpoint.parse(url)
        self.trouble: str | None = None
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._context = context

    async def exchange(self, request: Request, *, scope: str) -> Exchange:  # noqa: ARG002 - the Wire's signature
        """Send the request and wait for its answer (see `Wire`).

        Bytes that the request withholds are sent when a 100 (Continue) asks for them, else never: a request
        that was cut off is one that no server may run.
        """
        seconds = self._timeout if request.seconds is None else request.seconds
        outcome = await self._within(seconds, request)
        if isinstance(outcome, Failure):
            return Exchange(request=request, answer=None, failure=outcome)
        return Exchange(request=request, answer=outcome)

    async def _within(self, seconds: float, request: Request) -> Answer | Failure:
        connection: Connection | None = None
        try:
            async with asyncio.timeout(seconds):
                connection = await self._connect()
                return (
                    Failure.UNREACHABLE if connection is None else await self._converse(connection, request)
                )
        except TimeoutError:
            if connection is None:
                self.trouble = f"no connection within {seconds:g} seconds"
                return Failure.UNREACHABLE
            return Failure.TIMEOUT
        finally:
            if connection is not None:
                connection.close()

    async def _connect(self) -> Connection | None:
        try:
            connection = await connect(self.endpoint.origin, context=self._context)
        except (OSError, UnicodeError) as error:
            self.trouble = str(error)
            return None
        self.trouble = None
        return connection

    async def _converse(self, connection: Connection, request: Request) -> Answer | Failure:
        now = len(request.raw) - request.withhold
        sending = [asyncio.create_task(_send(connection, request.raw[:now]))]
        try:
            return await self._receive(connection, request, sending)
        finally:
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)

    async def _receive(
        self, connection: Connection, request: Request, sending: list[asyncio.Task[None]]
    ) -> Answer | Failure:
        reader = AnswerReader(request.method, max_bytes=self._max_bytes)
        withheld = request.withhold
        try:
            while True:
                try:
                    data = await connection.receive()
                except OSError:
                    data = b""
                answer = reader.feed(data)
                if answer is not None:
                    return answer
                if reader.go_on and withheld:
                    rest, withheld = request.raw[-withheld:], 0
                    sending.append(asyncio.create_task(_send(connection, rest, after=sending[-1])))
        except NoAnswerError as error:
            return error.failure


async def _send(connection: Connection, data: bytes, *, after: asyncio.Task[None] | None = None) -> None:
    if after is not None:
        await after
    try:
        await connection.send(data)
    except OSError:
        # The other side takes no more. Whether it has answered, the reading tells.
        return
