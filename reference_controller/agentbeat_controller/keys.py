"""The Controller's folder: its secrets and its signing key, readable by their owner only.

    control.secret               bearer secret of the control plane; Core gets it, nobody else
    business/<deployment>.secret bearer secret of the business plane, one per Deployment, for its tools
    signing.key                  Ed25519 private key that signs receipts, PKCS#8 PEM
    controller.id                the Controller's id, made up on first start unless one is given

What is missing is made on first use: written whole to a file of another name, then linked to its own, so a
crash leaves no half of a key and two processes that start at once end up with the same one. A folder or file
that the group or others may read, or that belongs to somebody else, is refused: whoever could read it then
may have it still, so it is not put right silently.

    keys = KeyFolder.open(Path("~/.agentbeat/controller").expanduser())
    keys.control_secret(), keys.signer().verify_key
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy.engine import URL

from agentbeat_controller.receipts import ReceiptSigner

__all__ = ["KeyFolder", "KeyFolderError"]

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_OTHERS: Final = 0o077
_LONGEST_FILE: Final = 64 * 1024
_LONGEST_NAME: Final = 200

#: What `token_urlsafe(32)` writes, and anything else that a header can carry: at least 32 visible characters.
_SECRET: Final = re.compile(r"[\x21-\x7e]{32,256}")
_CONTROLLER_ID: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,256}")


class KeyFolderError(Exception):
    """The folder or a file in it cannot be trusted or used; the message names the path, never a content."""


class KeyFolder:
    """A folder of keys and secrets, open to its owner only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Path) -> KeyFolder:
        """The folder at `path`, made with mode 0700 where it is missing.

        Raises:
            KeyFolderError: it cannot be made, is no folder, belongs to somebody else or is open to others.
        """
        absolute = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - a symbolic link may stay one
        _make_folder(absolute)
        return cls(absolute)

    @property
    def default_database(self) -> URL:
        """The database that lies in the folder."""
        return URL.create("sqlite", database=str(self.path / "controller.db"))

    @property
    def control_secret_path(self) -> Path:
        """Where the control plane's secret stands."""
        return self.path / "control.secret"

    def business_secret_path(self, deployment_profile_id: str) -> Path:
        """Where the Deployment's business secret stands: its id percent-encoded, a very long one hashed."""
        name = quote(deployment_profile_id, safe="")
        if len(name) > _LONGEST_NAME:
            name = "sha256%3A" + hashlib.sha256(deployment_profile_id.encode()).hexdigest()
        return self.path / "business" / f"{name}.secret"

    @property
    def signing_key_path(self) -> Path:
        """Where the signing key stands."""
        return self.path / "signing.key"

    @property
    def has_signing_key(self) -> bool:
        """Whether something stands where the signing key belongs."""
        return os.path.lexists(self.signing_key_path)

    def control_secret(self) -> str:
        """The control plane's secret, made up on first use."""
        return self._secret(self.control_secret_path)

    def business_secret(self, deployment_profile_id: str) -> str:
        """The business secret of one Deployment, made up on first use."""
        path = self.business_secret_path(deployment_profile_id)
        _make_folder(path.parent)
        return self._secret(path)

    def signer(self) -> ReceiptSigner:
        """The signer of receipts; its key is generated on first use."""
        path = self.signing_key_path
        pem = _read_or_make(path, lambda: ReceiptSigner.generate().to_pem())
        try:
            return ReceiptSigner.from_pem(pem)
        except ValueError as error:
            raise KeyFolderError(f"{path}: {error}") from None

    def controller_id(self, wanted: str | None = None) -> str:
        """The Controller's id, for good: `wanted` on first use, else a random one.

        Raises:
            KeyFolderError: `wanted` is not the id that this folder has.
        """
        if wanted is not None and not _CONTROLLER_ID.fullmatch(wanted):
            raise KeyFolderError("a controller id is 1 to 256 characters without control characters")
        path = self.path / "controller.id"
        made_up = wanted or f"controller-{secrets.token_hex(8)}"
        found = _text(path, _read_or_make(path, made_up.encode))
        if not _CONTROLLER_ID.fullmatch(found):
            raise KeyFolderError(f"{path}: expected a controller id on one line")
        if wanted is not None and wanted != found:
            raise KeyFolderError(f"{path}: this folder belongs to another controller id")
        return found

    def _secret(self, path: Path) -> str:
        found = _text(path, _read_or_make(path, lambda: secrets.token_urlsafe(32).encode()))
        if not _SECRET.fullmatch(found):
            raise KeyFolderError(f"{path}: expected one line of 32 to 256 visible ASCII characters")
        return found


def _text(path: Path, raw: bytes) -> str:
    """A file of one line; an editor's newline at its end is no part of it."""
    try:
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise KeyFolderError(f"{path}: expected UTF-8 text") from None


def _make_folder(path: Path) -> None:
    try:
        for folder in (*reversed(path.parents), path):
            if not folder.is_dir():
                folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
        found = path.stat()
    except OSError as error:
        raise KeyFolderError(f"{path}: {error.strerror}") from None
    _check_owner(path, found, _FOLDER_MODE)


def _check_owner(path: Path, found: os.stat_result, wanted: int) -> None:
    if found.st_uid != os.geteuid():
        raise KeyFolderError(f"{path}: belongs to another user")
    if found.st_mode & _OTHERS:
        raise KeyFolderError(
            f"{path}: open to others (mode {stat.S_IMODE(found.st_mode):04o}); expected {wanted:04o}. "
            f"Treat what stands there as known to others, or set the mode with chmod"
        )


def _read_or_make(path: Path, make: Callable[[], bytes]) -> bytes:
    """The bytes of a file; where there is none, `make` writes them, once for all processes."""
    try:
        try:
            return _read(path)
        except FileNotFoundError:
            _write_once(path, make())
            return _read(path)
    except OSError as error:
        raise KeyFolderError(f"{path}: {error.strerror}") from None


def _read(path: Path) -> bytes:
    # Not blocking, or a pipe in the place of a key would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise KeyFolderError(f"{path}: expected a regular file")
        _check_owner(path, found, _FILE_MODE)
        return os.read(descriptor, _LONGEST_FILE)
    finally:
        os.close(descriptor)


def _write_once(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        try:
            os.link(draft, path, follow_symlinks=False)
        except FileExistsError:
            return  # another process was first; its content holds
        _sync_folder(path.parent)
    finally:
        draft.unlink()


def _sync_folder(path: Path) -> None:
    """Make the new name survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
