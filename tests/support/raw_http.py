"""HTTP by hand: the very bytes go out, and the very bytes that come back are read.

A client library would repair what the tests want to send, and hide what they want to see.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

__all__ = ["RawAnswer", "connected", "exchange", "invocation_request", "read_answers"]

#: Seconds after which a silent server fails a test.
PATIENCE = 5.0


@dataclass(frozen=True)
class RawAnswer:
    """One answer: status, header fields in order with lower-case names, body."""

    status: int
    fields: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a field that stands there at most once."""
        values = [value for field, value in self.fields if field == name]
        assert len(values) <= 1, f"{name} is repeated"
        return values[0] if values else None

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The error code in the body."""
        code = self.json()["error"]["code"]
        assert isinstance(code, str)
        return code


@contextlib.contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    """A connection to the server at `url`."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as connection:
        yield connection


def exchange(url: str, request: bytes) -> list[RawAnswer]:
    """Send `request` on a connection of its own and read until the server closes it."""
    with connected(url) as connection:
        # A server that has answered early may close while we are still sending.
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(request)
        return read_answers(connection)


def read_answers(connection: socket.socket, count: int | None = None) -> list[RawAnswer]:
    """The next `count` answers, or all until the server closes the connection; interim ones (1xx) too."""
    answers: list[RawAnswer] = []
    with connection.makefile("rb") as stream:
        while len(answers) != count:
            line = stream.readline()
            if not line:
                assert count is None, f"the server closed after {len(answers)} of {count} answers"
                break
            answers.append(_read_answer(line, stream))
    return answers


def _read_answer(line: bytes, stream: Any) -> RawAnswer:
    version, status, _ = line.split(b" ", 2)
    assert version == b"HTTP/1.1", line
    fields: list[tuple[str, str]] = []
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        fields.append((name.lower(), value.strip()))
    return RawAnswer(int(status), fields, _read_body(int(status), dict(fields).get("content-length"), stream))


def _read_body(status: int, length: str | None, stream: Any) -> bytes:
    if status < 200 or status in (204, 304):
        return b""
    # Without a length the body ends with the connection: some servers' own answers do.
    body: bytes = stream.read() if length is None else stream.read(int(length))
    assert length is None or len(body) == int(length)
    return body


def invocation_request(
    run_id: str,
    text: str = "hello",
    *,
    case_id: str = "case-raw-001",
    token: str | None = "test-token",
    close: bool = True,
    fields: tuple[str, ...] = (),
) -> bytes:
    """A good invocation, as bytes."""
    body = json.dumps(
        {
            "schema_version": "target-invocation-v1",
            "run_id": run_id,
            "case_id": case_id,
            "input": {"text": text},
        }
    ).encode()
    lines = [
        "POST /v1/agent/invocations HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"X-AIBeat-Run-ID: {run_id}",
        f"X-AIBeat-Case-ID: {case_id}",
        f"Content-Length: {len(body)}",
        *fields,
    ]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if close:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
