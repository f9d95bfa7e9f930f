"""A folder as plain JSON: itself, and every path below it, without following a link.

    {".": {"type": "directory", "mode": "0755"},
     "docs": {"type": "directory", "mode": "0755"},
     "docs/read-me.txt": {"type": "file", "mode": "0644", "size": 5, "sha256": "…", "text": "hello"},
     "latest": {"type": "link", "target": "docs/read-me.txt"}}

Short contents are in it, as `text` or, where they are no UTF-8, as `base64`; of longer ones the digest. Times
and owners are not: a copy has others. Nor are hard links and extended attributes. Each directory is entered
by its descriptor, so a path that is swapped for a link meanwhile leads nowhere else. A name that is no UTF-8
is shown as `bytes:` and hex.
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["FolderLimits", "read_folder", "shown_name", "special_file"]

_BYTES: Final = "bytes:"
_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class FolderLimits:
    """Bounds of a folder's state; a folder beyond is not read."""

    #: Paths.
    paths: int = 10_000
    #: Directories inside each other.
    levels: int = 100
    #: Bytes of all files together.
    total_bytes: int = 256 * 1024 * 1024
    #: Bytes of a file whose content stands in the state; of a longer one the digest does.
    content_bytes: int = 64 * 1024


def shown_name(name: str) -> str:
    """A name of the file system as a text; two names have two texts.

    >>> shown_name("read-me.txt"), shown_name("caf\\udce9"), shown_name("bytes:ff")
    ('read-me.txt', 'bytes:636166e9', 'bytes:62797465733a6666')
    """
    raw = os.fsencode(name)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return _BYTES + raw.hex()
    return _BYTES + raw.hex() if text.startswith(_BYTES) else text


def read_folder(folder: Path, limits: FolderLimits) -> dict[str, Any]:
    """The folder as `.`, and every path below it, in the order of the paths.

    Raises:
        OSError: it cannot be read, or a path went away meanwhile.
        ValueError: it is beyond a limit.
    """
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    reader = _Reader(limits)
    try:
        own = {"type": "directory", "mode": _mode(os.fstat(root))}
        return {".": own, **dict(sorted(reader.entries(root, "", levels=limits.levels)))}
    finally:
        os.close(root)


class _Reader:
    def __init__(self, limits: FolderLimits) -> None:
        self._limits = limits
        self._paths = 0
        self._bytes = 0

    def entries(self, directory: int, prefix: str, *, levels: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every path below an open directory, which may have so many `levels` of directories."""
        for name in os.listdir(directory):
            self._paths += 1
            if self._paths > self._limits.paths:
                raise ValueError(f"more than {self._limits.paths} paths")
            about = os.stat(name, dir_fd=directory, follow_symlinks=False)
            path = prefix + shown_name(name)
            mode = _mode(about)
            if stat.S_ISLNK(about.st_mode):
                yield path, {"type": "link", "target": shown_name(os.readlink(name, dir_fd=directory))}
            elif stat.S_ISDIR(about.st_mode):
                yield path, {"type": "directory", "mode": mode}
                if not levels:
                    raise ValueError(f"more than {self._limits.levels} directories inside each other")
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
                try:
                    yield from self.entries(inner, path + "/", levels=levels - 1)
                finally:
                    os.close(inner)
            elif stat.S_ISREG(about.st_mode):
                yield path, {"type": "file", "mode": mode, **self._file(name, directory)}
            else:
                yield path, {**special_file(about), "mode": mode}

    def _file(self, name: str, directory: int) -> dict[str, Any]:
        # Not blocking: what was a file a moment ago may be a pipe now.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(name, flags, dir_fd=directory), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError("a file has become something else while it was read")
            sha256, size, kept = hashlib.sha256(), 0, bytearray()
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                self._bytes += len(chunk)
                if self._bytes > self._limits.total_bytes:
                    raise ValueError(f"more than {self._limits.total_bytes} bytes")
                sha256.update(chunk)
                kept += chunk if size <= self._limits.content_bytes else b""
        found: dict[str, Any] = {"size": size, "sha256": sha256.hexdigest()}
        return found if size > self._limits.content_bytes else {**found, **_content(bytes(kept))}


def _mode(about: os.stat_result) -> str:
    return f"{stat.S_IMODE(about.st_mode):04o}"


def special_file(about: os.stat_result) -> dict[str, str]:
    """What it is that is no file, directory or link; of a device, which one."""
    for kind, is_one in (("pipe", stat.S_ISFIFO), ("socket", stat.S_ISSOCK)):
        if is_one(about.st_mode):
            return {"type": kind}
    for kind, is_one in (("character device", stat.S_ISCHR), ("block device", stat.S_ISBLK)):
        if is_one(about.st_mode):
            return {"type": kind, "device": f"{os.major(about.st_rdev)}:{os.minor(about.st_rdev)}"}
    return {"type": "other"}


def _content(raw: bytes) -> dict[str, str]:
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}
