"""Connections on bare sockets: sending and receiving go on side by side, and neither ends the other.

A server may answer before it has read the request, and close. The rest of the request then meets a closed
door, and asyncio's streams give up reading on the first failed write: the answer, which is already here,
would be lost. So these connections keep the two directions apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import Final, Protocol

from agentbeat_protocol import Origin

__all__ = ["Connection", "connect"]

_CHUNK: Final = 256 * 1024


class Connection(Protocol):
    """One connection to the endpoint."""

    async def send(self, data: bytes) -> None:
        """Send all of `data`.

        Raises:
            OSError: the other side takes no more.
        """
        ...

    async def receive(self) -> bytes:
        """The next bytes; empty at the end.

        Raises:
            OSError: the connection broke.
        """
        ...

    def close(self) -> None:
        """End it at once."""
        ...


async def connect(origin: Origin, *, context: ssl.SSLContext | None) -> Connection:
    """A connection to the origin, over TLS for https.

    Args:
        context: how to check certificates; None is the system's own trust.

    Raises:
        OSError: nobody answers, the name does not resolve, or TLS fails.
    """
    loop = asyncio.get_running_loop()
    places = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    trouble: OSError = OSError("the name has no address")
    for family, kind, protocol, _, address in places:
        try:
            sock = await _connect_socket(family, kind, protocol, address)
        except OSError as error:
            trouble = error
            continue
        plain = _PlainConnection(sock)
        if origin.scheme == "http":
            return plain
        return await _TLSConnection.open(plain, origin.host, context or ssl.create_default_context())
    raise trouble


async def _connect_socket(
    family: int, kind: int, protocol: int, address: tuple[object, ...]
) -> socket.socket:
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    return sock


class _PlainConnection:
    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._loop = asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._socket, data)

    async def receive(self) -> bytes:
        return await self._loop.sock_recv(self._socket, _CHUNK)

    def close(self) -> None:
        self._socket.close()


class _TLSConnection:
    """TLS between two buffers of memory, with a plain connection below them."""

    def __init__(self, below: _PlainConnection, host: str, context: ssl.SSLContext) -> None:
        self._below = below
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        # Records leave in the order in which they were made.
        self._leaving = asyncio.Lock()

    @classmethod
    async def open(cls, below: _PlainConnection, host: str, context: ssl.SSLContext) -> _TLSConnection:
        connection = cls(below, host, context)
        try:
            await connection._shake_hands()
        except BaseException:
            connection.close()
            raise
        return connection

    async def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush()
                if not await self._fill():
                    raise ConnectionResetError("the connection ended during the TLS handshake") from None
            except ssl.SSLError:
                # The alert that tells the server why.
                with contextlib.suppress(OSError):
                    await self._flush()
                raise
            else:
                return await self._flush()

    async def send(self, data: bytes) -> None:
        if data:
            self._tls.write(data)
        await self._flush()

    async def receive(self) -> bytes:
        while True:
            try:
                return self._tls.read(_CHUNK)
            except ssl.SSLWantReadError:
                if not await self._fill():
                    return b""
            except ssl.SSLZeroReturnError:
                return b""

    async def _fill(self) -> bool:
        data = await self._below.receive()
        self._incoming.write(data)
        return bool(data)

    async def _flush(self) -> None:
        async with self._leaving:
            if data := self._outgoing.read():
                await self._below.send(data)

    def close(self) -> None:
        self._below.close()
