"""Getting a token from a time-stamping authority over HTTP (RFC 3161, section 3.4).

The one module here that talks to anybody. It needs `httpx`, which is loaded when it is asked for.

    anchor = request_token("https://authority.example/tsr", manifest.digest(), trust=trust)
    batch = Batch(manifest, keyring, anchor=anchor.token_digest())

Whoever stands between can withhold a token and nothing more: the response must answer this request, nonce and
all, and when `trust` is given it must prove its time at once.
"""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Final

from agentbeat_receipts.anchors.outcomes import AnchorError, AnchorFault
from agentbeat_receipts.anchors.proving import prove
from agentbeat_receipts.anchors.rfc3161 import MAX_RESPONSE_BYTES, check_response, make_request
from agentbeat_receipts.anchors.trust import AnchorTrust
from agentbeat_receipts.objects.anchors import TimeAnchor

if TYPE_CHECKING:
    import httpx

__all__ = ["TokenRequestError", "request_token"]

QUERY_TYPE: Final = "application/timestamp-query"
REPLY_TYPE: Final = "application/timestamp-reply"


class TokenRequestError(RuntimeError):
    """No response came that a token could be read from."""


def request_token(
    url: str,
    manifest: str,
    *,
    trust: AnchorTrust | None = None,
    timeout_seconds: float = 20,
    transport: httpx.BaseTransport | None = None,
) -> TimeAnchor:
    """A token over a manifest, as an object for the bundle.

    Args:
        url: the authority's `http` or `https` address. Redirections are not followed.
        manifest: the manifest's digest.
        trust: where given, the token must be proven against it.
        timeout_seconds: for each wait on the network, and for the whole exchange.
        transport: how requests are sent; httpx's own unless given.

    Raises:
        AnchorError: a response came that does not answer the request, or proves nothing to `trust`.
        TokenRequestError: none came, in time and of the right size and type.
        ValueError: `manifest` is no digest.
    """
    request = make_request(manifest)
    raw = _exchange(url, request.der, timeout_seconds, transport)
    check_response(raw, request)
    anchor = TimeAnchor(manifest=manifest, form="rfc3161", token=base64.b64encode(raw).decode())
    if trust is not None:
        outcome = prove(anchor, trust, nonce=request.nonce)
        if isinstance(outcome, AnchorFault):
            raise AnchorError(outcome)
    return anchor


def _exchange(url: str, query: bytes, seconds: float, transport: httpx.BaseTransport | None) -> bytes:
    """The response's bytes. Errors do not repeat the address, which may hold a password."""
    try:
        import httpx
    except ImportError:
        raise TokenRequestError("asking an authority needs httpx, which is not installed") from None
    deadline = time.monotonic() + seconds
    headers = {"Content-Type": QUERY_TYPE, "Accept": REPLY_TYPE}
    try:
        with (
            httpx.Client(timeout=seconds, transport=transport) as client,
            client.stream("POST", url, content=query, headers=headers) as response,
        ):
            _check_head(response)
            received = bytearray()
            for chunk in response.iter_bytes():
                received += chunk
                if len(received) > MAX_RESPONSE_BYTES:
                    raise TokenRequestError(f"got more than {MAX_RESPONSE_BYTES} bytes")
                if time.monotonic() > deadline:
                    raise TokenRequestError(f"got no whole response within {seconds} seconds")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise TokenRequestError(f"the exchange failed: {type(error).__name__}") from None
    return bytes(received)


def _check_head(response: httpx.Response) -> None:
    if response.status_code != 200:
        raise TokenRequestError(f"got HTTP status {response.status_code}, expected 200")
    kind = response.headers.get("content-type", "").split(";", 1)[0].strip().lower()
    if kind != REPLY_TYPE:
        raise TokenRequestError(f"got another content type, expected {REPLY_TYPE}")
