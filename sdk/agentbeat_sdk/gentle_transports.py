"""A connection's transport that asks before it closes, and writes an answer's head with its body.

An ASGI server closes the transport when an answer is complete. Whether that may be done at once depends on
what the client is still sending, which the protocol knows.

It also writes the head by itself. ASGI lets a head wait for the first piece of its body, and so does this
transport: a usual answer is one write to the socket, and one packet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

__all__ = ["GentleTransport"]

#: Bytes up to which a piece of the body is copied behind its head.
_COPIED: Final = 64 * 1024


class Answering(Protocol):
    """What is known of the request that is being answered."""

    response_started: bool


class GentleTransport:
    """A transport whose `close` is a function of the protocol's; but for writing, the rest is its own.

    Attributes:
        closed: whether the protocol has begun to close the connection; the protocol sets it.
        request: the request whose answer has not begun; the protocol sets it. What is written first once its
            answer has begun is the head.
    """

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self._close = close
        self._head = b""
        self.closed = False
        self.request: Answering | None = None

    def write(self, data: bytes) -> None:
        """Write, or hold the head of an answer until the next write, `flush` or `close`."""
        if self.request is not None and self.request.response_started:
            self.request = None
            self._head = data
        elif self._head and len(data) <= _COPIED:
            data, self._head = self._head + data, b""
            self._transport.write(data)
        else:
            self.flush()
            self._transport.write(data)

    def flush(self) -> None:
        """Write the head that has waited: the answer has no body, or it goes no further."""
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def close(self) -> None:
        """Let the protocol close the connection."""
        self.flush()
        self._close()

    def is_closing(self) -> bool:
        """Whether nothing more is to be written."""
        return self.closed or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
