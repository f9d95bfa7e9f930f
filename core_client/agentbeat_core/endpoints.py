"""Where a peer is, and with which secret: from names of environment variables to an `Endpoint`.

What a variable holds is never repeated in a refusal: a URL with a password in it, or a secret in the wrong
variable, would end up in a log.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final

from agentbeat_core.credentials import Secret
from agentbeat_core.plans import Endpoint
from agentbeat_core.refusals import RefusedError
from agentbeat_core.registry import TargetRegistry
from agentbeat_protocol import ProtocolError
from agentbeat_protocol.evaluation import Auth
from agentbeat_protocol.origins import Origin, split_url

__all__ = ["place_of", "resolve_endpoint"]

# Filled segments of characters that every client sends as they are; whole escapes stay as they were written.
_PREFIX: Final = re.compile(r"(?:/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})+)*")


def resolve_endpoint(
    who: str, registry: TargetRegistry, *, url_variable: str, allow_insecure_http: bool, auth: Auth | None
) -> Endpoint:
    """The endpoint that the registry describes.

    Args:
        who: `target` or `controller`: the beginning of the refusal's code.

    Raises:
        RefusedError: `…_url_not_set`, `…_url_invalid`, `…_insecure_http`, `…_secret_not_set` or
            `…_secret_invalid`.
    """
    url = registry.variable(url_variable)
    if url is None:
        raise RefusedError(f"{who}_url_not_set", f"the environment variable {url_variable} is not set")
    base, origin = _base_url(who, url_variable, url)
    if origin.scheme == "http" and not origin.is_loopback and not allow_insecure_http:
        message = f"{url_variable} is plain HTTP to another machine; use https, or set allow_insecure_http"
        raise RefusedError(f"{who}_insecure_http", message)
    return Endpoint(base=base, origin=origin, secret=_secret(who, registry, auth))


def _base_url(who: str, variable: str, url: str) -> tuple[str, Origin]:
    """Origin and prefix of a URL from the environment. What it holds is not repeated: it may be a secret."""
    try:
        origin = Origin.parse(url)
        parts = split_url(url)
    except ProtocolError as error:
        raise RefusedError(
            f"{who}_url_invalid", f"{variable}: expected {error.expected}", rule=error.rule
        ) from None
    prefix = parts.path.rstrip("/")
    plain = _PREFIX.fullmatch(prefix) and {".", ".."}.isdisjoint(prefix.split("/"))
    if parts.query is not None or parts.fragment is not None or not plain:
        message = f"{variable}: expected an origin and at most a plain path, without query or fragment"
        raise RefusedError(f"{who}_url_invalid", message)
    return f"{origin}{prefix}", origin


def _secret(who: str, registry: TargetRegistry, auth: Auth | None) -> Secret | None:
    if auth is None:
        return None
    secret = registry.secret(auth)
    if secret is None:
        raise RefusedError(f"{who}_secret_not_set", f"the environment variable {auth.value_env} is not set")
    if not secret.fits_a_header:
        message = f"{auth.value_env}: expected visible ASCII without white space"
        raise RefusedError(f"{who}_secret_invalid", message)
    return secret


def place_of(origin: Origin) -> tuple[str, int]:
    """Host and port, with all spellings of this machine as one; one port has one listener, so no scheme.

    Only for telling Target and Controller apart, where taking two spellings for one place is the safe side.
    """
    host = origin.host.rstrip(".")
    return ("localhost" if _is_this_machine(host) else host, origin.port)


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    # A socket reads an IPv4-mapped address as the IPv4 one.
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified
