"""RFC 3161 tokens: what a response proves, and every way in which it proves nothing."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import cache

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_receipts.anchors import (
    MAX_RESPONSE_BYTES,
    AnchorError,
    AnchorFault,
    AnchorProblem,
    AnchorTrust,
    ProvenAnchor,
    check_response,
    make_request,
    prove,
)
from agentbeat_receipts.anchors.der import children, integer, sequence, whole
from agentbeat_receipts.objects import TimeAnchor
from support.receipt_batches import manifest
from support.time_stamping import POLICY, Authority, authority, issue, openssl, tst_info

MANIFEST = manifest().digest()
OTHER = manifest(title="another").digest()
STAMPING = ExtendedKeyUsageOID.TIME_STAMPING
P = AnchorProblem


def anchored(raw: bytes, of: str = MANIFEST) -> TimeAnchor:
    return TimeAnchor(manifest=of, form="rfc3161", token=base64.b64encode(raw).decode())


@cache
def stamped() -> bytes:
    """One response of the authority over our manifest."""
    return authority().stamp(MANIFEST)


def proven_at(raw: bytes, trust: AnchorTrust | None = None) -> str:
    outcome = prove(anchored(raw), trust or authority().trust())
    assert isinstance(outcome, ProvenAnchor), outcome
    assert (outcome.manifest, outcome.token) == (MANIFEST, anchored(raw).token_digest())
    return str(outcome.at)


# What is proven.


def test_a_token_proves_the_time_that_openssl_reads_and_the_stated_accuracy() -> None:
    raw = authority().answer(make_request(MANIFEST).der, digits=6, accuracy="secs:1, millisecs:500")
    said = openssl("ts", "-reply", "-in", "/dev/stdin", "-text", content=raw).decode()
    found = re.search(r"Time stamp: .*:([0-9]{2})(\.[0-9]+)? [0-9]{4} GMT", said)
    assert found is not None
    read = int(found[1]) * 1_000_000 + int(f"{(found[2] or '.')[1:]:0<6}")
    at = prove(anchored(raw), authority().trust())
    assert isinstance(at, ProvenAnchor)
    assert at.at.unix_nanoseconds // 1_000 % 60_000_000 == (read + 1_500_000) % 60_000_000


def _accuracy(*parts: bytes) -> bytes:
    return sequence(*parts)


def _implicit(tag: int, value: int) -> bytes:
    return bytes((tag,)) + integer(value)[1:]


LATEST = {
    "no-accuracy-is-one-second": ("20260301100000Z", b"", "2026-03-01T10:00:01Z"),
    "seconds": ("20260301100000Z", _accuracy(integer(90)), "2026-03-01T10:01:30Z"),
    "milliseconds": ("20260301100000Z", _accuracy(_implicit(0x80, 250)), "2026-03-01T10:00:00.25Z"),
    "microseconds": ("20260301100000Z", _accuracy(_implicit(0x81, 7)), "2026-03-01T10:00:00.000007Z"),
    "all-of-them-over-midnight": (
        "20261231235959.5Z",
        _accuracy(integer(1), _implicit(0x80, 500), _implicit(0x81, 1)),
        "2027-01-01T00:00:01.000001Z",
    ),
    "none-of-them-is-exact": ("20260301100000Z", _accuracy(), "2026-03-01T10:00:00Z"),
    "nanoseconds": ("20260301100000.123456789Z", b"", "2026-03-01T10:00:01.123456789Z"),
}


@pytest.mark.parametrize("name", LATEST)
def test_the_proven_time_is_the_latest_that_the_token_allows(name: str) -> None:
    time, accuracy, expected = LATEST[name]
    assert proven_at(authority().sign(tst_info(MANIFEST, time=time, accuracy=accuracy))) == expected


def test_a_certificate_that_expired_after_the_tokens_time_changes_nothing() -> None:
    expired = Authority.under(authority().root, days=(-1000, -1))
    long_ago = tst_info(MANIFEST, time=f"{_year() - 1}0601100000Z")
    assert proven_at(expired.sign(long_ago)) == f"{_year() - 1}-06-01T10:00:01Z"


def _year() -> int:
    """This year, as the certificates of the tests see it."""
    return authority().root.certificate.not_valid_after_utc.year - 10


@cache
def _under_another() -> tuple[Authority, bytes]:
    between = issue("Local intermediate", by=authority().root, ca=True)
    made = Authority.under(authority().root, between)
    return made, made.answer(make_request(MANIFEST).der, chain=False)


def test_an_intermediate_certificate_comes_with_the_token_or_from_the_caller() -> None:
    made, bare = _under_another()
    whole_chain = made.answer(make_request(MANIFEST).der)
    assert proven_at(whole_chain)
    assert proven_at(bare, made.trust(intermediates=(made.between[0].certificate,)))
    assert isinstance(prove(anchored(bare), made.trust()), AnchorFault)


def test_an_intermediate_certificate_is_no_root() -> None:
    made, bare = _under_another()
    other = issue("Another root", ca=True).certificate
    trust = AnchorTrust(roots=(other,), intermediates=(made.between[0].certificate,))
    assert isinstance(prove(anchored(bare), trust), AnchorFault)


def test_certificates_count_in_whatever_order_they_stand() -> None:
    """DER sorts them, and authorities do not always."""
    made, _ = _under_another()
    raw = made.sign(tst_info(MANIFEST))
    explicit = children(raw, children(raw, whole(raw))[1])[1]
    held = next(part for part in children(raw, children(raw, explicit)[0]) if part.tag == 0xA0)
    parts = sorted(raw[part.at : part.end] for part in children(raw, held))
    assert len(parts) == 3
    for ordered in (parts, parts[::-1], [parts[1], parts[0], parts[2]]):
        other = raw[: held.start] + b"".join(ordered) + raw[held.end :]
        assert proven_at(other, made.trust()) == "2026-03-01T10:00:01Z"


def test_a_policy_that_the_caller_allows_counts() -> None:
    assert proven_at(stamped(), authority().trust(policies=frozenset({"1.2.3", POLICY})))


def test_the_nonce_counts_where_the_request_is_at_hand() -> None:
    request = make_request(MANIFEST)
    raw = authority().answer(request.der)
    check_response(raw, request)
    assert isinstance(prove(anchored(raw), authority().trust(), nonce=request.nonce), ProvenAnchor)
    with pytest.raises(AnchorError, match="nonce"):
        check_response(raw, make_request(MANIFEST))
    fault = prove(anchored(raw), authority().trust(), nonce=request.nonce ^ 1)
    assert fault == AnchorFault(P.OTHER_CONTENT, "got another nonce than the request's")


# What is not.


def signed_by(**signer: object) -> bytes:
    return Authority.under(authority().root, **signer).sign(tst_info(MANIFEST))


def _by_a_leaf() -> bytes:
    """A certificate that an authority's own certificate issued, which is none of an issuer."""
    return Authority.under(authority().root, authority().signer).sign(tst_info(MANIFEST))


