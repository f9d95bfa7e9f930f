"""What time anchors are checked against: an input of every verification, never taken from a bundle.

An RFC 3161 token needs the certificates of the authorities that are trusted (`roots`); the token brings its
own certificate, and `intermediates` are those that it does not bring. An OpenTimestamps proof needs the
headers of the blocks that it ends in, by height, from a node or a source that the caller trusts.

The caller answers for the headers as for the roots. Against a header that was made up, or that belongs to a
test network, each must have done the work of its own target, and that target must be at most
`easiest_target`: 2^64 hashes of work, which every Bitcoin block since April 2014 has done many times over.

>>> trust = AnchorTrust.read(headers=read_headers(b"# none\\n"))
>>> trust.roots, dict(trust.headers)
((), {})
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Self

from cryptography.x509 import Certificate, ObjectIdentifier, load_pem_x509_certificates

__all__ = ["EASIEST_TARGET", "HEADER_BYTES", "AnchorTrust", "TrustError", "read_headers"]

#: The length of a Bitcoin block header.
HEADER_BYTES: Final = 80

#: The largest target that a header may have, unless the caller says otherwise: 2^64 hashes of work.
EASIEST_TARGET: Final = 2**192 - 1

_HEADER_LINE: Final = re.compile(r"([0-9]{1,9})[ \t]+([0-9a-f]{160})")


class TrustError(ValueError):
    """What was given as trusted is nothing that anchors can be checked against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorTrust:
    """Whom and what to believe about time.

    Args:
        roots: certificates of the authorities at which a chain may end.
        intermediates: further certificates that a chain may go through; trusted only as far as a root is.
        policies: the object identifiers of the time-stamping policies that count; None for any.
        headers: Bitcoin block headers of 80 bytes, by height.
        easiest_target: the largest target that a header may have. A larger one lets in test networks.

    Raises:
        TrustError: a header of another length or height, a policy that is no object identifier, or a
            certificate among the intermediates that is its own issuer.
    """

    roots: tuple[Certificate, ...] = ()
    intermediates: tuple[Certificate, ...] = ()
    policies: frozenset[str] | None = None
    headers: Mapping[int, bytes] = field(default_factory=dict)
    easiest_target: int = EASIEST_TARGET

    def __post_init__(self) -> None:
        for height, header in self.headers.items():
            if height < 0 or len(header) != HEADER_BYTES:
                got = f"{len(header)} bytes at height {height}"
                raise TrustError(f"a block header: got {got}, expected {HEADER_BYTES}")
        for certificate in self.intermediates:
            # The check would let a chain end there.
            if certificate.issuer == certificate.subject:
                raise TrustError("intermediates: got a certificate that is its own issuer, as a root is")
        for policy in self.policies or ():
            _check_policy(policy)
        object.__setattr__(self, "headers", MappingProxyType(dict(self.headers)))

    @classmethod
    def read(
        cls,
        *,
        roots: bytes = b"",
        intermediates: bytes = b"",
        policies: Iterable[str] | None = None,
        headers: Mapping[int, bytes] | None = None,
        easiest_target: int = EASIEST_TARGET,
    ) -> Self:
        """The same from files: certificates in PEM, any number of them in one file.

        Raises:
            TrustError: no certificate in a file that is not empty, or one that cannot be read.
        """
        return cls(
            roots=_certificates(roots, "roots"),
            intermediates=_certificates(intermediates, "intermediates"),
            policies=None if policies is None else frozenset(policies),
            headers=headers or {},
            easiest_target=easiest_target,
        )


def read_headers(raw: bytes) -> dict[int, bytes]:
    """Block headers out of a text file: on each line height, space, 160 hex digits; `#` begins a comment.

    Raises:
        TrustError: another line, or two headers for one height.
    """
    found: dict[int, bytes] = {}
    for place, line in enumerate(raw.decode("ascii", errors="replace").splitlines(), start=1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        match = _HEADER_LINE.fullmatch(text)
        if match is None:
            raise TrustError(f"line {place}: expected a height and the 160 hex digits of a block header")
        header = bytes.fromhex(match[2])
        if found.setdefault(int(match[1]), header) != header:
            raise TrustError(f"line {place}: another header for height {int(match[1])}")
    return found


def _certificates(raw: bytes, name: str) -> tuple[Certificate, ...]:
    if not raw.strip():
        return ()
    try:
        found = load_pem_x509_certificates(raw)
    except ValueError:
        raise TrustError(f"{name}: expected certificates in PEM") from None
    return tuple(dict.fromkeys(found))


def _check_policy(policy: str) -> None:
    try:
        ObjectIdentifier(policy)
    except ValueError:
        raise TrustError("a policy: expected an object identifier such as 1.3.6.1.4.1.4146.2.3") from None
