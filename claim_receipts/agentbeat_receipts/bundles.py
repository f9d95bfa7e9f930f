"""A bundle: a folder, or a tar of it, with one canonical JSON document per file.

    bundle.json                    {"format": "agentbeat-claim-bundle", "version": 1}
    manifest.json  checkpoint.json  closing-record.json  report.json
    tickets/<assignment>.json      receipts/<assignment>.json
    envelopes/<assignment>.json    openings/<assignment>.json
    anchors/<token digest, 16 digits>.json

Each file is canonical JSON and one line feed, so that equal objects are equal files and `git diff` shows what
changed. The paths are for people: the verifier goes by what the documents say. Reading therefore gives back
`Delivery` records of path and bytes, unread; only `bundle.json` is looked at here, for the version.

    write_bundle(Path("claim"), documents)
    write_bundle(Path("claim.tar"), documents)
    deliveries = read_bundle(Path("claim.tar"))
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agentbeat_receipts.bundle_streams import FORMAT_FILE, BundleError, FormatFile, stream_bundle
from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.objects import (
    Body,
    Checkpoint,
    ClosingRecord,
    Document,
    Envelope,
    Manifest,
    Opening,
    Receipt,
    ReportBundle,
    Ticket,
    TimeAnchor,
    write_document,
)

__all__ = [
    "FORMAT_FILE",
    "BundleError",
    "FormatFile",
    "bundle_files",
    "read_bundle",
    "stream_bundle",
    "write_bundle",
]

_FORMAT: Final = {"format": "agentbeat-claim-bundle", "version": 1}
_SINGLE: Final[dict[type[Body], str]] = {
    Manifest: "manifest.json",
    Checkpoint: "checkpoint.json",
    ClosingRecord: "closing-record.json",
    ReportBundle: "report.json",
}


def bundle_files(documents: Iterable[Document]) -> dict[str, bytes]:
    """The files of a bundle, by path in sorted order.

    Raises:
        BundleError: two different documents would have one path.
    """
    files = {FORMAT_FILE: canonical_bytes(_FORMAT) + b"\n"}
    for document in documents:
        path, content = _path(document.body), write_document(document) + b"\n"
        if files.setdefault(path, content) != content:
            raise BundleError(f"{path}: two different documents for one file")
    return dict(sorted(files.items()))


def write_bundle(target: Path, documents: Iterable[Document]) -> None:
    """Write a bundle: a tar when the name ends in `.tar`, else a folder. Nothing is overwritten.

    Raises:
        BundleError: the target is there and no empty folder, or two documents have one path.
    """
    files = bundle_files(documents)
    if target.suffix == ".tar":
        _write_tar(target, files)
        return
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BundleError(f"{target}: there already")
    for path, content in files.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def read_bundle(source: Path) -> tuple[Delivery, ...]:
    """The deliveries of a bundle, without `bundle.json`, sorted by path. `stream_bundle` holds none of them.

    Raises:
        BundleError: another format or version, a file that is no plain `.json`, or too large.
        OSError: it cannot be read.
    """
    return tuple(sorted(Delivery(found.path, found.content) for found in stream_bundle(source)))


def _path(body: Body) -> str:
    match body:
        case TimeAnchor():
            return f"anchors/{body.token_digest().removeprefix('sha256:')[:16]}.json"
        case Ticket():
            return f"tickets/{body.assignment}.json"
        case Receipt():
            return f"receipts/{body.assignment}.json"
        case Envelope():
            return f"envelopes/{body.assignment}.json"
        case Opening():
            return f"openings/{body.assignment}.json"
    return _SINGLE[type(body)]


def _write_tar(target: Path, files: dict[str, bytes]) -> None:
    """A tar that depends on the files' names and bytes only: no times, no owners."""
    if target.exists():
        raise BundleError(f"{target}: there already")
    with tarfile.open(target, "x:", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
