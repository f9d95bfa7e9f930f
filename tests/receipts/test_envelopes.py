"""Envelopes open for the auditor, at their own place, unchanged; and for nobody else."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agentbeat_receipts.canonical import pae
from agentbeat_receipts.envelopes import (
    ENVELOPE_OVERHEAD,
    Binding,
    EnvelopeError,
    envelope_digest,
    seal,
    unseal,
)
from agentbeat_receipts.keys import Keyring

BINDING = Binding(
    manifest="sha256:" + "1" * 64,
    assignment="a-1",
    ticket="sha256:" + "2" * 64,
    commitment="hmac-sha256:" + "3" * 64,
)
CONTENT = b'{"profile":{"outside_option":12}}'


@pytest.fixture(scope="module")
def keyring() -> Keyring:
    return Keyring.generate()


def test_the_auditor_reads_what_was_sealed(keyring: Keyring) -> None:
    envelope = seal(CONTENT, keyring.public, BINDING)
    assert unseal(envelope, keyring.auditor, BINDING) == CONTENT
    assert len(envelope) == len(CONTENT) + ENVELOPE_OVERHEAD
    assert envelope_digest(envelope) == "sha256:" + hashlib.sha256(envelope).hexdigest()


def test_the_same_content_gives_another_envelope_each_time(keyring: Keyring) -> None:
    assert seal(CONTENT, keyring.public, BINDING) != seal(CONTENT, keyring.public, BINDING)


def test_info_is_the_pae_of_the_four_bound_values() -> None:
    body = (
        f'{{"assignment":"a-1","commitment":"{BINDING.commitment}",'
        f'"manifest":"{BINDING.manifest}","ticket":"{BINDING.ticket}"}}'
    )
    assert BINDING.info() == pae("application/vnd.agentbeat.claims.envelope-info.v1+json", body.encode())
    assert b'"ticket":null' in replace(BINDING, ticket=None).info()


@pytest.mark.parametrize("name", ["manifest", "assignment", "ticket", "commitment"])
def test_an_envelope_does_not_open_at_another_place(keyring: Keyring, name: str) -> None:
    envelope = seal(CONTENT, keyring.public, BINDING)
    with pytest.raises(EnvelopeError):
        unseal(envelope, keyring.auditor, replace(BINDING, **{name: "other"}))


def test_an_envelope_does_not_open_for_another_auditor(keyring: Keyring) -> None:
    with pytest.raises(EnvelopeError):
        unseal(seal(CONTENT, keyring.public, BINDING), X25519PrivateKey.generate(), BINDING)


def test_no_changed_or_shortened_envelope_opens(keyring: Keyring) -> None:
    envelope = seal(CONTENT, keyring.public, BINDING)
    for position in range(len(envelope)):
        changed = bytearray(envelope)
        changed[position] ^= 1
        with pytest.raises(EnvelopeError):
            unseal(bytes(changed), keyring.auditor, BINDING)
    for length in (0, 1, 31, 32, 47, len(envelope) - 1):
        with pytest.raises(EnvelopeError):
            unseal(envelope[:length], keyring.auditor, BINDING)


def _extract(salt: bytes, message: bytes) -> bytes:
    mac = hmac.HMAC(salt or bytes(32), hashes.SHA256())
    mac.update(message)
    return mac.finalize()


def _expand(key: bytes, info: bytes, length: int) -> bytes:
    return _extract(key, info + b"\1")[:length]


def _opened_by_hand(envelope: bytes, secret: X25519PrivateKey, info: bytes) -> bytes:
    """RFC 9180's base mode for our suite (0x0020, 0x0001, 0x0002) from its definition."""
    encapsulated, ciphertext = envelope[:32], envelope[32:]
    kem_suite = b"KEM\0\x20"
    shared = secret.exchange(X25519PublicKey.from_public_bytes(encapsulated))
    context = encapsulated + secret.public_key().public_bytes_raw()
    eae = _extract(b"", b"HPKE-v1" + kem_suite + b"eae_prk" + shared)
    shared = _expand(eae, b"\0\x20HPKE-v1" + kem_suite + b"shared_secret" + context, 32)
    suite = b"HPKE\0\x20\0\x01\0\x02"
    psk_id = _extract(b"", b"HPKE-v1" + suite + b"psk_id_hash")
    info_hash = _extract(b"", b"HPKE-v1" + suite + b"info_hash" + info)
    schedule = b"\0" + psk_id + info_hash
    root = _extract(shared, b"HPKE-v1" + suite + b"secret")
    key = _expand(root, b"\0\x20HPKE-v1" + suite + b"key" + schedule, 32)
    nonce = _expand(root, b"\0\x0cHPKE-v1" + suite + b"base_nonce" + schedule, 12)
    return AESGCM(key).decrypt(nonce, ciphertext, b"")


def test_an_envelope_is_rfc_9180s_base_mode(keyring: Keyring) -> None:
    """Another reader, written from the RFC, opens it: the suite and `info` are what we say they are."""
    envelope = seal(CONTENT, keyring.public, BINDING)
    assert _opened_by_hand(envelope, keyring.auditor, BINDING.info()) == CONTENT
