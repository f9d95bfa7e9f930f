"""One request and what came back: all that a check sees, and all that a transcript holds.

A request is written as bytes, since half of the rules are about bytes that a client library would repair.
What came back is an answer, or one of a few ways of giving none; a late answer is a fact like any other.

>>> request = Request.build("GET", "/healthz", host="127.0.0.1:8080")
>>> request.raw
b'GET /healthz HTTP/1.1\\r\\nHost: 127.0.0.1:8080\\r\\nConnection: close\\r\\n\\r\\n'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["Answer", "Exchange", "Failure", "Fields", "Request"]

Fields = tuple[tuple[str, str], ...]


class Failure(StrEnum):
    """Why there is no whole answer."""

    UNREACHABLE = "unreachable"
    #: The connection ended before any byte of an answer.
    CLOSED = "closed"
    #: The connection ended inside an answer.
    CUT = "cut"
    #: No whole answer in time.
    TIMEOUT = "timeout"
    #: The answer went on past the limit; reading stopped.
    TOO_LARGE = "too_large"
    #: What came is no HTTP/1.x answer.
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What goes out.

    Attributes:
        raw: the exact bytes, head and body.
        method: for people and for the ASGI wire; the wire on a socket sends `raw` alone.
        target: the request target as written in `raw`.
        fields: the header fields in order, as written.
        body: the bytes behind the head.
        seconds: how long to wait for the whole answer; None is the wire's own bound.
        withhold: how many bytes at the end of `raw` are held back until an answer came or the time was up.
        needs_socket: whether only a real connection can carry it (framing, withheld bytes, odd heads).
    """

    raw: bytes
    method: str
    target: str
    fields: Fields
    body: bytes = b""
    seconds: float | None = None
    withhold: int = 0
    needs_socket: bool = False

    @classmethod
    def build(
        cls,
        method: str,
        target: str,
        *,
        host: str,
        fields: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        seconds: float | None = None,
    ) -> Request:
        """An ordinary HTTP/1.1 request on a connection of its own; a body gets its Content-Length."""
        head: list[tuple[str, str]] = [("Host", host), *fields, ("Connection", "close")]
        if body is not None:
            head.append(("Content-Length", str(len(body))))
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in head), "", ""]
        return cls(
            raw="\r\n".join(lines).encode("latin-1") + (body or b""),
            method=method,
            target=target,
            fields=tuple(head),
            body=body or b"",
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back: status, header fields in order with lower-case names, and the unframed body."""

    status: int
    fields: Fields
    body: bytes

    def values(self, name: str) -> list[str]:
        """Every value of a header field; `name` in lower case."""
        return [value for field, value in self.fields if field == name]

    def value(self, name: str) -> str | None:
        """The one value of a header field; None when it is absent or repeated."""
        values = self.values(name)
        return values[0] if len(values) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer, or the failure that stands in its place."""

    request: Request
    answer: Answer | None
    failure: Failure | None = None
    #: Its place in the session's transcript, counted from 0.
    index: int = -1

    @property
    def status(self) -> int | None:
        """The answer's status; None without a whole answer."""
        return self.answer.status if self.answer else None

    @property
    def outcome(self) -> str:
        """What a requirement's set of permitted outcomes names: the status, or the failure."""
        return str(self.answer.status) if self.answer else str(self.failure)


#: Where a wire stops reading an answer, in bytes: past every limit of the specs.
MAX_ANSWER_BYTES: Final = 17 * 1024 * 1024
