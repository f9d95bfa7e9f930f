"""RFC 3161: asking an authority for a token over a manifest, and what its response proves.

The message imprint is SHA-256 over the manifest's pre-authentication encoding, so its hex is the hex of the
manifest's digest. A response proves a time when

    - it was granted, and its imprint is this manifest's digest under SHA-256;
    - it repeats the nonce, where the request is at hand;
    - it is signed (SHA-2) under a certificate for time stamping only, marked critical, that chains up to a
      given root, and every certificate of the chain was valid at the token's time;
    - its policy is one that the caller allows.

That a certificate has expired since then, or was revoked, changes nothing here: there is no network.

The proven time is the latest that the token allows: its time, to the last digit written, plus its accuracy. A
token that states no accuracy is taken to be exact to one second, the coarsest that the format writes.

>>> request = make_request("sha256:" + "00" * 32, nonce=1)
>>> request.der[:5].hex(), len(request.der)
('303c020101', 62)
"""

from __future__ import annotations

import re
import secrets
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import rfc3161_client
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509 import (
    DuplicateExtension,
    InvalidVersion,
    ObjectIdentifier,
    UnsupportedGeneralNameType,
)
from rfc3161_client import TimeStampResponse, TimeStampTokenInfo, VerificationError, VerifierBuilder

from agentbeat_protocol import Instant, cut
from agentbeat_receipts.anchors.der import DERError, Element, children, encoded, integer, sequence, whole
from agentbeat_receipts.anchors.outcomes import AnchorError, AnchorProblem, refused
from agentbeat_receipts.anchors.trust import AnchorTrust

__all__ = ["MAX_RESPONSE_BYTES", "TimestampRequest", "check_response", "make_request", "response_time"]

#: The longest response that is read; those of public authorities have 3 to 7 KB.
MAX_RESPONSE_BYTES: Final = 64 * 1024

_NONCE_BITS: Final = 64
_SHA256: Final = ObjectIdentifier("2.16.840.1.101.3.4.2.1")
#: SHA-256, SHA-384 and SHA-512: what a token may be signed over.
_SIGNED_WITH: Final = {_SHA256, *(ObjectIdentifier(f"2.16.840.1.101.3.4.2.{n}") for n in (2, 3))}
_SHA256_IDENTIFIER: Final = bytes.fromhex("300d06096086480165030402010500")