def _asked(**options: object) -> bytes:
    return authority().answer(make_request(MANIFEST).der, **options)


def _without_certificate() -> bytes:
    query = openssl("ts", "-query", "-digest", MANIFEST.removeprefix("sha256:"), "-sha256")
    return authority().answer(query)


def _hashed_with(name: str) -> bytes:
    """A token whose imprint has the manifest's digest as its value, or begins with it, under another hash."""
    digits = MANIFEST.removeprefix("sha256:") * (2 if name == "sha512" else 1)
    return authority().answer(openssl("ts", "-query", "-digest", digits, f"-{name}", "-cert"))


REFUSED: dict[str, tuple[Callable[[], bytes], AnchorProblem, str]] = {
    "over-another-manifest": (lambda: authority().stamp(OTHER), P.OTHER_CONTENT, "imprint"),
    "imprint-by-sha512": (lambda: _hashed_with("sha512"), P.OTHER_CONTENT, "expected SHA-256"),
    "imprint-by-sha3-256": (lambda: _hashed_with("sha3-256"), P.OTHER_CONTENT, "expected SHA-256"),
    "certificate-expired-before": (lambda: signed_by(days=(-900, -600)), P.UNTRUSTED, "expired"),
    "certificate-not-valid-yet": (lambda: signed_by(days=(3000, 3600)), P.UNTRUSTED, "not yet valid"),
    "certificate-for-no-purpose": (lambda: signed_by(purposes=()), P.UNTRUSTED, "purpose"),
    "certificate-for-another-purpose": (
        lambda: signed_by(purposes=[ExtendedKeyUsageOID.CODE_SIGNING]),
        P.UNTRUSTED,
        "purpose",
    ),
    "certificate-for-two-purposes": (
        lambda: signed_by(purposes=[STAMPING, ExtendedKeyUsageOID.CODE_SIGNING]),
        P.UNTRUSTED,
        "purpose",
    ),
    "purpose-not-critical": (lambda: signed_by(critical=False), P.UNTRUSTED, "purpose"),
    "issuer-that-is-none": (_by_a_leaf, P.UNTRUSTED, "chain"),
    "signed-over-sha1": (lambda: _asked(signer_digest="sha1"), P.UNTRUSTED, "SHA-2"),
    "without-its-certificate": (_without_certificate, P.UNTRUSTED, "without its certificate"),
    "request-that-was-rejected": (lambda: _asked(digests="sha512"), P.UNREADABLE, "status 2"),
    "granted-without-a-token": (lambda: sequence(sequence(integer(0))), P.UNREADABLE, "response"),
    "token-without-its-response": (lambda: _token(stamped()), P.UNREADABLE, "response"),
    "token-without-a-policy": (
        lambda: authority().sign(tst_info(MANIFEST, policy=None)),
        P.UNREADABLE,
        "response",
    ),
    "token-with-a-local-time": (
        lambda: authority().sign(tst_info(MANIFEST, time="20260301100000+0100")),
        P.UNREADABLE,
        "response",
    ),
    "token-beyond-the-calendar": (
        lambda: authority().sign(tst_info(MANIFEST, time="99991231235959Z", accuracy=_accuracy(integer(1)))),
        P.UNREADABLE,
        "years",
    ),
    "token-that-says-nothing": (lambda: authority().sign(b"nothing"), P.UNREADABLE, "response"),
    "a-byte-too-many": (lambda: stamped() + b"\0", P.UNREADABLE, "response"),
    "cut-off": (lambda: stamped()[:-1], P.UNREADABLE, "response"),
    "empty": (lambda: b"", P.UNREADABLE, "response"),
    "too-long": (lambda: bytes(MAX_RESPONSE_BYTES + 1), P.UNREADABLE, "at most 65536"),
    "an-ots-proof": (lambda: b"\0OpenTimestamps\0\0Proof\0", P.UNREADABLE, "response"),
}


