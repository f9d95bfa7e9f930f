"""The business API over HTTP, and what can go wrong on the way.

DeskError                the desk has not done what it was asked
├── DeskRefusedError     it declined (`not_found`, `ticket_closed` …); nothing has changed
│   └── DeskClosedError  it takes no calls for this run now
└── DeskFailedError      no answer, or one that cannot be read; a change may have been made or not

desk = Desk("http://127.0.0.1:8101", secret="…")
async with desk.session(run.headers()) as session:
    order = await session.call("GET", "/v1/orders/ORD-1003")
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx

__all__ = ["Desk", "DeskClosedError", "DeskError", "DeskFailedError", "DeskRefusedError", "DeskSession"]

#: Seconds that the desk may take to connect, and between two pieces of its answer.
_TIMEOUT: Final = 10.0
#: Bytes of the longest answer that is read.
_LONGEST_ANSWER: Final = 4 * 1024 * 1024
#: Code points of a refusal's own words that are repeated.
_LONGEST_MESSAGE: Final = 200

_CLOSED_CODES: Final = frozenset({"environment_closed", "lease_expired"})


class DeskError(Exception):
    """The desk has not done what it was asked; the text is safe to show."""


class DeskRefusedError(DeskError):
    """The desk declined, and nothing has changed.

    Args:
        code: the desk's error code.
        message: its own words.
        status: the HTTP status.
    """

    def __init__(self, code: str, message: str, *, status: int) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message
        self.status = status


class DeskClosedError(DeskRefusedError):
    """The desk takes no calls for this run: its window is not open, or its lease has ended."""


class DeskFailedError(DeskError):
    """Nobody knows what has come of the call: the desk gave no answer, or one that is none of its own."""


class Desk:
    """Where a support desk is, and the secret that opens its business API.

    Args:
        base_url: an origin, with a path in front of the routes if need be.
        secret: the business secret.
        transport: takes the place of the network, in tests.

    Raises:
        ValueError: the URL is no plain http or https URL, or the secret does not fit into a header.
    """

    def __init__(
        self, base_url: str, *, secret: str, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.base_url = _checked(base_url)
        if not re.fullmatch(r"[\x21-\x7e]+", secret):
            raise ValueError("business secret: expected visible ASCII characters without spaces")
        self.secret = secret
        # Made once: it takes longer than many a run.
        self._transport = transport
        self._tls = httpx.create_ssl_context()

    def __repr__(self) -> str:
        return f"Desk({str(self.base_url)!r})"

    @asynccontextmanager
    async def session(
        self, headers: Mapping[str, str], *, called: str = "the desk"
    ) -> AsyncIterator[DeskSession]:
        """The desk as one run reaches it.

        Args:
            headers: go with every call; those of `Run.headers()` name the run.
            called: what messages call it, where another business application stands in its place.
        """
        async with httpx.AsyncClient(
            base_url=self.base_url,
            headers={**headers, "Authorization": f"Bearer {self.secret}"},
            timeout=_TIMEOUT,
            transport=self._transport,
            verify=self._tls,
            # A desk on this machine is not to be looked for behind a proxy.
            trust_env=False,
        ) as client:
            yield DeskSession(client, called=called)


class DeskSession:
    """Calls of one run. Made by `Desk.session`."""

    def __init__(self, client: httpx.AsyncClient, *, called: str) -> None:
        self._client = client
        self._called = called

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """One call; gives the JSON of its answer.

        Args:
            body: members of a JSON object; those that are None are left out.

        Raises:
            DeskRefusedError, DeskFailedError: see the module.
        """
        content = None if body is None else {name: value for name, value in body.items() if value is not None}
        try:
            async with self._client.stream(method, path, json=content, params=query) as response:
                raw = await self._read(response)
        except httpx.HTTPError as error:
            raise DeskFailedError(f"{self._called} did not answer ({type(error).__name__})") from None
        answer = _json(raw)
        if response.is_success and answer is not None:
            return answer
        raise self._error(response.status_code, answer)

    async def _read(self, response: httpx.Response) -> bytes:
        raw = bytearray()
        async for piece in response.aiter_bytes():
            raw += piece
            if len(raw) > _LONGEST_ANSWER:
                raise DeskFailedError(f"{self._called}'s answer is longer than {_LONGEST_ANSWER} bytes")
        return bytes(raw)

    def _error(self, status: int, answer: Any) -> DeskError:
        detail = answer.get("error") if isinstance(answer, dict) else None
        code = detail.get("code") if isinstance(detail, dict) else None
        if not isinstance(code, str) or not 400 <= status < 500:
            return DeskFailedError(f"{self._called} answered {status}")
        words = detail.get("message") if isinstance(detail, dict) else None
        message = " ".join(words[:_LONGEST_MESSAGE].split()) if isinstance(words, str) else ""
        kind = DeskClosedError if code in _CLOSED_CODES else DeskRefusedError
        return kind(code[:64], message, status=status)


def _json(raw: bytes) -> Any:
    """The answer's value; None for what is no JSON."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _checked(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise ValueError("business URL: expected http(s)://host[:port][/path] and nothing else")
    return url
