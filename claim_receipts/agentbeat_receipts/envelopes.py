"""Openings encrypted to the auditor: HPKE (RFC 9180) with X25519, HKDF-SHA256 and AES-256-GCM.

An envelope is the encapsulated key (32 bytes), then the ciphertext with its tag. Its `info` binds it to the
one place where it belongs: PAE over the canonical JSON of manifest digest, assignment, ticket digest (null
where there are no tickets) and the opening's commitment. An envelope moved to another assignment, or to
another opening's receipt, does not open.

>>> from agentbeat_receipts.keys import Keyring
>>> auditor = Keyring.generate()
>>> binding = Binding(manifest="sha256:00", assignment="a-1", ticket=None, commitment="hmac-sha256:00")
>>> envelope = seal(b"opening", auditor.public, binding)
>>> unseal(envelope, auditor.auditor, binding)
b'opening'
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from agentbeat_receipts.canonical import canonical_bytes, pae
from agentbeat_receipts.keys import PublicKeyring

__all__ = ["ENVELOPE_OVERHEAD", "Binding", "EnvelopeError", "envelope_digest", "seal", "unseal"]

#: The type name in the PAE of an envelope's `info`.
INFO_TYPE: Final = "application/vnd.agentbeat.claims.envelope-info.v1+json"

#: How much longer an envelope is than its content, in bytes: encapsulated key and tag.
ENVELOPE_OVERHEAD: Final = 32 + 16

_SUITE: Final = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


class EnvelopeError(ValueError):
    """The envelope does not open with this key and binding; why is not to be known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The one place where an envelope belongs.

    Args:
        manifest: digest of the manifest.
        assignment: id of the assignment.
        ticket: digest of the assignment's ticket; None where runs had none.
        commitment: the receipt's commitment to the opening without its nonce.
    """

    manifest: str
    assignment: str
    ticket: str | None
    commitment: str

    def info(self) -> bytes:
        """HPKE's `info`."""
        place = {
            "manifest": self.manifest,
            "assignment": self.assignment,
            "ticket": self.ticket,
            "commitment": self.commitment,
        }
        return pae(INFO_TYPE, canonical_bytes(place))


def seal(content: bytes, keyring: PublicKeyring, binding: Binding) -> bytes:
    """The envelope of `content` that only the keyring's auditor opens, and only at this place."""
    return _SUITE.encrypt(content, X25519PublicKey.from_public_bytes(keyring.auditor), info=binding.info())


def unseal(envelope: bytes, auditor: X25519PrivateKey, binding: Binding) -> bytes:
    """What was sealed.

    Raises:
        EnvelopeError: another key, another place, or changed bytes.
    """
    try:
        return _SUITE.decrypt(envelope, auditor, info=binding.info())
    except (InvalidTag, ValueError):
        raise EnvelopeError("the envelope does not open with this key at this place") from None


def envelope_digest(envelope: bytes) -> str:
    """`sha256:` and the hex of SHA-256 over the envelope's bytes, as the receipt carries it."""
    return "sha256:" + hashlib.sha256(envelope).hexdigest()
