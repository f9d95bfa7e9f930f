"""Answers as exact bytes, and the refusals that become one.

Every answer of a Target is JSON, is stored nowhere and is read as nothing else (INV-10, INV-11). The gate,
the invocation path and the HTTP server below them all answer through here, so a refusal looks the same
wherever it is made.

>>> answer = error_answer("unauthorized", "expected the Target's bearer secret")
>>> answer.status, answer.body
(401, b'{"error":{"code":"unauthorized","message":"expected the Target\\'s bearer secret"}}')
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_protocol import ProtocolError, error_envelope, status_of

__all__ = [
    "NOTHING_THERE",
    "Answer",
    "Headers",
    "RefusedError",
    "Send",
    "compact_json",
    "error_answer",
    "json_answer",
    "refused",
]

Headers = tuple[tuple[bytes, bytes], ...]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: What every 404 says: an unknown route, and an unknown, malformed or unfinished run (EVD-10), look the same.
NOTHING_THERE: Final = "no such route, and no finished evidence of such a run"

_COMMON: Final[Headers] = (
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def compact_json(value: Any) -> bytes:
    """`value` as JSON without white space in UTF-8, members in their order.

    Raises:
        ValueError: a number that JSON has not, a lone surrogate, a cycle.
        TypeError: a type that JSON has not.
    """
    return _ENCODER.encode(value).encode()


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer: status, header fields in lower case, body."""

    status: int
    headers: Headers
    body: bytes

    async def send(self, send: Send) -> None:
        """Give the answer to an ASGI server."""
        await send({"type": "http.response.start", "status": self.status, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": self.body})


def json_answer(status: int, body: bytes, extra: Headers = ()) -> Answer:
    """An answer with the JSON `body` and the headers that every answer has."""
    return Answer(status, (*_COMMON, (b"content-length", b"%d" % len(body)), *extra), body)


def error_answer(code: str, message: str, extra: Headers = ()) -> Answer:
    """The answer of a refusal or failure: the status of `code` and the error envelope (INV-10)."""
    return json_answer(status_of(code), compact_json(error_envelope(code, message)), extra)


class RefusedError(Exception):
    """A request is refused; the Agent does not run and nothing is claimed.

    Args:
        code: the wire's error code; its status is the answer's.
        message: what was expected, without any value of the request.
        extra: more header fields, such as `Allow`.
    """

    def __init__(self, code: str, message: str, extra: Headers = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.extra = extra

    def answer(self) -> Answer:
        """The answer that says so."""
        return error_answer(self.code, self.message, self.extra)


def refused(error: ProtocolError) -> RefusedError:
    """The refusal of a message that breaks a rule of the protocol."""
    return RefusedError(error.code, error.envelope()["error"]["message"])
