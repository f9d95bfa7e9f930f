"""A keyring as a folder that only its owner can read.

    manifest_authority.key   PKCS#8 PEM, mode 0600
    ingress_authority.key    likewise
    auditor.key              likewise
    public.json              each role with its public key in base64, and "version": 1

`public.json` is what goes to those who verify; it may lie anywhere and have any mode. A folder or private
file that the group or others may read, that belongs to somebody else or is a symbolic link, is refused: it
is not put right silently, for whoever could read it may have it still. So is a private key that is not the
one of its role in `public.json`. Nothing that exists is overwritten.

    keyring = create_keyring(Path("keys"))
    keyring == load_keyring(Path("keys"))
    public = load_public_keyring(Path("keys/public.json"))
    auditor = load_auditor_key(Path("auditor.key"))    # a party that holds one key needs no folder

Whoever holds some of the keys only, such as the operator of the ingress, keeps a folder with these keys and
`public.json` (see `held_keys`).
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from pathlib import Path
from typing import Annotated, Final, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from pydantic import StringConstraints

from agentbeat_protocol import ProtocolError
from agentbeat_protocol.models import Strict, validated
from agentbeat_receipts.canonical import canonical_bytes, read_exact
from agentbeat_receipts.keys import KeyRefused, Keyring, PublicKeyring, Role

__all__ = [
    "PUBLIC_FILE",
    "PublicFile",
    "check_private_folder",
    "create_keyring",
    "load_auditor_key",
    "load_keyring",
    "load_public_keyring",
    "load_signing_key",
    "public_keyring_bytes",
    "read_public_keyring",
    "write_keyring",
]

#: The file of a keyring's folder that is no secret.
PUBLIC_FILE: Final = "public.json"

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_OTHERS: Final = 0o077
_LONGEST_FILE: Final = 16 * 1024

_Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]{43}=$")]


class PublicFile(Strict):
    """The members of `public.json`."""

    version: Literal[1]
    manifest_authority: _Key
    ingress_authority: _Key
    auditor: _Key


def create_keyring(folder: Path) -> Keyring:
    """Three new keys in a new folder, or in an empty one of the owner's.

    Raises:
        KeyRefused: the folder is not empty, belongs to somebody else or is open to others.
    """
    keyring = Keyring.generate()
    write_keyring(folder, keyring)
    return keyring


def write_keyring(folder: Path, keyring: Keyring) -> None:
    """Keys that are there already, such as a generated corpus has, as `create_keyring` writes new ones.

    Raises:
        KeyRefused: the folder is not empty, belongs to somebody else or is open to others.
    """
    folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    check_private_folder(folder)
    if any(folder.iterdir()):
        raise KeyRefused(f"{folder}: not empty, and no key is overwritten")
    for role in Role:
        pem = _private_key(keyring, role).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        _write_new(folder / f"{role}.key", pem)
    _write_new(folder / PUBLIC_FILE, public_keyring_bytes(keyring.public) + b"\n")


def load_keyring(folder: Path) -> Keyring:
    """The keyring of a folder.

    Raises:
        KeyRefused: the folder or a file is open to others, or a key is not the one of its role.
        OSError: a file is missing or cannot be read.
    """
    check_private_folder(folder)
    keyring = Keyring(
        manifest_authority=_signing_key(folder, Role.MANIFEST_AUTHORITY),
        ingress_authority=_signing_key(folder, Role.INGRESS_AUTHORITY),
        auditor=load_auditor_key(folder / f"{Role.AUDITOR}.key"),
    )
    declared = load_public_keyring(folder / PUBLIC_FILE)
    for role in Role:
        if keyring.public.key(role) != declared.key(role):
            raise KeyRefused(f"{folder / f'{role}.key'}: not the key of {role} in {PUBLIC_FILE}")
    return keyring


def load_public_keyring(path: Path) -> PublicKeyring:
    """The public keyring of a file: `public.json`, wherever it lies.

    Raises:
        KeyRefused: it is no such document, or one of its keys is unsound.
        OSError: it cannot be read.
    """
    return read_public_keyring(_read(path))


def load_signing_key(path: Path, role: Role) -> Ed25519PrivateKey:
    """The private key of a file, for a role that signs.

    Raises:
        KeyRefused: the file is open to others, or holds no Ed25519 key.
        OSError: it cannot be read.
    """
    key = _load(path)
    if not isinstance(key, Ed25519PrivateKey):
        raise _another_algorithm(path, role)
    return key


def load_auditor_key(path: Path) -> X25519PrivateKey:
    """The private key of a file, for the auditor.

    Raises:
        KeyRefused: the file is open to others, or holds no X25519 key.
        OSError: it cannot be read.
    """
    key = _load(path)
    if not isinstance(key, X25519PrivateKey):
        raise _another_algorithm(path, Role.AUDITOR)
    return key


def check_private_folder(folder: Path) -> None:
    """See that nobody but its owner can look into a folder of keys.

    Raises:
        KeyRefused: it is no folder, a link, somebody else's, or open to others.
        OSError: it is not there.
    """
    _check_private(folder, is_folder=True)


def public_keyring_bytes(keyring: PublicKeyring) -> bytes:
    """The canonical JSON of `public.json`."""
    keys = {role.value: base64.b64encode(keyring.key(role)).decode() for role in Role}
    return canonical_bytes({"version": 1, **keys})


def read_public_keyring(raw: bytes) -> PublicKeyring:
    """The public keyring that `public.json` spells.

    Raises:
        KeyRefused: it is no such document, or one of its keys is unsound.
    """
    try:
        found = validated(PublicFile, read_exact(raw))
        keys = {role.value: base64.b64decode(getattr(found, role.value), validate=True) for role in Role}
    except (ProtocolError, binascii.Error) as error:
        raise KeyRefused(f"public keyring: {error}") from None
    return PublicKeyring(**keys)


def _private_key(keyring: Keyring, role: Role) -> Ed25519PrivateKey | X25519PrivateKey:
    if role is Role.AUDITOR:
        return keyring.auditor
    return keyring.manifest_authority if role is Role.MANIFEST_AUTHORITY else keyring.ingress_authority


def _signing_key(folder: Path, role: Role) -> Ed25519PrivateKey:
    return load_signing_key(folder / f"{role}.key", role)


def _another_algorithm(path: Path, role: Role) -> KeyRefused:
    return KeyRefused(f"{path}: a key of another algorithm than {role} has")


def _load(path: Path) -> object:
    _check_private(path, is_folder=False)
    pem = _read(path)
    try:
        return load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):
        raise KeyRefused(f"{path}: no unencrypted private key in PEM") from None


def _check_private(path: Path, *, is_folder: bool) -> None:
    status = path.lstat()
    expected = stat.S_ISDIR(status.st_mode) if is_folder else stat.S_ISREG(status.st_mode)
    if not expected:
        raise KeyRefused(f"{path}: expected a {'folder' if is_folder else 'file'} and no link")
    if status.st_uid != os.geteuid():
        raise KeyRefused(f"{path}: belongs to somebody else")
    if status.st_mode & _OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise KeyRefused(f"{path}: mode {mode:04o} lets others in, expected {mode & ~_OTHERS:04o}")


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(_LONGEST_FILE + 1)
    if len(raw) > _LONGEST_FILE:
        raise KeyRefused(f"{path}: longer than {_LONGEST_FILE} bytes")
    return raw


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
