"""What every worker knows from its start, in a form that can be sent to another process."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agentbeat_receipts.claims.domains import Domain
from agentbeat_receipts.keys import PublicKeyring, Role

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Keys and domains.

    Args:
        keys: the raw public keys, by role.
        private: the auditor's raw private key; None without one.
        domains: what can be replayed, by name.
        blind: what nonces are hashed with, other each time.
    """

    keys: dict[str, bytes]
    private: bytes | None = field(repr=False)
    domains: dict[str, Domain]
    blind: bytes = field(repr=False)

    @classmethod
    def of(
        cls, keyring: PublicKeyring, auditor: X25519PrivateKey | None, domains: Iterable[Domain]
    ) -> Settings:
        """The settings of one verification."""
        return cls(
            keys={str(role): keyring.key(role) for role in Role},
            private=None if auditor is None else auditor.private_bytes_raw(),
            domains={domain.name: domain for domain in domains},
            blind=secrets.token_bytes(32),
        )

    def stand_in(self, nonce: bytes) -> bytes:
        """What stands for a nonce, so that equal ones can be told without putting secrets down."""
        return hashlib.blake2b(nonce, key=self.blind, digest_size=32).digest()

    @cached_property
    def keyring(self) -> PublicKeyring:
        """The public keys."""
        return PublicKeyring(**self.keys)

    @cached_property
    def auditor(self) -> X25519PrivateKey | None:
        """The auditor's private key."""
        return None if self.private is None else X25519PrivateKey.from_private_bytes(self.private)
