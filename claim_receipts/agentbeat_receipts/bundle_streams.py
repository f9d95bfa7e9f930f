"""Reading a bundle file by file, as often as it takes, with none of it held.

    for delivery in stream_bundle(Path("claim.tar")):
        delivery.path, delivery.content        # read from its place in the folder or tar now

What is passed on is where a file is, so that another process can read it there. The order is the same each
time: of a folder by name, of a tar as it stands there. Names that begin with a dot are no part of a bundle: a
version control system and a desktop keep their own files so. Anything else that is no plain `.json` file is
refused, not passed over, since it may be evidence under a name that was spoilt.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, Literal

from agentbeat_protocol import ProtocolError, cut
from agentbeat_protocol.models import Strict, validated
from agentbeat_protocol.strict_json import MAX_BYTES
from agentbeat_receipts.canonical import read_exact
from agentbeat_receipts.deliveries import Delivered
from agentbeat_receipts.tar_members import Member, TarError, next_member

__all__ = ["FORMAT_FILE", "BundleError", "BundleStream", "FormatFile", "Located", "stream_bundle"]

#: The file that names format and version.
FORMAT_FILE: Final = "bundle.json"

#: The longest file of a bundle, in bytes; the most files and folders; and how deep they may lie.
MAX_FILE_BYTES: Final = MAX_BYTES
MAX_FILES: Final = 1_000_000
MAX_DEPTH: Final = 16


class BundleError(ValueError):
    """The folder or tar is no bundle of this version, or cannot be made one."""


class FormatFile(Strict):
    """The members of `bundle.json`."""

    format: Literal["agentbeat-claim-bundle"]
    version: Literal[1]


@dataclass(frozen=True, slots=True)
class Located:
    """One file of a bundle, by its place.

    Args:
        path: relative to the bundle, with `/`.
        file: the file that holds it: itself, or the tar.
        offset: where it begins there, in bytes.
        size: how many bytes it has.
    """

    path: str
    file: str
    offset: int
    size: int

    @property
    def content(self) -> bytes:
        """Its bytes, read now.

        Raises:
            BundleError: there are fewer than before.
            OSError: it cannot be read.
        """
        with open(self.file, "rb", buffering=0) as opened:  # noqa: PTH123 - a path object costs as much again
            opened.seek(self.offset)
            content = opened.read(self.size)
        if len(content) == self.size:
            return content
        whole = bytearray(self.size)
        self.read_into(memoryview(whole))
        return bytes(whole)

    def read_into(self, buffer: memoryview) -> None:
        """Fill a buffer of its size with its bytes, read now.

        Raises:
            BundleError, OSError: as of `content`.
        """
        with open(self.file, "rb", buffering=0) as opened:  # noqa: PTH123 - likewise
            opened.seek(self.offset)
            while buffer:
                count = opened.readinto(buffer)
                if not count:
                    raise BundleError(f"{cut(self.path)}: shorter than when it was found")
                buffer = buffer[count:]


@dataclass(frozen=True, slots=True)
class BundleStream:
    """The deliveries of a bundle without `bundle.json`, which is checked as it comes by."""

    source: Path

    def __iter__(self) -> Iterator[Delivered]:
        """Each file in turn.

        Raises:
            BundleError: another format or version, a file that is no plain `.json`, or too large.
            OSError: it cannot be read.
        """
        formats = 0
        for delivery in _folder_files(self.source) if self.source.is_dir() else _tar_files(self.source):
            _check_file(delivery)
            if delivery.path == FORMAT_FILE:
                formats += 1
                _check_format(delivery.content)
            else:
                yield delivery
        if not formats:
            raise BundleError(f"{self.source}: no {FORMAT_FILE}")


def stream_bundle(source: Path) -> BundleStream:
    """The deliveries of a bundle, read as they are asked for, and again each time."""
    return BundleStream(source)


def _folder_files(folder: Path) -> Iterator[Delivered]:
    for count, (path, place, state) in enumerate(_walked(str(folder), ""), start=1):
        _check_count(count)
        if stat.S_ISLNK(state.st_mode):
            raise BundleError(f"{cut(path)}: a link")
        if stat.S_ISREG(state.st_mode):
            yield Located(path, place, 0, state.st_size)
        elif not stat.S_ISDIR(state.st_mode):
            raise BundleError(f"{cut(path)}: no plain file")


def _walked(folder: str, before: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """Files and folders by name, each folder before what it holds."""
    # Names only: there may be a hundred thousand.
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MAX_FILES + 1)]
    _check_count(len(names))
    for name in sorted(name for name in names if not name.startswith(".")):
        path, place = before + name, f"{folder}/{name}"
        state = os.lstat(place)
        yield path, place, state
        if stat.S_ISDIR(state.st_mode):
            _check_depth(f"{path}/")
            yield from _walked(place, f"{path}/")


def _tar_files(source: Path) -> Iterator[Delivered]:
    name, count = str(source), 0
    if not stat.S_ISREG(source.stat().st_mode):  # looked at first: opening a pipe waits for whoever writes
        raise BundleError(f"{source}: no bundle: neither a folder nor a plain file")
    with source.open("rb") as opened:
        while (member := _member(source, opened)) is not None:
            count += 1
            _check_count(count)
            path = member.name.removeprefix("./")
            if not member.is_folder and not _is_dotted(path):
                yield Located(path, name, member.offset, member.size)


def _member(source: Path, opened: BinaryIO) -> Member | None:
    try:
        return next_member(opened)
    except TarError as error:
        raise BundleError(f"{source}: no bundle: {error}") from None


def _is_dotted(path: str) -> bool:
    """Whether a name on the path begins with a dot; the folder above is none."""
    return "/." in f"/{path}" and any(
        part.startswith(".") and part not in (".", "..") for part in path.split("/")
    )


def _check_count(count: int) -> None:
    if count > MAX_FILES:
        raise BundleError(f"more than {MAX_FILES} files and folders")


def _check_depth(path: str) -> None:
    if path.count("/") > MAX_DEPTH:
        raise BundleError(f"{cut(path)}: in more than {MAX_DEPTH} folders")


def _check_file(delivery: Delivered) -> None:
    path = delivery.path
    if path.startswith("/") or "/../" in f"/{path}" or not path.endswith(".json"):
        raise BundleError(f"{cut(path)}: expected a relative path that ends in .json")
    _check_depth(path)
    if delivery.size > MAX_FILE_BYTES:
        raise BundleError(f"{cut(path)}: {delivery.size} bytes, expected at most {MAX_FILE_BYTES}")


def _check_format(content: bytes) -> None:
    try:
        validated(FormatFile, read_exact(content))
    except ProtocolError as error:
        raise BundleError(f"{FORMAT_FILE}: {error}") from None
