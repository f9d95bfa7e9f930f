"""The gate: the head of a request is judged before anything else happens, on the raw header fields.

The rules hold under any ASGI server, for they need only the ASGI scope:

    1. framing    a bounded number and size of header fields; one Host (none is fine in HTTP/1.0); one
                  Content-Length of digits or `chunked`, never both and no other coding
    2. secret     401 whatever else is wrong, before the body is waited for (INV-2); `/healthz` needs none
    3. path       read once: a path with `%` is nobody's, 404

Header fields are looked at as the list that came, never as a mapping: a repeated field is where two readers
disagree. What passes is a `Head`, the only view of the request that the routes get.

>>> from agentbeat_sdk.limits import Limits
>>> gate = Gate("test-token", Limits())
>>> scope = {"http_version": "1.1", "method": "POST", "path": "/v1/agent/invocations",
...          "headers": [(b"host", b"localhost"), (b"authorization", b"Bearer test-token")]}
>>> gate.admit(scope).path
'/v1/agent/invocations'
>>> gate.admit(scope | {"headers": [(b"host", b"localhost")]})
Traceback (most recent call last):
agentbeat_sdk.answers.RefusedError: expected the Target's bearer secret
"""

from __future__ import annotations

import hashlib
import hmac
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_protocol import CASE_ID_HEADER, HEALTH_PATH, RUN_ID_HEADER
from agentbeat_sdk.answers import NOTHING_THERE, Headers, RefusedError
from agentbeat_sdk.limits import Limits

__all__ = ["Gate", "Head"]

_CORRELATION: Final = frozenset({RUN_ID_HEADER.lower().encode(), CASE_ID_HEADER.lower().encode()})
_READ: Final = _CORRELATION | {
    b"host",
    b"authorization",
    b"content-type",
    b"content-length",
    b"transfer-encoding",
}
_VERSIONS: Final = frozenset({"1.0", "1.1", "2", "3"})
# A host and a port, or nothing (RFC 9112, section 3.2; RFC 3986, section 3.2). The comma that they allow in a
# name is left out: other readers join two fields with it.
_HOST: Final = re.compile(
    rb"(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?"
)
_ABSOLUTE_FORM: Final = re.compile(r"^https?://[^/@]*(?=/|$)", re.IGNORECASE)
_CHALLENGE: Final[Headers] = ((b"www-authenticate", b"Bearer"),)
_OWS: Final = b" \t"

