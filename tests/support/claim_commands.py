"""`agentbeat claims` run in this process, and bundles of the toy domain for it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from agentbeat_core.cli import main
from agentbeat_receipts.bundles import write_bundle
from agentbeat_receipts.keyring_files import create_keyring, public_keyring_bytes
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import Manifest
from support.claim_batches import kiosk_manifest
from support.receipt_batches import Parts, keyring

__all__ = [
    "Ran",
    "auditor_file",
    "bundle",
    "claims",
    "draft",
    "files",
    "keys",
    "public_file",
    "retrospective",
    "signed",
]


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def claims(*arguments: object) -> Ran:
    """Run `agentbeat claims` with these arguments."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(["claims", *map(str, arguments)])
        except SystemExit as ended:
            code = int(ended.code or 0)
    out.flush()
    return Ran(code, out.buffer.getvalue().decode(), err.getvalue())  # type: ignore[attr-defined]


def keys(folder: Path) -> Keyring:
    """A new keyring in `keys`."""
    return create_keyring(folder / "keys")


def public_file(folder: Path) -> Path:
    """The public keyring of the toy batches, as a file."""
    path = folder / "public.json"
    path.write_bytes(public_keyring_bytes(keyring().public))
    return path


def bundle(folder: Path, parts: Parts, name: str = "claim") -> Path:
    """A batch as a bundle."""
    write_bundle(folder / name, parts.documents())
    return folder / name


def auditor_file(folder: Path) -> Path:
    """The auditor's private key of the toy batches, as a file of its own."""
    path = folder / "auditor.key"
    path.write_bytes(keyring().auditor.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    return path


def retrospective(**changes: object) -> Manifest:
    """The toy domain's manifest, made afterwards, without contracts: everything it claims can pass."""
    return kiosk_manifest(**{"mode": "retrospective", "contracts": (), **changes})


def draft(folder: Path, of: Manifest | None = None, **changes: Any) -> Path:
    """The members of a manifest as a file."""
    path = folder / "draft.json"
    path.write_text(json.dumps({**(of or kiosk_manifest()).model_dump(mode="json"), **changes}, indent=1))
    return path


def signed(folder: Path, of: Manifest | None = None) -> Path:
    """A bundle with its manifest, signed by the keyring in `keys`."""
    keys(folder)
    made = claims("manifest", draft(folder, of), "--keyring", folder / "keys", "--out", folder / "claim")
    assert made.code == 0, made.err
    return folder / "claim"


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
