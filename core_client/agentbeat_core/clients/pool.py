"""One `httpx.AsyncClient` per origin, all with the same sober settings.

- No redirect is followed, no proxy or `.netrc` of the environment is used, no cookie is kept: what one run
  was told never reaches another.
- A Target's connections are used once. A kept connection may be closed by the peer just as the invocation is
  written to it, and nobody could tell whether the Agent was started.
- A State Controller's connections are kept: its requests may be repeated (CTL-2).
"""

from __future__ import annotations

import ssl
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import Final, Self

import httpx

from agentbeat_protocol.origins import Origin

__all__ = ["ClientPool"]

_KEPT: Final = 16
_IDLE_SECONDS: Final = 5.0


class ClientPool:
    """The clients of one Core, made when an origin is first called.

    >>> async def fetch() -> int:
    ...     async with ClientPool() as pool:
    ...         client = pool.client(Origin.parse("http://127.0.0.1:8091"), keep_alive=False)
    ...         return (await client.get("http://127.0.0.1:8091/healthz")).status_code
    """

    def __init__(self) -> None:
        self._clients: dict[tuple[Origin, bool], httpx.AsyncClient] = {}

    def client(self, origin: Origin, *, keep_alive: bool) -> httpx.AsyncClient:
        """The client of this origin."""
        key = (origin, keep_alive)
        if key not in self._clients:
            self._clients[key] = _client(keep_alive=keep_alive)
        return self._clients[key]

    async def aclose(self) -> None:
        """Close every connection."""
        while self._clients:
            _, client = self._clients.popitem()
            await client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _client(*, keep_alive: bool) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        verify=_trust(),
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        limits=httpx.Limits(
            max_connections=None,
            max_keepalive_connections=_KEPT if keep_alive else 0,
            keepalive_expiry=_IDLE_SECONDS,
        ),
        headers={
            "Accept": "application/json",
            # A few compressed kilobytes may stand for gigabytes; the limits count bytes as received.
            "Accept-Encoding": "identity",
            "User-Agent": f"agentbeat-core/{_version()}",
        },
        timeout=None,  # noqa: S113  every exchange brings its own
    )


@cache
def _trust() -> ssl.SSLContext:
    """The machine's certificate authorities; OpenSSL's own SSL_CERT_FILE and SSL_CERT_DIR hold."""
    return ssl.create_default_context()


def _version() -> str:
    try:
        return version("agentbeat-kit")
    except PackageNotFoundError:
        return "0"
