"""The operator's keys: those of both authorities, and never needed, the auditor's.

An operator signs what was promised and what happened. The auditor's private key opens evidence and may lie
elsewhere; to seal an envelope its public key is enough.
"""

from __future__ import annotations

from pathlib import Path

from agentbeat_core.receipts.errors import BatchError
from agentbeat_receipts.held_keys import HeldKeys, load_held_keys
from agentbeat_receipts.keys import SIGNING_ROLES, KeyRefused, PublicKeyring, Role

__all__ = ["Operator", "load_operator"]


class Operator:
    """Signs for the manifest authority and the ingress authority."""

    def __init__(self, held: HeldKeys) -> None:
        self._held = held

    @property
    def public(self) -> PublicKeyring:
        """The public keys of every role."""
        return self._held.public

    def sign(self, role: Role, message: bytes) -> bytes:
        """The role's signature.

        Raises:
            KeyRefused: its key is not held.
        """
        if role not in self._held.signing:
            raise KeyRefused(f"{role}: its key is not held")
        return self._held.signing[role].sign(message)


def load_operator(folder: Path) -> Operator:
    """The keys of a folder.

    Raises:
        BatchError: a key is missing, unsound or open to others.
    """
    try:
        held = load_held_keys(folder)
    except (KeyRefused, OSError) as error:
        raise BatchError(f"keyring: {error}") from None
    missing = [role for role in SIGNING_ROLES if role not in held.signing]
    if missing:
        raise BatchError(f"keyring: {folder} has no {missing[0]}.key")
    return Operator(held)
