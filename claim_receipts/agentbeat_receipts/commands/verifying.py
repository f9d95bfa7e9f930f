"""What `verify` and `explain` share: the options of a verification, and running it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from agentbeat_protocol import cut
from agentbeat_receipts.commands.options import UsageError, digest_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    from agentbeat_receipts.anchors import AnchorTrust
    from agentbeat_receipts.claims.domains import Domain
    from agentbeat_receipts.claims.results import ClaimReport
    from agentbeat_receipts.deliveries import Delivered
    from agentbeat_receipts.keys import PublicKeyring

__all__ = ["add_verification", "public_keyring", "trust_of", "verified"]

#: A bundle of more files than these, or of more bytes, is read as a stream.
MANY: Final = 2_000
LARGE: Final = 64 * 1024 * 1024

_HEADER: Final = re.compile(r"([0-9]{1,9}):([0-9a-f]{160})")


class _Options(TypedDict):
    """What both verifications are given alike."""

    domains: tuple[Domain, ...]
    manifest: str | None
    trust: AnchorTrust | None
    auditor: X25519PrivateKey | None


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
    add(
        "--workers",
        metavar="N",
        type=_workers,
        help=f"how many processes verify a bundle of more than {MANY:,} files or {LARGE >> 20} MiB, which is "
        "read as a stream (default: as many as there are CPUs to be used; 1 is this process)",
    )
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

    A bundle of many files is not held in memory: it is read as a stream, by several processes. Then a line on
    standard error says how far it is, where that is a terminal and it takes long.

    Raises:
        UsageError: something on it cannot be used.
        BundleError, KeyRefused, OSError: a file of it.
        StreamError: the bundle changed while it was read, or a worker has ended.
    """
    from agentbeat_receipts.bundles import stream_bundle
    from agentbeat_receipts.claims.verifier import verify
    from agentbeat_receipts.commands.stream_progress import stream_progress
    from agentbeat_receipts.deliveries import Delivery
    from agentbeat_receipts.domains import known_domains
    from agentbeat_receipts.keyring_files import load_auditor_key

    public = public_keyring(args.keyring)
    auditor = None if args.auditor_key is None else load_auditor_key(args.auditor_key)
    trust = trust_of(args.tsa_root, args.tsa_intermediate, args.block_header)
    options: _Options = {
        "domains": tuple(known_domains().values()),
        "manifest": args.manifest,
        "trust": trust if trust.roots or trust.headers else None,
        "auditor": auditor,
    }
    source = stream_bundle(args.bundle)
    if not _is_long(source):
        return verify([Delivery(found.path, found.content) for found in source], public, **options)
    from agentbeat_receipts.streams import verify_stream

    with stream_progress() as told:
        return verify_stream(source, public, **options, workers=args.workers, progress=told)


def _is_long(source: Iterable[Delivered]) -> bool:
    size = 0
    for count, found in enumerate(source, start=1):
        size += found.size
        if count > MANY or size > LARGE:
            return True
    return False


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


def _workers(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,2}", text):
        raise argparse.ArgumentTypeError(f"got {cut(text, 24)!r}, expected a number from 1 to 999")
    return int(text)


def _header(text: str) -> tuple[int, bytes]:
    match = _HEADER.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"got {cut(text, 24)!r}, expected a height, a colon and the 160 hex digits of a block header"
        )
    return int(match[1]), bytes.fromhex(match[2])
