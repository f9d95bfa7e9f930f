"""Legal oddities of connections: framing, spelling and timing of answers, as seen on a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Self

from agentbeat_conformance.mutants.base_target import BaseTarget
from agentbeat_conformance.mutants.registry import Stream, oddity
from agentbeat_conformance.mutants.streams import Connections

__all__: list[str] = []

Fields = Iterable[tuple[bytes, bytes]]


@oddity(
    "on-a-socket", on_socket=True, text="The base Target on a real connection: small letters, then it closes."
)
class OnASocket(BaseTarget):
    pass


@oddity("chunked-answers", on_socket=True, text="Its answers come in chunks.")
class ChunkedAnswers(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return Connections(app=self.serve, chunked=True)


class _SmallChunks(Connections):
    def part(self, data: bytes, *, last: bool) -> bytes:
        pieces = [data[start : start + 7] for start in range(0, min(len(data), 700), 7)] + [data[700:]]
        chunks = [b'%03X;note="a b"\r\n%s\r\n' % (len(piece), piece) for piece in pieces if piece]
        return b"".join(chunks) + (b"000\r\nX-Checked: yes\r\n\r\n" if last else b"")


@oddity(
    "chunks-with-extensions", on_socket=True, text="Its chunks are small and have extensions and a trailer."
)
class ChunksWithExtensions(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return _SmallChunks(app=self.serve, chunked=True)


@oddity("http-1-0", on_socket=True, text="It speaks HTTP/1.0: an answer ends with the connection.")
class Http10(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return Connections(app=self.serve, http_1_0=True)


@oddity("title-case-fields", on_socket=True, text="Its field names begin with capitals.")
class TitleCaseFields(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return Connections(app=self.serve, title_case=True)


class _Unframed(Connections):
    def head(self, status: int, fields: Fields) -> bytes:
        return super().head(status, [field for field in fields if field[0] != b"content-length"])


@oddity(
    "ends-with-the-connection", on_socket=True, text="Its HTTP/1.1 answers have no length: they end with it."
)
class EndsWithTheConnection(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return _Unframed(app=self.serve)


class _OddHead(Connections):
    def head(self, status: int, fields: Fields) -> bytes:
        lines = [b"HTTP/1.1 %d " % status]
        lines += [b"%s:%s \t" % (name.upper(), value) for name, value in fields]
        return b"\r\n".join([*lines, b"CONNECTION:Close,  te", b"X-Empty:", b"", b""])


@oddity("odd-heads", on_socket=True, text="No reason, no blank after the colon, blanks behind, empty fields.")
class OddHeads(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return _OddHead(app=self.serve)


class _Interim(Connections):
    def head(self, status: int, fields: Fields) -> bytes:
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </healthz>; rel=preload\r\n\r\n"
        return b"HTTP/1.1 102 Processing\r\n\r\n" + hints + super().head(status, fields)


@oddity("interim-answers", on_socket=True, text="It sends 102 and 103 before its answers.")
class InterimAnswers(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return _Interim(app=self.serve)


class _Lingering(Connections):
    """Answers with a length and keeps the connection until the other side lets go of it."""

    def head(self, status: int, fields: Fields) -> bytes:
        return super().head(status, fields).replace(b"connection: close\r\n", b"keep-alive: timeout=5\r\n")

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Connections.__call__(self, reader, _Unending.over(reader, writer))


@oddity(
    "keeps-connections", on_socket=True, text="It keeps connections open, though it was asked to close them."
)
class KeepsConnections(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return _Lingering(app=self.serve)


class _Dripping(Connections):
    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Connections.__call__(self, reader, _InPieces.over(reader, writer))


@oddity(
    "answers-in-pieces", on_socket=True, text="Its answers arrive in pieces that cut lines and characters."
)
class AnswersInPieces(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return _Dripping(app=self.serve)


class _Abrupt(Connections):
    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Connections.__call__(self, reader, _Closing.over(reader, writer))


@oddity(
    "closes-without-reading", on_socket=True, text="It refuses before the body is read, and closes at once."
)
class ClosesWithoutReading(BaseTarget):
    @property
    def stream(self) -> Stream | None:
        return _Abrupt(app=self.serve)


class _Writer(asyncio.StreamWriter):
    """Another way to write to a connection that is there already."""

    @classmethod
    def over(cls, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Self:
        """A writer of this kind to the same connection."""
        protocol: Any = writer.transport.get_protocol()
        return cls(writer.transport, protocol, reader, asyncio.get_running_loop())


class _Unending(_Writer):
    """Does not say that it has ended."""

    def can_write_eof(self) -> bool:
        return False


class _Closing(_Writer):
    """Lets nobody end the connection gently."""

    def can_write_eof(self) -> bool:
        raise ConnectionAbortedError


class _InPieces(_Writer):
    """Writes what it was given in a few dozen pieces."""

    _held = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._held += bytes(data)

    async def drain(self) -> None:
        data, self._held = self._held, b""
        size = max(1, len(data) // 24)
        for start in range(0, len(data), size):
            super().write(data[start : start + size])
            await super().drain()
            await asyncio.sleep(0)
