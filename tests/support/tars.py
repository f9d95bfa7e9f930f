"""Parts of tars that no honest tool writes, and a file that counts what is read of it."""

from __future__ import annotations

import io
import os
import tarfile
from typing import Final

__all__ = ["BLOCK", "Counting", "block", "header", "pax", "sealed"]

BLOCK: Final = 512


def sealed(raw: bytes, at: int, change: bytes) -> bytes:
    """A header with some of its bytes changed, and its sum right again."""
    made = bytearray(raw)
    made[at : at + len(change)] = change
    if not 148 <= at < 156:
        made[148:156] = b"%06o\0 " % (sum(made) - sum(made[148:156]) + 8 * 32)
    return bytes(made[:BLOCK])


def header(name: str, kind: bytes = b"0", size: int = 0, *, form: int = tarfile.USTAR_FORMAT) -> bytes:
    """The header of a member; a size that octal digits do not hold is spelled in base 256."""
    made = tarfile.TarInfo(name)
    made.type = kind
    raw = made.tobuf(form)
    field = b"%011o\0" % size if 0 <= size < 8**11 else size.to_bytes(12, "big", signed=True)
    return sealed(raw, 124, field if size >= 0 else b"\xff" + field[1:])


def block(content: bytes) -> bytes:
    """Content and zeros up to the end of its block."""
    return content + bytes(-len(content) % BLOCK)


def pax(*, kind: bytes = b"x", **records: str) -> bytes:
    """A header of pax records, with any keys and values."""
    content = b"".join(_record(f" {key}={value}\n".encode()) for key, value in records.items())
    return header("pax", kind, len(content)) + block(content)


def _record(rest: bytes) -> bytes:
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length += 1
    return str(length).encode() + rest


class Counting(io.BytesIO):
    """Bytes that count how many of them are read, and how often the place goes back."""

    bytes_read = went_back = 0

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        self.bytes_read += len(content)
        return content

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        before = self.tell()
        after = super().seek(offset, whence)
        self.went_back += after < before
        return after
