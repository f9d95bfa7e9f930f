"""A folder as plain JSON: every path below it, without following a link.

    {"docs": {"type": "directory", "mode": "0755"},
     "docs/read-me.txt": {"type": "file", "mode": "0644", "size": 5, "sha256": "…", "text": "hello"},
     "latest": {"type": "link", "target": "docs/read-me.txt"}}

Short contents are in it, as `text` or, where they are no UTF-8, as `base64`; of longer ones the digest. Times
and owners are not: a copy has others. Each directory is entered by its descriptor, so a path that is swapped
for a link meanwhile leads nowhere else. A name that is no UTF-8 is shown as `bytes:` and hex.
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

__all__ = ["FolderLimits", "read_folder", "shown_name"]

_BYTES: Final = "bytes:"
_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class FolderLimits:
    """Bounds of a folder's state; a folder beyond is not read."""

    #: Paths.
    paths: int = 10_000
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
    """Every path below `folder`, in the order of the paths.

    Raises:
        OSError: it cannot be read, or a path went away meanwhile.
        ValueError: it is beyond a limit.
    """
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    reader = _Reader(limits)
    try:
        return dict(sorted(reader.entries(root, "")))
    finally:
        os.close(root)


class _Reader:
    def __init__(self, limits: FolderLimits) -> None:
        self._limits = limits
        self._paths = 0
        self._bytes = 0

    def entries(self, directory: int, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every path below an open directory."""
        for name in os.listdir(directory):
            self._paths += 1
            if self._paths > self._limits.paths:
                raise ValueError(f"more than {self._limits.paths} paths")
            about = os.stat(name, dir_fd=directory, follow_symlinks=False)
            path = prefix + shown_name(name)
            mode = f"{stat.S_IMODE(about.st_mode):04o}"
            if stat.S_ISLNK(about.st_mode):
                yield path, {"type": "link", "target": shown_name(os.readlink(name, dir_fd=directory))}
            elif stat.S_ISDIR(about.st_mode):
                yield path, {"type": "directory", "mode": mode}
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
                try:
                    yield from self.entries(inner, path + "/")
                finally:
                    os.close(inner)
            elif stat.S_ISREG(about.st_mode):
                yield path, {"type": "file", "mode": mode, **self._file(name, directory)}
            else:
                yield path, {"type": "other", "mode": mode}

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


def _content(raw: bytes) -> dict[str, str]:
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}
