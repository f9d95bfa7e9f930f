"""How an answer is brought: as it should be, odd but legal, or in a way that a careful reader cuts off.

`Answer` is an ordinary answer. Everything else takes one and does something to it:

    Late(answer, seconds)       nothing for a while, then the answer
    Dripping(answer, …)         a byte now and then, and after a while the rest
    Endless(answer, …)          the answer's body, and white space after it without an end
    EndlessHead()               header lines without an end
    Chunked(answer), Pieces(…)  the same answer, framed or cut otherwise
    Cut(answer)                 half of it, then the connection ends
    HangUp()                    no byte at all

An answer that comes late or endlessly is a good one in itself: who waits for it, or reads on, believes it.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from dataclasses import dataclass, replace
from typing import Any, Final

from agentbeat_conformance.core_side.servers import Delivery, Line
from agentbeat_conformance.exchanges import Fields
from agentbeat_protocol import error_envelope

__all__ = [
    "ENDLESS_BYTES",
    "JSON",
    "Answer",
    "Chunked",
    "Cut",
    "Dripping",
    "Endless",
    "EndlessHead",
    "HangUp",
    "Late",
    "Pieces",
    "gzipped",
    "html_error",
    "json_answer",
    "redirect",
    "refusal",
]

#: The header field of a JSON body.
JSON: Final[Fields] = (("Content-Type", "application/json"),)
#: How much of an endless answer there is, in bytes: more than anybody may read, less than fills a memory.
ENDLESS_BYTES: Final = 64 * 1024 * 1024
#: An endless answer that was taken to its end then stands still for this long, in seconds.
_STANDSTILL: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer with its length, on a connection that ends with it.

    Attributes:
        fields: the header fields beside `Content-Length` and `Connection`.
        version: `1.1`, or `1.0` for an answer without a length, which the connection's end then ends.
    """

    status: int = 200
    body: bytes = b""
    fields: Fields = JSON
    version: str = "1.1"

    def head(self, *more: tuple[str, str]) -> bytes:
        """Status line and fields."""
        lines = [f"HTTP/{self.version} {self.status} As Told"]
        lines += [f"{name}: {value}" for name, value in (*self.fields, *more)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def raw(self) -> bytes:
        """The whole answer."""
        framing = (("Content-Length", str(len(self.body))),) if self.version == "1.1" else ()
        return self.head(*framing, ("Connection", "close")) + self.body

    async def send(self, line: Line) -> None:
        """Write it at once."""
        await line.write(self.raw())


@dataclass(frozen=True, slots=True)
class Late:
    """The answer after `seconds`, unless the other side has gone by then."""

    answer: Delivery
    seconds: float

    async def send(self, line: Line) -> None:
        """Wait, then write."""
        if not await line.gone_within(self.seconds):
            await self.answer.send(line)


@dataclass(frozen=True, slots=True)
class Dripping:
    """`bytes` single bytes with `pause` seconds between them, then the rest.

    Each read is answered quickly; only a total deadline ends it.
    """

    answer: Answer
    bytes: int = 80
    pause: float = 0.05

    async def send(self, line: Line) -> None:
        """Drip, then write."""
        raw = self.answer.raw()
        # The body drips, so that the head is there: a client that waits for the head alone falls for it.
        start = len(raw) - len(self.answer.body)
        await line.write(raw[:start])
        end = start + self.bytes
        for position in range(start, min(end, len(raw))):
            await line.write(raw[position : position + 1])
            await asyncio.sleep(self.pause)
        await line.write(raw[end:])


@dataclass(frozen=True, slots=True)
class Endless:
    """The answer's body, then white space: JSON to whom reads it all, too much for whom counts."""

    answer: Answer

    async def send(self, line: Line) -> None:
        """Write until the other side goes, or `ENDLESS_BYTES` are written; then stand still."""
        await line.write(self.answer.head(("Transfer-Encoding", "chunked")) + _chunk(self.answer.body))
        space = _chunk(b" " * 65536)
        for _ in range(ENDLESS_BYTES // 65536):
            await line.write(space)
        if not await line.gone_within(_STANDSTILL):
            await line.write(b"0\r\n\r\n")


@dataclass(frozen=True, slots=True)
class EndlessHead:
    """Header lines until the other side goes or enough of them are written."""

    async def send(self, line: Line) -> None:
        """Write; stand still after 8 MiB."""
        await line.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(2048):
            await line.write(b"X-More-%d: %s\r\n" % (number, b"a" * 4096))
        await line.gone_within(_STANDSTILL)


@dataclass(frozen=True, slots=True)
class Chunked:
    """The same answer in chunks of `size` bytes, without a Content-Length."""

    answer: Answer
    size: int = 7

    async def send(self, line: Line) -> None:
        """Write it chunk by chunk, with a chunk extension and a trailer, which are legal."""
        body = self.answer.body
        await line.write(self.answer.head(("Transfer-Encoding", "chunked"), ("Connection", "close")))
        chunks = [body[start : start + self.size] for start in range(0, len(body), self.size)]
        await line.write(b"".join(map(_chunk, chunks)) + b"0\r\n\r\n")


@dataclass(frozen=True, slots=True)
class Pieces:
    """The same answer, its bytes written one at a time without a pause."""

    answer: Answer

    async def send(self, line: Line) -> None:
        """Write byte by byte."""
        raw = self.answer.raw()
        for position in range(len(raw)):
            await line.write(raw[position : position + 1])


@dataclass(frozen=True, slots=True)
class Cut:
    """The head and half of the body, then the connection ends."""

    answer: Answer

    async def send(self, line: Line) -> None:
        """Write half."""
        raw = self.answer.raw()
        await line.write(raw[: len(raw) - (len(self.answer.body) + 1) // 2])


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection ends without a byte."""

    async def send(self, line: Line) -> None:
        """Write nothing."""
        await line.write(b"")


def json_answer(value: Any, status: int = 200, **fields: str) -> Answer:
    """An answer with a JSON body; `Retry_After="1"` names a header field."""
    named = tuple((name.replace("_", "-"), text) for name, text in fields.items())
    return Answer(status=status, body=json.dumps(value).encode(), fields=(*JSON, *named))


def refusal(code: str, status: int, **fields: str) -> Answer:
    """An error envelope."""
    return json_answer(error_envelope(code, "Refused, as the scenario asks."), status, **fields)


def html_error(status: int) -> Answer:
    """What a gateway says."""
    body = b"<html><head><title>Error</title></head><body><h1>Error</h1></body></html>"
    return Answer(status=status, body=body, fields=(("Content-Type", "text/html"),))


def redirect(status: int, location: str | None, body: bytes = b"") -> Answer:
    """A redirect, with a Location or without one."""
    return Answer(status=status, body=body, fields=() if location is None else (("Location", location),))


def gzipped(answer: Answer) -> Answer:
    """The answer with its body compressed, whether or not somebody asked for that."""
    return replace(
        answer,
        body=gzip.compress(answer.body, compresslevel=1),
        fields=(*answer.fields, ("Content-Encoding", "gzip")),
    )


def _chunk(raw: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(raw), raw)
