"""Who may say what: roles, their public keys as inputs of a verification, and the private side.

    manifest_authority  Ed25519  signs the manifest
    ingress_authority   Ed25519  signs tickets, checkpoint, receipts and closing record
    auditor             X25519   opens private evidence; signs nothing

Public keys are given to the verifier by whoever asks, never taken from a bundle: a bundle that brought its
own keys would vouch for itself. A keyring is refused as a whole (`KeyRefused`) when a key has a wrong length,
is no point of its curve, has small order, or stands in two roles, also when one is the other's twin on the
other form of the curve.

>>> keyring = Keyring.generate()
>>> signature = keyring.sign(Role.INGRESS_AUTHORITY, b"message")
>>> keyring.public.verifies(Role.INGRESS_AUTHORITY, signature, b"message")
True
>>> keyring.public.verifies(Role.MANIFEST_AUTHORITY, signature, b"message")
False
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum, unique
from itertools import combinations
from typing import Final, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from agentbeat_receipts.curve_points import KEY_BYTES, ed25519_fault, x25519_twin

__all__ = ["SIGNING_ROLES", "KeyRefused", "Keyring", "PublicKeyring", "Role", "Signer", "key_id"]


@unique
class Role(StrEnum):
    """A part in the making of receipts that has a key."""

    MANIFEST_AUTHORITY = "manifest_authority"
    INGRESS_AUTHORITY = "ingress_authority"
    AUDITOR = "auditor"


#: The roles that sign.
SIGNING_ROLES: Final = (Role.MANIFEST_AUTHORITY, Role.INGRESS_AUTHORITY)


class KeyRefused(ValueError):  # noqa: N818 - what happened, as a caller reads it
    """A key that must not have the role it stands in; the message never holds a private key."""


def key_id(public_key: bytes) -> str:
    """The name of a public key: `sha256:` and the hex of SHA-256 over its raw bytes."""
    return "sha256:" + hashlib.sha256(public_key).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKeyring:
    """One public key per role, 32 raw bytes each.

    Raises:
        KeyRefused: a key is unsound or stands in two roles.
    """

    manifest_authority: bytes
    ingress_authority: bytes
    auditor: bytes
    _verifiers: dict[Role, Ed25519PublicKey] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for role in SIGNING_ROLES:
            fault = ed25519_fault(self.key(role))
            if fault:
                raise KeyRefused(f"{role}: {fault}")
        _check_x25519(self.auditor)
        for one, other in combinations(Role, 2):
            if _forms(one, self.key(one)) & _forms(other, self.key(other)):
                raise KeyRefused(f"{one} and {other}: one key in two roles")
        verifiers = {role: Ed25519PublicKey.from_public_bytes(self.key(role)) for role in SIGNING_ROLES}
        object.__setattr__(self, "_verifiers", verifiers)

    def key(self, role: Role) -> bytes:
        """The raw public key of a role."""
        return {
            Role.MANIFEST_AUTHORITY: self.manifest_authority,
            Role.INGRESS_AUTHORITY: self.ingress_authority,
            Role.AUDITOR: self.auditor,
        }[role]

    def key_id(self, role: Role) -> str:
        """The name of a role's key."""
        return key_id(self.key(role))

    def verifies(self, role: Role, signature: bytes, message: bytes | memoryview) -> bool:
        """Whether the role's key made this signature over this message."""
        if role not in self._verifiers:
            raise ValueError(f"{role} signs nothing")
        try:
            self._verifiers[role].verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """The private keys of every role, for tests, demonstrations and operators that hold them all."""

    manifest_authority: Ed25519PrivateKey = field(repr=False)
    ingress_authority: Ed25519PrivateKey = field(repr=False)
    auditor: X25519PrivateKey = field(repr=False)
    public: PublicKeyring = field(init=False)

    def __post_init__(self) -> None:
        public = PublicKeyring(
            manifest_authority=self.manifest_authority.public_key().public_bytes_raw(),
            ingress_authority=self.ingress_authority.public_key().public_bytes_raw(),
            auditor=self.auditor.public_key().public_bytes_raw(),
        )
        object.__setattr__(self, "public", public)

    @classmethod
    def generate(cls) -> Keyring:
        """Three new keys."""
        return cls(
            manifest_authority=Ed25519PrivateKey.generate(),
            ingress_authority=Ed25519PrivateKey.generate(),
            auditor=X25519PrivateKey.generate(),
        )

    def sign(self, role: Role, message: bytes) -> bytes:
        """The role's signature, 64 bytes.

        Raises:
            ValueError: the role signs nothing.
        """
        if role is Role.MANIFEST_AUTHORITY:
            return self.manifest_authority.sign(message)
        if role is Role.INGRESS_AUTHORITY:
            return self.ingress_authority.sign(message)
        raise ValueError(f"{role} signs nothing")


class Signer(Protocol):
    """Whoever signs for the roles: a whole `Keyring`, or a party that holds what it needs of one."""

    @property
    def public(self) -> PublicKeyring:
        """The public keys of every role."""
        ...

    def sign(self, role: Role, message: bytes) -> bytes:
        """The role's signature, 64 bytes.

        Raises:
            ValueError: the role signs nothing, or its key is not held.
        """
        ...


def _check_x25519(key: bytes) -> None:
    if len(key) != KEY_BYTES:
        raise KeyRefused(f"{Role.AUDITOR}: {len(key)} bytes instead of {KEY_BYTES}")
    if int.from_bytes(key, "little") >= 2**255 - 19:
        raise KeyRefused(f"{Role.AUDITOR}: a spelling that is not canonical")
    try:
        # Any private key brings a point of small order to zero, which is refused there.
        X25519PrivateKey.from_private_bytes(bytes(KEY_BYTES)).exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        raise KeyRefused(f"{Role.AUDITOR}: a point of small order") from None


def _forms(role: Role, key: bytes) -> frozenset[bytes]:
    """The bytes under which a key could stand in another role."""
    return frozenset((key,)) if role is Role.AUDITOR else frozenset((key, x25519_twin(key)))
