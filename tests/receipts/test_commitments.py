"""Commitments bind and hide, each use under its own tag."""

from __future__ import annotations

import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.commitments import (
    NONCE_BYTES,
    Tag,
    commit,
    derived_nonce,
    fresh_nonce,
    is_commitment,
    opens,
)

NONCE = bytes(range(32))
COMMITTING = [tag for tag in Tag if tag is not Tag.DERIVED_NONCE]


def _hmac_by_hand(key: bytes, message: bytes) -> bytes:
    """RFC 2104 from its definition, with the hash function alone."""
    padded = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in padded) + message).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in padded) + inner).digest()


@pytest.mark.parametrize("tag", COMMITTING)
def test_a_commitment_is_the_hmac_over_tag_length_and_content(tag: Tag) -> None:
    content = "naïve".encode()
    framed = tag.value.encode() + b"\0" + struct.pack(">Q", len(content)) + content
    assert commit(NONCE, tag, content) == "hmac-sha256:" + _hmac_by_hand(NONCE, framed).hex()


@given(
    st.binary(max_size=64), st.binary(max_size=64), st.sampled_from(COMMITTING), st.sampled_from(COMMITTING)
)
def test_a_commitment_opens_to_its_content_and_tag_only(a: bytes, b: bytes, s: Tag, t: Tag) -> None:
    made = commit(NONCE, s, a)
    assert is_commitment(made)
    assert opens(made, NONCE, t, b) is ((a, s) == (b, t))


def test_another_nonce_gives_another_commitment() -> None:
    assert commit(fresh_nonce(), Tag.TRACE, b"x") != commit(fresh_nonce(), Tag.TRACE, b"x")


@pytest.mark.parametrize("length", [0, 16, 31, 33, 64])
def test_a_nonce_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} bytes, expected 32"):
        commit(bytes(length), Tag.TRACE, b"")


def test_the_tag_of_derived_nonces_makes_no_commitment() -> None:
    with pytest.raises(ValueError, match="derived"):
        commit(NONCE, Tag.DERIVED_NONCE, b"")


def test_tags_are_distinct_ascii_without_nul() -> None:
    assert len({tag.value for tag in Tag}) == len(Tag)
    assert all(tag.value.isascii() and "\0" not in tag.value for tag in Tag)


def test_derived_nonces_come_out_the_same_again_and_differ_by_seed_and_assignment() -> None:
    made = {derived_nonce(seed, name) for seed in (b"1", b"2") for name in ("a", "b")}
    assert len(made) == 4
    assert {len(nonce) for nonce in made} == {NONCE_BYTES}
    assert derived_nonce(b"1", "a") in made
    with pytest.raises(ValueError, match="0 bytes"):
        derived_nonce(b"", "a")


@pytest.mark.parametrize("text", [None, 1, "", "hmac-sha256:" + "A" * 64, "sha256:" + "a" * 64, "a" * 64])
def test_other_texts_are_no_commitment(text: object) -> None:
    assert not is_commitment(text)
