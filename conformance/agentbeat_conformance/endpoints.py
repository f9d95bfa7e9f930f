"""Where the endpoint is: the parts of a URL that the suite needs, read once and strictly.

>>> Endpoint.parse("http://127.0.0.1:8080/desk/v1/agent/invocations").prefix
'/desk'
>>> Endpoint.parse("https://[::1]/").authority
'[::1]'
"""

from __future__ import annotations

from dataclasses import dataclass

from agentbeat_protocol import INVOCATION_PATH, Origin, URLError
from agentbeat_protocol.origins import split_url

__all__ = ["Endpoint"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A Target or a State Controller.

    Attributes:
        origin: scheme, host and port.
        prefix: the path before `/v1/…` and `/healthz`, empty at the root.
    """

    origin: Origin
    prefix: str = ""

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """The endpoint of a base URL, or of a Target's registered invocation URL.

        Raises:
            URLError: no absolute http or https URL, or one with a query or a fragment.
        """
        origin = Origin.parse(url)
        parts = split_url(url)
        if parts.query is not None or parts.fragment is not None:
            raise URLError("O-PARSE", got="a query or a fragment", expected="a URL that ends with its path")
        return cls(origin, parts.path.rstrip("/").removesuffix(INVOCATION_PATH).rstrip("/"))

    @property
    def authority(self) -> str:
        """What the Host field says: the host, and the port unless it is the scheme's own."""
        return str(self.origin).partition("://")[2]

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return f"{self.origin}{self.prefix}"
