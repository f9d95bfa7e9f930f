"""One HTTP exchange with an end: a total deadline, a size, no redirect. On asyncio and h11 alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11

__all__ = ["Got", "UnansweredError", "exchange"]


class UnansweredError(Exception):
    """There is no whole answer.

    Args:
        why: a code, such as `timeout`.
        started: whether the peer may have received the request.
    """

    def __init__(self, why: str, *, started: bool) -> None:
        self.why = why
        self.started = started
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class Got:
    """An answer; field names in lower case."""

    status: int
    fields: Mapping[str, str]
    body: bytes


async def exchange(
    method: str,
    url: str,
    *,
    fields: Mapping[str, str],
    body: bytes | None = None,
    seconds: float,
    max_bytes: int,
    whole: bool = True,
) -> Got:
    """Send a request on a connection of its own, and read its answer.

    Args:
        seconds: for all of it; with `whole` false for each read instead, which bounds nothing.
        max_bytes: of the answer's body.

    Raises:
        UnansweredError: there is no whole answer of at most that size in time.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 80
    started = False
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(seconds if whole else None):
            reader, writer = await asyncio.open_connection(host, port)
            started = True
            writer.write(_request(method, parts.path or "/", parts.netloc, fields, body))
            return await _answer(reader, max_bytes, None if whole else seconds)
    except TimeoutError:
        raise UnansweredError("timeout", started=started) from None
    except (OSError, h11.RemoteProtocolError):
        raise UnansweredError("connection", started=started) from None
    finally:
        if writer is not None:
            writer.close()


def _request(method: str, path: str, host: str, fields: Mapping[str, str], body: bytes | None) -> bytes:
    head = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    head += [f"{name}: {value}" for name, value in fields.items()]
    if body is not None:
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + (body or b"")


async def _answer(reader: asyncio.StreamReader, max_bytes: int, seconds: float | None) -> Got:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
    connection.send(h11.EndOfMessage())
    response: h11.Response | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            async with asyncio.timeout(seconds):
                connection.receive_data(await reader.read(65536))
        elif isinstance(event, h11.Response):
            response = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > max_bytes:
                raise UnansweredError("too_large", started=True)
        elif isinstance(event, h11.EndOfMessage) and response is not None:
            found = {name.decode(): value.decode("latin-1") for name, value in response.headers}
            return Got(response.status_code, found, bytes(body))
        elif isinstance(event, h11.ConnectionClosed):
            raise UnansweredError("connection", started=True)
