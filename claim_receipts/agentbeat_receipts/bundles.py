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
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from agentbeat_protocol import ProtocolError, cut
from agentbeat_protocol.models import Strict, validated
from agentbeat_protocol.strict_json import MAX_BYTES
from agentbeat_receipts.canonical import canonical_bytes, read_exact
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

__all__ = ["FORMAT_FILE", "BundleError", "FormatFile", "bundle_files", "read_bundle", "write_bundle"]

#: The file that names format and version.
FORMAT_FILE: Final = "bundle.json"

#: The longest file of a bundle, in bytes, and the most files.
MAX_FILE_BYTES: Final = MAX_BYTES
MAX_FILES: Final = 1_000_000

_FORMAT: Final = {"format": "agentbeat-claim-bundle", "version": 1}
_SINGLE: Final[dict[type[Body], str]] = {
    Manifest: "manifest.json",
    Checkpoint: "checkpoint.json",
    ClosingRecord: "closing-record.json",
    ReportBundle: "report.json",
}


class BundleError(ValueError):
    """The folder or tar is no bundle of this version, or cannot be made one."""


class FormatFile(Strict):
    """The members of `bundle.json`."""

    format: Literal["agentbeat-claim-bundle"]
    version: Literal[1]


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
    """The deliveries of a bundle, without `bundle.json`, sorted by path.

    Raises:
        BundleError: another format or version, a file that is no `.json`, a link, or too large.
        OSError: it cannot be read.
    """
    found = list(_folder_files(source) if source.is_dir() else _tar_files(source))
    formats = [delivery for delivery in found if delivery.path == FORMAT_FILE]
    if not formats:
        raise BundleError(f"{source}: no {FORMAT_FILE}")
    for delivery in formats:
        try:
            validated(FormatFile, read_exact(delivery.content))
        except ProtocolError as error:
            raise BundleError(f"{FORMAT_FILE}: {error}") from None
    return tuple(sorted(delivery for delivery in found if delivery.path != FORMAT_FILE))


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


def _folder_files(folder: Path) -> Iterator[Delivery]:
    count = 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise BundleError(f"{path}: a link")
        if path.is_dir():
            continue
        count += 1
        name = path.relative_to(folder).as_posix()
        _check_file(name, path.stat().st_size, count)
        yield Delivery(name, path.read_bytes())


def _tar_files(source: Path) -> Iterator[Delivery]:
    try:
        with tarfile.open(source, "r:") as archive:
            for count, member in enumerate(archive, start=1):
                if member.isdir():
                    continue
                file = archive.extractfile(member) if member.isreg() else None
                if file is None:
                    raise BundleError(f"{cut(member.name)}: no plain file")
                name = member.name.removeprefix("./")
                _check_file(name, member.size, count)
                yield Delivery(name, file.read())
    except tarfile.TarError:
        raise BundleError(f"{source}: no bundle folder and no tar") from None


def _check_file(name: str, size: int, count: int) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or path.suffix != ".json":
        raise BundleError(f"{cut(name)}: expected a relative path that ends in .json")
    if size > MAX_FILE_BYTES:
        raise BundleError(f"{cut(name)}: {size} bytes, expected at most {MAX_FILE_BYTES}")
    if count > MAX_FILES:
        raise BundleError(f"more than {MAX_FILES} files")


def _write_tar(target: Path, files: dict[str, bytes]) -> None:
    """A tar that depends on the files' names and bytes only: no times, no owners."""
    if target.exists():
        raise BundleError(f"{target}: there already")
    with tarfile.open(target, "x:", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
