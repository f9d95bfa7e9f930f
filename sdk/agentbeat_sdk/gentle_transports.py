"""A connection's transport that asks before it closes.

An ASGI server closes the transport when an answer is complete. Whether that may be done at once depends on
what the client is still sending, which the protocol knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

__all__ = ["GentleTransport"]


class GentleTransport:
    """A transport whose `close` is a function of the protocol's; everything else is the transport's own.

    Attributes:
        closed: whether the protocol has begun to close the connection; the protocol sets it.
    """

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self.close = close
        self.closed = False

    def is_closing(self) -> bool:
        """Whether nothing more is to be written."""
        return self.closed or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