def _token(response: bytes) -> bytes:
    part = children(response, whole(response))[1]
    return response[part.at : part.end]


@pytest.mark.parametrize("name", REFUSED)
def test_a_response_that_proves_nothing_says_why(name: str) -> None:
    make, problem, detail = REFUSED[name]
    outcome = prove(anchored(make()), authority().trust())
    assert isinstance(outcome, AnchorFault)
    assert outcome.problem is problem
    assert detail in outcome.detail
    assert len(outcome.detail) < 200


def test_a_certificate_that_no_library_reads_makes_no_check_fail() -> None:
    """They stand outside of what is signed: anybody can change them on the way."""
    raw = stamped()
    explicit = children(raw, children(raw, whole(raw))[1])[1]
    held = next(part for part in children(raw, children(raw, explicit)[0]) if part.tag == 0xA0)
    details = []
    for part in children(raw, held):
        certificate = raw[part.at : part.end]
        # Version 3 is written as 2. There is no version 7.
        unread = certificate.replace(bytes.fromhex("a003020102"), bytes.fromhex("a003020106"), 1)
        outcome = prove(anchored(raw[: part.at] + unread + raw[part.end :]), authority().trust())
        assert isinstance(outcome, AnchorFault)
        assert outcome.problem is P.UNTRUSTED
        details.append(outcome.detail)
    assert any("version" in detail for detail in details)


def _same_name() -> AnchorTrust:
    return AnchorTrust(roots=(issue("Local root", ca=True).certificate,))


DISTRUST: dict[str, tuple[Callable[[], AnchorTrust], AnchorProblem]] = {
    "no-roots": (AnchorTrust, P.UNCHECKED),
    "another-root": (lambda: AnchorTrust(roots=(issue("Other", ca=True).certificate,)), P.UNTRUSTED),
    "another-root-of-the-same-name": (_same_name, P.UNTRUSTED),
    "another-policy": (lambda: authority().trust(policies=frozenset({"1.2.3"})), P.UNTRUSTED),
    "no-policy": (lambda: authority().trust(policies=frozenset()), P.UNTRUSTED),
}


@pytest.mark.parametrize("name", DISTRUST)
def test_an_honest_token_proves_nothing_to_one_who_does_not_trust_its_authority(name: str) -> None:
    make, problem = DISTRUST[name]
    outcome = prove(anchored(stamped()), make())
    assert isinstance(outcome, AnchorFault)
    assert outcome.problem is problem


# Properties.


@given(st.data())
@settings(max_examples=400)
def test_no_flipped_byte_of_a_token_proves_another_time(data: st.DataObject) -> None:
    """Some bytes are outside of what is signed; whatever they are, the time stays, and no other manifest."""
    honest = prove(anchored(stamped()), authority().trust())
    assert isinstance(honest, ProvenAnchor)
    raw = bytearray(stamped())
    raw[data.draw(st.integers(0, len(raw) - 1), label="byte")] ^= data.draw(st.integers(1, 255), label="flip")
    outcome = prove(anchored(bytes(raw)), authority().trust())
    if isinstance(outcome, ProvenAnchor):
        assert (outcome.at, outcome.manifest) == (honest.at, MANIFEST)
        assert outcome.token != honest.token
    assert isinstance(prove(anchored(bytes(raw), OTHER), authority().trust()), AnchorFault)


def test_no_single_flip_of_a_low_or_high_bit_makes_the_check_fail() -> None:
    """Each byte in turn: also where the library would only warn, such as of a serial number below 1."""
    raw = stamped()
    for place in range(0, len(raw)):
        for flip in (1, 128):
            changed = raw[:place] + bytes([raw[place] ^ flip]) + raw[place + 1 :]
            outcome = prove(anchored(changed), authority().trust())
            assert isinstance(outcome, AnchorFault) or outcome.manifest == MANIFEST


@given(st.data())
@settings(max_examples=200)
def test_no_bytes_make_the_check_fail(data: st.DataObject) -> None:
    """Pieces of honest responses, put together anyhow, are judged."""
    pieces = st.builds(
        lambda start, size: stamped()[start : start + size], st.integers(0, 1200), st.integers(0, 200)
    )
    raw = b"".join(data.draw(st.lists(st.one_of(st.binary(max_size=20), pieces), max_size=6)))
    assert isinstance(prove(anchored(raw), authority().trust()), AnchorFault)
