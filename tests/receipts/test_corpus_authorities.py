"""The corpus' own time-stamping authority: its tokens hold against its own root only, and witness nothing."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from agentbeat_receipts.anchors import AnchorFault, AnchorProblem, AnchorTrust, ProvenAnchor, prove
from agentbeat_receipts.corpus import corpus_authority, corpus_seed
from agentbeat_receipts.corpus.authorities import AUTHORITY_NAME
from agentbeat_receipts.objects import TimeAnchor

MANIFEST = "sha256:" + "5a" * 32
SEED = corpus_seed(1)


def _anchor(token: bytes, manifest: str = MANIFEST) -> TimeAnchor:
    return TimeAnchor(manifest=manifest, form="rfc3161", token=base64.b64encode(token).decode())


def test_a_token_proves_the_authoritys_one_time_against_its_root() -> None:
    authority = corpus_authority(SEED)
    trust = AnchorTrust.read(roots=authority.root_pem())
    proven = prove(_anchor(authority.stamp(MANIFEST)), trust)
    assert isinstance(proven, ProvenAnchor)
    assert str(proven.at) == "2026-01-01T00:00:01Z"


@pytest.mark.parametrize("manifest", ["sha256:" + digit * 64 for digit in "018f"])
def test_tokens_over_any_digest_can_be_read(manifest: str) -> None:
    authority = corpus_authority(SEED)
    assert isinstance(prove(_anchor(authority.stamp(manifest), manifest), authority.trust()), ProvenAnchor)


def test_a_token_over_one_manifest_proves_nothing_of_another() -> None:
    authority = corpus_authority(SEED)
    other = prove(_anchor(authority.stamp(MANIFEST), "sha256:" + "5b" * 32), authority.trust())
    assert isinstance(other, AnchorFault)
    assert other.problem is AnchorProblem.OTHER_CONTENT


def test_another_corpus_root_does_not_vouch_for_it() -> None:
    token = corpus_authority(SEED).stamp(MANIFEST)
    outcome = prove(_anchor(token), corpus_authority(corpus_seed(2)).trust())
    assert isinstance(outcome, AnchorFault)
    assert outcome.problem is AnchorProblem.UNTRUSTED


def test_one_changed_byte_of_the_signature_is_found() -> None:
    authority = corpus_authority(SEED)
    token = bytearray(authority.stamp(MANIFEST))
    token[-1] ^= 1
    outcome = prove(_anchor(bytes(token)), authority.trust())
    assert isinstance(outcome, AnchorFault)
    assert outcome.problem is AnchorProblem.UNTRUSTED


def test_one_seed_makes_the_same_certificates_and_tokens_byte_for_byte() -> None:
    one, other = corpus_authority(SEED), corpus_authority(SEED)
    assert one.root_pem() == other.root_pem()
    assert one.certificate.public_bytes(Encoding.DER) == other.certificate.public_bytes(Encoding.DER)
    assert one.stamp(MANIFEST) == other.stamp(MANIFEST)


def test_its_name_says_that_it_is_no_independent_witness() -> None:
    authority = corpus_authority(SEED)
    assert "no independent witness" in AUTHORITY_NAME
    for certificate in (authority.root, authority.certificate):
        assert AUTHORITY_NAME in certificate.subject.rfc4514_string().replace("\\,", ",")
