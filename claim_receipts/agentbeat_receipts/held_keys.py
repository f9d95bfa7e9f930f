"""The keys that one party holds: some private ones, and everybody's public ones.

The roles are apart for a reason: whoever promises should not be whoever writes down what happened, and an
auditor signs nothing. So the folder of one party has `public.json` and only the private keys that are its
own; what needs another one says which.

    manifest authority   manifest_authority.key  public.json
    ingress operator     ingress_authority.key   public.json
    auditor              auditor.key

    keys = load_held_keys(Path("ingress-keys"))
    ticket = keys.sign(body)                       # KeyRefused for what another role signs
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agentbeat_receipts.keyring_files import (
    PUBLIC_FILE,
    check_private_folder,
    load_auditor_key,
    load_public_keyring,
    load_signing_key,
)
from agentbeat_receipts.keys import SIGNING_ROLES, KeyRefused, PublicKeyring, Role
from agentbeat_receipts.objects import SIGNER, Body, Document

__all__ = ["HeldKeys", "load_held_keys"]

_NAME: Final = "{role}.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldKeys:
    """Some private keys of a keyring.

    Args:
        public: the public keys of every role.
        signing: the private keys that are held, of roles that sign.
        auditor: the auditor's private key, where it is held.
    """

    public: PublicKeyring
    signing: Mapping[Role, Ed25519PrivateKey] = field(repr=False)
    auditor: X25519PrivateKey | None = field(repr=False)

    def sign(self, body: Body) -> Document:
        """The body with the signature of the role that signs its type; as it is when none does.

        Raises:
            KeyRefused: that role's key is not held.
        """
        role = SIGNER[type(body)]
        if role is None:
            return Document(body=body)
        if role not in self.signing:
            kind = type(body).__name__
            raise KeyRefused(f"no {_NAME.format(role=role)} in the keyring: a {kind} is signed with it")
        signature = self.signing[role].sign(body.signed_bytes())
        return Document(body=body, signature=signature, key_id=self.public.key_id(role))


def load_held_keys(folder: Path) -> HeldKeys:
    """The keys of a folder: `public.json`, and whichever private keys lie beside it.

    Raises:
        KeyRefused: the folder or a private key is open to others, or a key is not the one of its role.
        OSError: `public.json` is missing, or a file cannot be read.
    """
    check_private_folder(folder)
    public = load_public_keyring(folder / PUBLIC_FILE)
    paths = {role: folder / _NAME.format(role=role) for role in Role}
    # A link is there too, even one that leads nowhere: it is refused, not overlooked.
    held = {role: path for role, path in paths.items() if path.is_symlink() or path.exists()}
    signing: dict[Role, Ed25519PrivateKey] = {
        role: load_signing_key(held[role], role) for role in SIGNING_ROLES if role in held
    }
    auditor = load_auditor_key(held[Role.AUDITOR]) if Role.AUDITOR in held else None
    found: dict[Role, bytes] = {role: key.public_key().public_bytes_raw() for role, key in signing.items()}
    if auditor is not None:
        found[Role.AUDITOR] = auditor.public_key().public_bytes_raw()
    for role, key in found.items():
        if key != public.key(role):
            raise KeyRefused(f"{paths[role]}: not the key of {role} in {PUBLIC_FILE}")
    return HeldKeys(public=public, signing=signing, auditor=auditor)