#: What the libraries raise over a certificate that they cannot read. They stand outside of what is signed, so
#: anybody can put one into a token; and not all of these are a `ValueError`.
_CERTIFICATE_FAULTS: Final = (
    ValueError,
    CryptographyDeprecationWarning,
    DuplicateExtension,
    InvalidVersion,
    UnsupportedAlgorithm,
    UnsupportedGeneralNameType,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NANOSECONDS: Final = 1_000_000_000
_TIME: Final = re.compile(rb"([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2}(?:\.[0-9]{1,9})?)Z")
_CHAIN_FAULT: Final = re.compile(r'Verify error: ([^"]{1,100})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampRequest:
    """One request.

    Args:
        manifest: digest of the manifest that the token is to be over.
        nonce: what the response must repeat.
        der: the request's bytes, to be sent as `application/timestamp-query`.
    """

    manifest: str
    nonce: int
    der: bytes


def make_request(manifest: str, *, nonce: int | None = None) -> TimestampRequest:
    """A request for a token over a manifest, with the authority's certificate in it.

    Args:
        manifest: the manifest's digest.
        nonce: 64 random bits unless given.

    Raises:
        ValueError: `manifest` is no digest.
    """
    nonce = secrets.randbits(_NONCE_BITS) if nonce is None else nonce
    imprint = sequence(_SHA256_IDENTIFIER, encoded(0x04, manifest_imprint(manifest)))
    der = sequence(integer(1), imprint, integer(nonce), encoded(0x01, b"\xff"))
    return TimestampRequest(manifest=manifest, nonce=nonce, der=der)


def manifest_imprint(manifest: str) -> bytes:
    """The 32 bytes of a manifest's digest.

    Raises:
        ValueError: it is no digest.
    """
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", manifest):
        raise ValueError("expected a manifest's digest: sha256: and 64 hex digits")
    return bytes.fromhex(manifest.removeprefix("sha256:"))


def check_response(raw: bytes, request: TimestampRequest) -> None:
    """Check that a response answers the request. Its signature is not looked at: that needs trust.

    Raises:
        AnchorError: UNREADABLE, or OTHER_CONTENT.
    """
    _read(raw, request.manifest, request.nonce)


def response_time(raw: bytes, manifest: str, trust: AnchorTrust, *, nonce: int | None = None) -> Instant:
    """The time at which, by this response, the manifest existed.

    Args:
        raw: the response's bytes.
        manifest: the manifest's digest.
        trust: whose word counts.
        nonce: the request's, where it is at hand.

    Raises:
        AnchorError: it proves no time over this manifest.
    """
    response, info, latest = _read(raw, manifest, nonce)
    if not trust.roots:
        raise refused(AnchorProblem.UNCHECKED, "got no roots, expected those of time-stamping authorities")
    if trust.policies is not None and info.policy.dotted_string not in trust.policies:
        detail = f"got the policy {cut(info.policy.dotted_string)}, expected one that is allowed"
        raise refused(AnchorProblem.UNTRUSTED, detail)
    verifier = VerifierBuilder(roots=[*trust.roots], intermediates=[*trust.intermediates]).build()
    try:
        # What the library warns of, such as a serial number that is not positive, it will refuse one day: the
        # verdict is not to depend on its version.
        with warnings.catch_warnings():
            warnings.simplefilter("error", CryptographyDeprecationWarning)
            if not response.signed_data.certificates:
                raise refused(AnchorProblem.UNTRUSTED, "got a token without its certificate")
            if not response.signed_data.digest_algorithms <= _SIGNED_WITH:
                raise refused(AnchorProblem.UNTRUSTED, "got a signature over another hash, expected SHA-2")
            verifier.verify(response, manifest_imprint(manifest))
    except AnchorError:
        raise
    except (VerificationError, *_CERTIFICATE_FAULTS) as error:
        raise refused(AnchorProblem.UNTRUSTED, _why(str(error))) from None
    return latest


def _why(message: str) -> str:
    """The library's reason, without the error queue behind it."""
    found = _CHAIN_FAULT.search(message)
    if found is not None:
        return f"its certificate chain does not hold at its time: {cut(found[1], 100)}"
    if message.startswith("Error while verifying certificates"):
        return "its signature does not hold"
    return cut(message, 100)


def _read(
    raw: bytes, manifest: str, nonce: int | None
) -> tuple[TimeStampResponse, TimeStampTokenInfo, Instant]:
    """The response, what its token says, and the latest time that it allows; nothing is believed yet."""
    imprint = manifest_imprint(manifest)
    if len(raw) > MAX_RESPONSE_BYTES:
        raise _unreadable(f"got {len(raw)} bytes, expected at most {MAX_RESPONSE_BYTES}")
    try:
        response = rfc3161_client.decode_timestamp_response(_in_set_order(raw))
        if response.status != rfc3161_client.PKIStatus.GRANTED:
            raise _unreadable(f"got the status {response.status}, expected 0 (granted)")
        info = response.tst_info
        algorithm, message = info.message_imprint.hash_algorithm, info.message_imprint.message
        latest = _latest(info, _written_time(raw))
    except AnchorError:
        raise
    except (DERError, ValueError) as error:
        raise _unreadable(f"no time-stamp response: {cut(str(error), 100)}") from None
    if algorithm != _SHA256:
        detail = f"got an imprint by {cut(algorithm.dotted_string)}, expected SHA-256"
        raise refused(AnchorProblem.OTHER_CONTENT, detail)
    if message != imprint:
        detail = f"got the imprint {message[:32].hex()}, expected the manifest's digest"
        raise refused(AnchorProblem.OTHER_CONTENT, detail)
    if nonce is not None and info.nonce != nonce:
        raise refused(AnchorProblem.OTHER_CONTENT, "got another nonce than the request's")
    return response, info, latest


def _unreadable(detail: str) -> AnchorError:
    return refused(AnchorProblem.UNREADABLE, detail)


def _signed_data(raw: bytes) -> list[Element]:
    """The parts of the token's SignedData: version, digest algorithms, content, certificates …"""
    response = children(raw, whole(raw))
    if len(response) < 2:
        raise DERError("got no token")
    explicit = children(raw, response[1])[-1]
    return children(raw, children(raw, explicit)[0])


def _in_set_order(raw: bytes) -> bytes:
    """The response with its certificates in the order of DER.

    Many authorities, OpenSSL's among them, write them in the order of the chain, which the library does not
    read. The certificates stand outside of what is signed; in another order they are the same set.
    """
    try:
        held = next((part for part in _signed_data(raw)[3:] if part.tag == 0xA0), None)
        if held is None:
            return raw
        certificates = sorted(raw[part.at : part.end] for part in children(raw, held))
    except (DERError, IndexError):
        # The library says what is wrong with it.
        return raw
    return raw[: held.start] + b"".join(certificates) + raw[held.end :]


def _written_time(raw: bytes) -> Instant:
    """The token's time with every digit that is written; the library's has whole seconds."""
    try:
        content = children(raw, _signed_data(raw)[2])[1]
        octets = children(raw, content)[0]
        time = children(raw, children(raw, octets)[0])[4]
    except IndexError:
        raise DERError("got a token without its parts") from None
    match = _TIME.fullmatch(raw[time.start : time.end])
    if time.tag != 0x18 or match is None:
        raise DERError("got a time in another form")
    year, month, day, hour, minute, second = (part.decode() for part in match.groups())
    return Instant.parse(f"{year}-{month}-{day}T{hour}:{minute}:{second}Z")


def _latest(info: TimeStampTokenInfo, written: Instant) -> Instant:
    """The latest time that the token allows."""
    # Two readers, one time: the library's is of the bytes that it verifies.
    if written.unix_nanoseconds // _NANOSECONDS != (info.gen_time - _EPOCH) // timedelta(seconds=1):
        raise DERError("got a time that two readers read differently")  # pragma: no cover - none is known
    accuracy = info.accuracy
    margin = _NANOSECONDS
    if accuracy is not None:
        margin = (accuracy.seconds or 0) * _NANOSECONDS
        margin += (accuracy.millis or 0) * 1_000_000 + (accuracy.micros or 0) * 1_000
    return Instant.from_nanoseconds(written.unix_nanoseconds + margin)
