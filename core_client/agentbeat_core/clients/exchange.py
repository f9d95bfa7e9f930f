"""One request and its answer, with an end: every exchange has a total deadline and a size.

`Peer.send` returns a `Reply` with the very bytes that came, or raises `TransportError`. A peer cannot hold
Core up: an answer that never ends is cut off at its size, one that drips at its deadline. It cannot lead Core
elsewhere either: a redirect is an error.

`TransportError.started` says whether the peer may have received the request. It comes from the connection
itself: False until the first byte of the request was about to be written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import httpx

from agentbeat_core.clients.logs import quiet_logs
from agentbeat_core.clients.pool import ClientPool
from agentbeat_core.plans import Endpoint
from agentbeat_protocol import EvidenceRefError, ProtocolError, read_error
from agentbeat_protocol.references import check_no_redirect

__all__ = ["FaultKind", "Peer", "Reply", "TransportError"]

#: What went wrong on the way.
FaultKind = Literal[
    "no_connection", "connection_lost", "timeout", "bad_http", "redirected", "too_large", "content_encoding"
]

#: How much of an answer that is no success is read, in bytes: an error envelope is short.
_MAX_ERROR_BYTES: Final = 64 * 1024


class TransportError(Exception):
    """There is no usable answer.

    Args:
        kind: what went wrong.
        detail: one sentence, without anything that the peer sent.
        started: whether the peer may have received the request.
    """

    def __init__(self, kind: FaultKind, detail: str, *, started: bool) -> None:
        self.kind = kind
        self.detail = detail
        self.started = started
        super().__init__(f"{kind}: {detail}")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it came.

    Attributes:
        body: the bytes; of an answer that is no success at most the first 64 KiB.
    """

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def error_code(self) -> str | None:
        """The code of the error envelope in the body; None when there is no such envelope."""
        try:
            return read_error(self.body).code
        except ProtocolError:
            return None

    def retry_after(self) -> float | None:
        """The seconds of `Retry-After`; None when it is absent or no number of seconds."""
        value = self.headers.get("Retry-After", "").strip()
        return float(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """A Target, State Controller or judge, as Core speaks to it.

    Attributes:
        connect_seconds: how long a connection may take, within the exchange's own deadline.
    """

    pool: ClientPool
    endpoint: Endpoint
    keep_alive: bool
    connect_seconds: float

    async def send(
        self,
        method: str,
        path: str,
        *,
        seconds: float,
        max_bytes: int,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request and read its answer.

        Args:
            path: appended to the endpoint's base.
            seconds: until the last byte of the answer, connecting included.
            max_bytes: of the answer's body.
            content: a JSON body.

        Raises:
            TransportError: there is no answer, or none that may be used.
        """
        started = False

        async def trace(event: str, _: Mapping[str, Any]) -> None:
            nonlocal started
            started = started or event.endswith("send_request_headers.started")

        client = self.pool.client(self.endpoint.origin, keep_alive=self.keep_alive)
        request = client.build_request(
            method,
            self.endpoint.base + path,
            content=content,
            headers=self._headers(content, headers),
            timeout=httpx.Timeout(None, connect=min(self.connect_seconds, seconds)),
            extensions={"trace": trace},
        )
        try:
            with quiet_logs():
                async with asyncio.timeout(seconds):
                    response = await client.send(request, stream=True)
                    try:
                        body = await _body(response, max_bytes)
                    finally:
                        await response.aclose()
        except TimeoutError:
            kind: FaultKind = "timeout" if started else "no_connection"
            raise TransportError(kind, f"no whole answer within {seconds:g} s", started=started) from None
        except httpx.HTTPError as error:
            raise _fault(error, started=started) from None
        return Reply(response.status_code, response.headers, body)

    def _headers(self, content: bytes | None, others: Mapping[str, str] | None) -> dict[str, str]:
        headers = dict(others or {})
        if content is not None:
            headers["Content-Type"] = "application/json"
        if self.endpoint.secret is not None:
            headers["Authorization"] = f"Bearer {self.endpoint.secret.reveal()}"
        return headers


async def _body(response: httpx.Response, max_bytes: int) -> bytes:
    status = response.status_code
    try:
        check_no_redirect(status, response.headers.get("Location"))
    except EvidenceRefError as error:
        raise TransportError(
            "redirected", f"{error.got}, and no redirect is followed", started=True
        ) from None
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding != "identity":
        raise TransportError("content_encoding", "an encoded body, although none was accepted", started=True)
    success = 200 <= status <= 299
    limit = max_bytes if success else _MAX_ERROR_BYTES
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > limit:
            if success:
                raise TransportError("too_large", f"a body of more than {limit} bytes", started=True)
            break
    return bytes(body[:limit])


def _fault(error: httpx.HTTPError, *, started: bool) -> TransportError:
    """What an httpx error means. Its text is not repeated: it may hold bytes of the peer."""
    if not started:
        what = "in time" if isinstance(error, httpx.TimeoutException) else f"({type(error).__name__})"
        return TransportError("no_connection", f"no connection {what}", started=False)
    # One class of error stands for a peer that hung up and for one that speaks no HTTP.
    hung_up = any(words in str(error) for words in ("disconnected", "closed connection"))
    if isinstance(error, httpx.RemoteProtocolError) and not hung_up:
        return TransportError("bad_http", "the answer is no HTTP", started=True)
    return TransportError("connection_lost", "the connection ended before the answer did", started=True)
