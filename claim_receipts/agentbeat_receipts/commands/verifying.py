"""What `verify` and `explain` share: the options of a verification, and running it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_protocol import cut
from agentbeat_receipts.commands.options import UsageError, digest_of

if TYPE_CHECKING:
    from agentbeat_receipts.anchors import AnchorTrust
    from agentbeat_receipts.claims.results import ClaimReport
    from agentbeat_receipts.keys import PublicKeyring

__all__ = ["add_verification", "public_keyring", "trust_of", "verified"]

_HEADER: Final = re.compile(r"([0-9]{1,9}):([0-9a-f]{160})")


def add_verification(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """The options of a verification. Keys and roots come from the command line, never from the bundle."""
    add = parser.add_argument
    add(
        "--keyring",
        metavar="PUBLIC.json",
        type=Path,
        required=required,
        help="the public keys of every role, or a folder with public.json",
    )
    add("--auditor-key", metavar="FILE", type=Path, help="the auditor's private key, to open envelopes")
    add("--manifest", metavar="DIGEST", type=digest_of, help="which manifest, if the bundle holds several")
    group = parser.add_argument_group("time anchors: whom and what to believe")
    group.add_argument(
        "--tsa-root",
        metavar="PEM",
        type=Path,
        action="append",
        default=[],
        help="root certificates of time-stamping authorities; may be repeated",
    )
    group.add_argument(
        "--tsa-intermediate",
        metavar="PEM",
        type=Path,
        action="append",
        default=[],
        help="certificates between token and root that the token does not bring; may be repeated",
    )
    group.add_argument(
        "--block-header",
        metavar="HEIGHT:HEX",
        type=_header,
        action="append",
        default=[],
        help="a Bitcoin block header of 80 bytes, for OpenTimestamps proofs; may be repeated",
    )


def verified(args: argparse.Namespace) -> ClaimReport:
    """The report on the bundle of a command line.

    Raises:
        UsageError: something on it cannot be used.
        BundleError, KeyRefused, OSError: a file of it.
    """
    from agentbeat_receipts.bundles import read_bundle
    from agentbeat_receipts.claims.verifier import verify
    from agentbeat_receipts.domains import known_domains
    from agentbeat_receipts.keyring_files import load_auditor_key

    public = public_keyring(args.keyring)
    auditor = None if args.auditor_key is None else load_auditor_key(args.auditor_key)
    trust = trust_of(args.tsa_root, args.tsa_intermediate, args.block_header)
    return verify(
        read_bundle(args.bundle),
        public,
        domains=known_domains().values(),
        manifest=args.manifest,
        trust=trust if trust.roots or trust.headers else None,
        auditor=auditor,
    )


def public_keyring(path: Path) -> PublicKeyring:
    """The public keyring of a file, or of a folder that holds one.

    Raises:
        KeyRefused: it is no public keyring, or one of its keys is unsound.
    """
    from agentbeat_receipts.keyring_files import PUBLIC_FILE, load_public_keyring

    return load_public_keyring(path / PUBLIC_FILE if path.is_dir() else path)


def trust_of(
    roots: Iterable[Path], intermediates: Iterable[Path], headers: Iterable[tuple[int, bytes]]
) -> AnchorTrust:
    """Whom and what to believe about time.

    Raises:
        UsageError: a file holds no certificate, or two headers are for one height.
    """
    from agentbeat_receipts.anchors import AnchorTrust, TrustError

    by_height: dict[int, bytes] = {}
    for height, header in headers:
        if by_height.setdefault(height, header) != header:
            raise UsageError(f"--block-header: got two headers for height {height}, expected one")
    try:
        return AnchorTrust.read(roots=_joined(roots), intermediates=_joined(intermediates), headers=by_height)
    except TrustError as error:
        raise UsageError(str(error)) from None


def _joined(paths: Iterable[Path]) -> bytes:
    return b"\n".join(_certificates(path) for path in paths)


def _certificates(path: Path) -> bytes:
    raw = path.read_bytes()
    if b"-----BEGIN CERTIFICATE-----" not in raw:
        raise UsageError(f"{path}: got no certificate in PEM, expected at least one")
    return raw


def _header(text: str) -> tuple[int, bytes]:
    match = _HEADER.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"got {cut(text, 24)!r}, expected a height, a colon and the 160 hex digits of a block header"
        )
    return int(match[1]), bytes.fromhex(match[2])
