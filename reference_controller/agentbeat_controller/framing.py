"""Where a request ends and whom it is for: heads that two readers could read differently are refused.

The parser in front refuses most of them; these rules hold under any ASGI server (RFC 9112, sections 3.2, 6.1
and 6.3). They come before the secret: INV-2 speaks of requests whose framing is valid.

    HTTP/1.0 or later, one Host (none is fine in HTTP/1.0)
    one Content-Length of digits, or `Transfer-Encoding: chunked`; never both, and no other coding

>>> scope = {"http_version": "1.1", "headers": [(b"host", b"127.0.0.1"), (b"content-length", b"12")]}
>>> body_length(scope)
12
>>> check_framing(scope | {"headers": [(b"host", b"a"), (b"host", b"b")]})
Traceback (most recent call last):
agentbeat_protocol.errors.ProtocolError: INV-2 at the document: got another head, expected exactly one Host
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, Final

from agentbeat_protocol import ProtocolError

__all__ = ["body_length", "check_framing"]

_VERSIONS: Final = frozenset({"1.0", "1.1", "2", "3"})
#: A host and a port, or nothing (RFC 3986, section 3.2). The comma that it allows is left out: other readers
#: join two fields with it.
_HOST: Final = re.compile(
    rb"(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?"
)
#: Digits that an integer is read from at once; a longer number is no length of anything.
_LONGEST_NUMBER: Final = 18


def check_framing(scope: Mapping[str, Any]) -> None:
    """Refuse a head that another reader could read differently.

    Raises:
        ProtocolError: `invalid_request`.
    """
    version = scope["http_version"]
    if version not in _VERSIONS:
        raise _refused("HTTP/1.1")
    hosts = _values(scope, b"host")
    if len(hosts) > 1 or (not hosts and version != "1.0"):
        raise _refused("exactly one Host")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise _refused("a host and a port in Host")
    codings = [value.lower() for value in _values(scope, b"transfer-encoding")]
    if codings and (version == "1.0" or codings != [b"chunked"]):
        raise _refused("no other Transfer-Encoding than chunked")
    lengths = _values(scope, b"content-length")
    if lengths and codings:
        raise _refused("Content-Length or Transfer-Encoding, not both")
    # bytes.isdigit knows ASCII digits only: no sign, no underscore, no other script.
    if len(lengths) > 1 or not all(length.isdigit() for length in lengths):
        raise _refused("one Content-Length of decimal digits")


def body_length(scope: Mapping[str, Any]) -> int | None:
    """The length of the body that a checked head announces, in bytes; None where it announces none."""
    lengths = _values(scope, b"content-length")
    if not lengths:
        return None
    digits = lengths[0].lstrip(b"0")
    return int(digits or b"0") if len(digits) <= _LONGEST_NUMBER else sys.maxsize


def _values(scope: Mapping[str, Any], name: bytes) -> list[bytes]:
    return [value.strip(b" \t") for key, value in scope["headers"] if key.lower() == name]


def _refused(expected: str) -> ProtocolError:
    return ProtocolError("INV-2", code="invalid_request", got="another head", expected=expected)
