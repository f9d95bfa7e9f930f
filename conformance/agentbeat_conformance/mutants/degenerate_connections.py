"""Servers that do not get as far as an answer, or never come to the end of one."""

# ruff: noqa: ARG002 - an override keeps its parent's signature

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

from agentbeat_conformance.mutants.registry import ASGIApp, Stream, degenerate
from agentbeat_conformance.mutants.streams import hang_up

__all__: list[str] = []

_JSON: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_BODY: Final = b'{"schema_version": "target-invocation-v1", "status": "completed"}'
_MEGABYTE: Final = 1 << 20
#: Longer than any client waits; the suite drops the connection before.
_FOREVER: Final = 3_600.0

Write = Callable[[bytes], Awaitable[None]]


class _Speaking:
    """Says the same to whatever it is asked.

    Attributes:
        is_patient: whether it hears the head of the request first.
    """

    is_patient: ClassVar[bool] = True

    @property
    def app(self) -> ASGIApp | None:
        """None: it is not about HTTP."""
        return None

    @property
    def stream(self) -> Stream | None:
        """See `MutantServer`."""
        return self._serve

    async def restart(self) -> None:
        """It has nothing to forget."""

    async def speak(self, write: Write) -> None:
        """Say it."""
        raise NotImplementedError

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        try:
            if self.is_patient:
                await reader.readuntil(b"\r\n\r\n")
            await self.speak(write)
            await hang_up(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()


@degenerate("hangs", on_socket=True, text="It hears every request and never answers.")
class Hangs(_Speaking):
    async def speak(self, write: Write) -> None:
        await asyncio.sleep(_FOREVER)


@degenerate("hears-nothing", on_socket=True, text="It accepts connections and reads nothing from them.")
class HearsNothing(Hangs):
    is_patient = False


@degenerate("drips", on_socket=True, text="It answers with a byte a second.")
class Drips(_Speaking):
    async def speak(self, write: Write) -> None:
        for byte in _JSON + b"Content-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY):
            await write(bytes([byte]))
            await asyncio.sleep(1)


@degenerate(
    "stops-half-way", on_socket=True, text="It answers half of what it announces and then nothing more."
)
class StopsHalfWay(_Speaking):
    async def speak(self, write: Write) -> None:
        await write(_JSON + b"Content-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY[:20]))
        await asyncio.sleep(_FOREVER)


@degenerate("closes", on_socket=True, text="It closes every connection without an answer.")
class Closes(_Speaking):
    async def speak(self, write: Write) -> None:
        """Nothing."""


@degenerate("closes-half-way", on_socket=True, text="It closes the connection before its answer is whole.")
class ClosesHalfWay(_Speaking):
    async def speak(self, write: Write) -> None:
        await write(_JSON + b"Content-Length: 4096\r\n\r\n" + _BODY)


@degenerate("chunks-without-end", on_socket=True, text="Its answer in chunks has no last one.")
class ChunksWithoutEnd(_Speaking):
    async def speak(self, write: Write) -> None:
        await write(_JSON + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(_BODY), _BODY))


@degenerate("endless-body", on_socket=True, text="Its answer never ends.")
class EndlessBody(_Speaking):
    async def speak(self, write: Write) -> None:
        await write(_JSON + b"\r\n")
        while True:
            await write(b" " * _MEGABYTE)


@degenerate("endless-head", on_socket=True, text="The head of its answer never ends.")
class EndlessHead(_Speaking):
    async def speak(self, write: Write) -> None:
        await write(_JSON)
        while True:
            await write(b"X-More: " + b"x" * 4_096 + b"\r\n")


@degenerate("endless-line", on_socket=True, text="The first line of its answer never ends.")
class EndlessLine(_Speaking):
    async def speak(self, write: Write) -> None:
        await write(b"HTTP/1.1 200 ")
        while True:
            await write(b"O" * _MEGABYTE)


@degenerate("always-about-to", on_socket=True, text="It says 102 (Processing) for ever.")
class AlwaysAboutTo(_Speaking):
    async def speak(self, write: Write) -> None:
        while True:
            await write(b"HTTP/1.1 102 Processing\r\n\r\n")
            await asyncio.sleep(0.01)


@degenerate("speaks-otherwise", on_socket=True, text="It greets in another protocol.")
class SpeaksOtherwise(_Speaking):
    is_patient = False

    async def speak(self, write: Write) -> None:
        await write(b"220 mail.example ESMTP ready\r\n")


@degenerate("two-lengths", on_socket=True, text="Its answers have two lengths that differ.")
class TwoLengths(_Speaking):
    async def speak(self, write: Write) -> None:
        lengths = b"Content-Length: %d\r\nContent-Length: 7\r\n\r\n" % len(_BODY)
        await write(_JSON + lengths + _BODY)
