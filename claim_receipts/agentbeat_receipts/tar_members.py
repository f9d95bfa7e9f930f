"""Members of a tar, one after the other, by their headers.

The standard library's reader takes longer for a header than the checks of what the member holds, and
remembers every member. Nearly all headers of a bundle are of one plain form (ustar, a short name, a file or
folder), which is read here; any other is left to the standard library.

>>> import io, tarfile
>>> made = io.BytesIO()
>>> with tarfile.open(fileobj=made, mode="w:") as archive:
...     archive.addfile(tarfile.TarInfo("a.json"))
>>> _ = made.seek(0)
>>> next_member(made)
Member(name='a.json', offset=512, size=0, is_plain=True, is_folder=False)
>>> next_member(made) is None
True
"""

from __future__ import annotations

import tarfile
from typing import BinaryIO, Final, NamedTuple

__all__ = ["Member", "next_member"]

_BLOCK: Final = 512
_EMPTY: Final = bytes(_BLOCK)
_SPACES: Final = b" " * 8
#: Of POSIX and of GNU.
_MAGICS: Final = (b"ustar\x0000", b"ustar  \0")
_FILES: Final = (b"0", b"\0")
_FOLDER: Final = b"5"


class Member(NamedTuple):
    """One member.

    Args:
        name: as it stands there.
        offset: where its bytes begin in the tar.
        size: how many there are.
        is_plain: whether it is a file of these bytes: no link, no device, nothing sparse.
        is_folder: whether it is a folder.
    """

    name: str
    offset: int
    size: int
    is_plain: bool
    is_folder: bool


def next_member(file: BinaryIO) -> Member | None:
    """The member whose header stands at the file's position, which moves on to the next; None at the end.

    Raises:
        TarError: it is no header of a tar.
    """
    at = file.tell()
    block = file.read(_BLOCK)
    if not block or block == _EMPTY:
        return None
    member = _plain(block, at) or _any(file, at)
    file.seek(member.offset + -(-member.size // _BLOCK) * _BLOCK)
    return member


def _plain(block: bytes, at: int) -> Member | None:
    """The member of a plain header; None where it is another one, or damaged."""
    if len(block) != _BLOCK or block[257:265] not in _MAGICS or block[345] or not block[0]:
        return None
    kind = block[156:157]
    size, expected = _octal(block[124:136]), _octal(block[148:156])
    # The sum is over the header with spaces in its own place.
    summed = sum(block) - sum(block[148:156]) + sum(_SPACES)
    if size is None or summed != expected or not (kind in _FILES or (kind == _FOLDER and not size)):
        return None
    raw = block[:100].partition(b"\0")[0]
    if kind in _FILES and raw.endswith(b"/"):
        return None  # an old way to write a folder
    return Member(raw.decode(errors="surrogateescape"), at + _BLOCK, size, kind in _FILES, kind == _FOLDER)


def _octal(field: bytes) -> int | None:
    digits = field.rstrip(b"\0 ")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else None


def _any(file: BinaryIO, at: int) -> Member:
    """Whatever the standard library makes of the header, and of those that belong to it."""
    file.seek(at)
    with tarfile.open(fileobj=file, mode="r:") as archive:
        found = archive.next()
    if found is None:
        raise tarfile.ReadError("a damaged header")
    plain = found.isreg() and not found.issparse()
    size = found.size if plain else 0
    if found.issparse():
        raise tarfile.ReadError("a sparse file")
    return Member(found.name, found.offset_data, size, plain, found.isdir())
