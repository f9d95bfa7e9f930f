"""Where a batch is kept while it runs: the bundle's folder, and beside it what nobody else may see.

    claim/            the bundle: may be given away at any time
    claim.private/    owner only: the salt of the cases, the journal of attempts, the auditor's key, a lock

A document is written whole or not at all: to a file beside, to the disk, then into its place. Killed at any
moment, the bundle holds a prefix of the chain and nothing that cannot be read.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agentbeat_core.receipts.errors import BatchError
from agentbeat_receipts.bundle_folders import held_documents
from agentbeat_receipts.bundles import BundleError, bundle_files, read_bundle
from agentbeat_receipts.keyring_files import check_private_folder
from agentbeat_receipts.keys import KeyRefused, PublicKeyring
from agentbeat_receipts.objects import (
    ClosingRecord,
    Document,
    Manifest,
    Receipt,
    Ticket,
    TimeAnchor,
    signature_fault,
)

__all__ = ["BatchStore", "Held"]

_SALT: Final = "salt"
_LOCK: Final = "lock"
_JOURNAL: Final = "journal.jsonl"
_SALT_BYTES: Final = 32
_AUDITOR: Final = "auditor"
_BESIDE: Final = "writing"
_REPORT: Final = "report.json"
_ENVELOPES: Final = "envelopes/"
_RECEIPTS: Final = "receipts/"


class Held:
    """What a bundle holds of a batch that was begun.

    Raises:
        BatchError: a signature does not hold.
    """

    def __init__(self, documents: Iterable[Document], keyring: PublicKeyring) -> None:
        self._bodies = []
        for document in documents:
            fault = signature_fault(document, keyring)
            if fault is not None:
                raise BatchError(f"bundle: a {type(document.body).__name__} with {fault}")
            self._bodies.append(document.body)

    @property
    def manifest(self) -> Manifest | None:
        """The manifest; None where none is there."""
        found = [body for body in self._bodies if isinstance(body, Manifest)]
        return found[0] if found else None

    @property
    def anchors(self) -> tuple[TimeAnchor, ...]:
        """The time anchors."""
        return tuple(body for body in self._bodies if isinstance(body, TimeAnchor))

    @property
    def tickets(self) -> tuple[Ticket, ...]:
        """The tickets."""
        return tuple(body for body in self._bodies if isinstance(body, Ticket))

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts, in the order of the chain."""
        found = (body for body in self._bodies if isinstance(body, Receipt))
        return tuple(sorted(found, key=lambda receipt: receipt.sequence))

    @property
    def closed(self) -> bool:
        """Whether the batch was closed."""
        return any(isinstance(body, ClosingRecord) for body in self._bodies)


class BatchStore:
    """The two folders of a batch. A context manager: nobody else works on them meanwhile.

    Args:
        bundle: the bundle's folder.
        resume: whether the batch was begun before.

    Raises:
        BatchError: the folders are there and should not be, or the other way round; or another process is
            at work on them.
    """

    def __init__(self, bundle: Path, *, resume: bool) -> None:
        self.bundle = bundle
        self.private = bundle.with_name(f"{bundle.name}.private")
        if resume:
            self._check_begun()
        else:
            self._make()
        self._lock = self._locked()
        try:
            self.salt = self._salt() if resume else self._new_salt()
        except BaseException:
            self.close()
            raise

    @property
    def journal(self) -> Path:
        """The journal's file."""
        return self.private / _JOURNAL

    def held(self, keyring: PublicKeyring) -> Held:
        """What the bundle holds.

        Raises:
            BatchError: it cannot be read, or a signature does not hold.
        """
        if not any(self.bundle.iterdir()):
            return Held((), keyring)
        try:
            return Held(held_documents(read_bundle(self.bundle)), keyring)
        except (BundleError, OSError) as error:
            raise BatchError(f"bundle: {error}") from None

    def seal_to(self, auditor: bytes) -> None:
        """All evidence of the batch is sealed to this public key.

        Raises:
            BatchError: some of it may be sealed to another one.
        """
        place, text = self.private / _AUDITOR, auditor.hex().encode()
        if not place.exists():
            self._write(place, text, mode=0o600)
        elif place.read_bytes() != text:
            raise BatchError(
                "keyring: another auditor than the batch was begun with, who could open it in part"
            )

    def add(self, *documents: Document) -> None:
        """Write documents, each whole or not at all, in this order.

        Raises:
            BatchError: another one is in its place.
            OSError: it cannot be written.
        """
        for document in documents:
            for path, content in bundle_files([document]).items():
                self._place(path, content)

    def close(self) -> None:
        """Let others work on the folders."""
        os.close(self._lock)

    def __enter__(self) -> BatchStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _place(self, path: str, content: bytes) -> None:
        place = self.bundle / path
        if place.exists():
            if place.read_bytes() == content:
                return
            if not self._may_be_replaced(path):
                raise BatchError(f"bundle: another {path} is there, and nothing is overwritten")
        place.parent.mkdir(exist_ok=True)
        self._write(place, content)

    def _may_be_replaced(self, path: str) -> bool:
        """The report, and an envelope whose receipt was never written."""
        if path.startswith(_ENVELOPES):
            return not (self.bundle / path.replace(_ENVELOPES, _RECEIPTS, 1)).exists()
        return path == _REPORT

    def _write(self, place: Path, content: bytes, *, mode: int = 0o666) -> None:
        beside = self.private / _BESIDE
        # One that a killed process has left would keep its mode.
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
        _sync(place.parent)

    def _make(self) -> None:
        for folder, own in ((self.bundle, ()), (self.private, (_LOCK, _BESIDE))):
            # Killed before there was a salt, a process leaves nothing but its lock.
            if folder.is_symlink() or (folder.exists() and not _holds_only(folder, own)):
                raise BatchError(f"{folder}: there already; --resume goes on with a batch that was begun")
        try:
            self.bundle.mkdir(exist_ok=True)
            self.private.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise BatchError(f"{self.bundle}: {error.strerror}") from None
        self._check_private()

    def _check_begun(self) -> None:
        if not self.bundle.is_dir() or not (self.private / _SALT).is_file():
            raise BatchError(f"{self.bundle}: no batch was begun here")
        self._check_private()

    def _check_private(self) -> None:
        try:
            check_private_folder(self.private)
        except (KeyRefused, OSError) as error:
            raise BatchError(str(error)) from None

    def _new_salt(self) -> bytes:
        place, salt = self.private / _SALT, secrets.token_bytes(_SALT_BYTES)
        if place.exists():
            raise BatchError(f"{self.bundle}: another process has begun it")
        self._write(place, salt.hex().encode(), mode=0o600)
        return salt

    def _salt(self) -> bytes:
        place = self.private / _SALT
        try:
            salt = bytes.fromhex(place.read_text(encoding="ascii"))
        except ValueError:
            salt = b""
        if len(salt) != _SALT_BYTES:
            raise BatchError(f"{place}: expected {_SALT_BYTES} bytes in hex")
        return salt

    def _locked(self) -> int:
        descriptor = os.open(self.private / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise BatchError(f"{self.bundle}: another process is at work on it") from None
        return descriptor


def _holds_only(folder: Path, names: Iterable[str]) -> bool:
    return folder.is_dir() and {path.name for path in folder.iterdir()} <= set(names)


def _sync(folder: Path) -> None:
    """What was renamed into a folder is there after a crash of the machine too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