Fields = dict[bytes, list[bytes]]


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a request that has passed the gate.

    Args:
        method: the method, as received.
        path: the path below the mount point, as received: it holds no escapes.
        content_length: the declared length of the body in bytes; None when none is declared.
        fields: the values of the header fields that the routes read, by lower-case name, white space around
            them removed.
    """

    method: str
    path: str
    content_length: int | None
    fields: Fields

    def content_type(self) -> str | None:
        """The one Content-Type, None when there is none.

        Raises:
            RefusedError: the field is repeated.
        """
        values = self.fields.get(b"content-type", [])
        if len(values) > 1:
            raise RefusedError("unsupported_media_type", "expected one Content-Type")
        return values[0].decode("latin-1") if values else None

    def correlation(self) -> list[tuple[bytes, bytes]]:
        """The correlation headers as they came, repeated ones too."""
        return [(name, value) for name in _CORRELATION for value in self.fields.get(name, ())]


class Gate:
    """Judges the heads of requests for one Target.

    Args:
        token: the Target's bearer secret; None makes it an open Target, which takes requests without one.
        limits: the bounds of the head.
    """

    def __init__(self, token: str | None, limits: Limits) -> None:
        # Digests have one length, so that comparing tells nothing about the secret's.
        self._digest = None if token is None else hashlib.sha256(token.encode()).digest()
        self._max_fields = limits.max_header_fields
        self._max_bytes = limits.max_head_bytes

    def admit(self, scope: Mapping[str, Any]) -> Head:
        """The head of the request with this ASGI scope.

        Raises:
            RefusedError: 400, 431, 401 or 404; the rules are looked at in the module's order.
        """
        # 1. framing
        fields = self._read(scope["headers"])
        version = scope.get("http_version", "1.1")
        _check_host(fields.get(b"host", []), version)
        length = _body_length(fields, version)
        # 2. secret
        path = _route_path(scope)
        if self._digest is not None and path != HEALTH_PATH:
            self._check_secret(fields.get(b"authorization", []))
        # 3. path
        if path is None:
            raise RefusedError("not_found", NOTHING_THERE)
        return Head(scope["method"], path, length, fields)

    def _read(self, headers: list[tuple[bytes, bytes]]) -> Fields:
        """The fields that somebody reads, each with all its values."""
        if len(headers) > self._max_fields:
            raise RefusedError(
                "request_header_too_large", f"expected at most {self._max_fields} header fields"
            )
        size = 0
        fields: Fields = {}
        for name, value in headers:
            size += len(name) + len(value)
            if name in _READ:
                fields.setdefault(name, []).append(value.strip(_OWS))
        if size > self._max_bytes:
            raise RefusedError(
                "request_header_too_large", f"expected at most {self._max_bytes} bytes of header fields"
            )
        return fields

    def _check_secret(self, values: list[bytes]) -> None:
        """INV-2: exactly one Authorization, `Bearer` in any case, and the secret to the byte."""
        if len(values) == 1 and self._digest is not None:
            scheme, _, secret = values[0].partition(b" ")
            given = hashlib.sha256(secret.lstrip(b" ")).digest()
            if hmac.compare_digest(given, self._digest) and scheme.lower() == b"bearer":
                return
        raise RefusedError("unauthorized", "expected the Target's bearer secret", _CHALLENGE)


def _check_host(values: list[bytes], version: str) -> None:
    """RFC 9112, section 3.2: one Host; HTTP/1.0 may leave it out."""
    if version not in _VERSIONS:
        raise RefusedError("invalid_request", "expected HTTP/1.1")
    if len(values) > 1 or (not values and version != "1.0"):
        raise RefusedError("invalid_request", "expected exactly one Host")
    if values and not _HOST.fullmatch(values[0]):
        raise RefusedError("invalid_request", "expected a host and a port in Host")


def _body_length(fields: Fields, version: str) -> int | None:
    """The declared length of the body, None without one (RFC 9112, section 6.3).

    A number too long to be a length of anything is the largest one: `int` need not read 5,000 digits.
    """
    lengths = fields.get(b"content-length", [])
    codings = fields.get(b"transfer-encoding", [])
    if codings and (version == "1.0" or [coding.lower() for coding in codings] != [b"chunked"]):
        raise RefusedError("invalid_request", "expected no other Transfer-Encoding than chunked")
    if lengths and codings:
        raise RefusedError("invalid_request", "expected Content-Length or Transfer-Encoding, not both")
    if not lengths:
        return None
    # bytes.isdigit knows ASCII digits only: no sign, no underscore, no other script.
    if len(lengths) > 1 or not lengths[0].isdigit():
        raise RefusedError("invalid_request", "expected one Content-Length of decimal digits")
    digits = lengths[0].lstrip(b"0")
    return int(digits or b"0") if len(digits) <= 18 else sys.maxsize


def _route_path(scope: Mapping[str, Any]) -> str | None:
    """The path below the mount point; None for a path with an escape, which is decoded by nobody.

    An absolute-form target stands whole in the path under some servers; its origin is left out
    (RFC 9112, section 3.2.2).
    """
    path: str = scope["path"]
    raw: bytes = scope.get("raw_path") or b""
    if "%" in path or b"%" in raw.partition(b"?")[0]:
        return None
    if not path.startswith("/"):
        path = _ABSOLUTE_FORM.sub("", path, count=1)
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(root + "/") else path
