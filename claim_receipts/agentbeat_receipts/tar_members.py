"""Members of a tar, one after the other, by their headers.

A tar comes from strangers, so this reads what tars of plain files need and refuses the rest: files and
folders of POSIX and GNU tars, long names as a header before the member (`x` of pax, `L` of GNU), and comments
for the whole tar (`g` of pax). A size is octal digits. The reader never goes back, looks at one member at a
time, and ends with the tar, whose end must be there with nothing behind it: what is cut off is not taken for
a whole.

>>> import io, tarfile
>>> made = io.BytesIO()
>>> with tarfile.open(fileobj=made, mode="w:") as archive:
...     archive.addfile(tarfile.TarInfo("a.json"))
>>> _ = made.seek(0)
>>> next_member(made)
Member(name='a.json', offset=512, size=0, is_folder=False)
>>> next_member(made) is None
True
"""

from __future__ import annotations

from typing import BinaryIO, Final, NamedTuple

from agentbeat_protocol import cut

__all__ = ["Member", "TarError", "next_member"]

_BLOCK: Final = 512
_EMPTY: Final = bytes(_BLOCK)
_SPACES: Final = b" " * 8
_POSIX: Final = b"ustar\x0000"
_GNU: Final = b"ustar  \0"
#: The longest header with names, in bytes, and the longest filling behind the last member.
_MAX_HEADER: Final = 64 * 1024
_MAX_END: Final = 1024 * 1024

_FILES: Final = (b"0", b"\0")
_FOLDER: Final = b"5"
_WHOLE_TAR, _PAX_NAME, _GNU_NAME = b"g", b"x", b"L"
#: In which order headers may precede their member; of two that have one place there is one.
_PLACES: Final = {_WHOLE_TAR: 0, _PAX_NAME: 1, _GNU_NAME: 1}
_REFUSED: Final = {
    b"1": "a link",
    b"2": "a link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a sparse file",
}
#: What a file begins with that holds a tar, or may be taken for one.
_OTHERS: Final = {
    b"\x1f\x8b": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\0": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"PK\x03\x04": "a zip file",
}


class TarError(ValueError):
    """The file is no tar, or one with more than plain files and folders."""


class Member(NamedTuple):
    """One member.

    Args:
        name: as it stands there.
        offset: where its bytes begin in the tar.
        size: how many there are; 0 of a folder.
        is_folder: whether it is a folder, else a plain file.
    """

    name: str
    offset: int
    size: int
    is_folder: bool


class _Header(NamedTuple):
    name: bytes
    size: int
    kind: bytes


def next_member(file: BinaryIO) -> Member | None:
    """The member whose headers stand at the file's position, which moves on behind it; None at the end.

    Raises:
        TarError: no header of a tar stands there, or one that is not for a plain file or folder.
    """
    named, place = None, -1
    while (header := _header(file)) is not None:
        if header.kind not in _PLACES:
            return _member(file, header, named)
        if _PLACES[header.kind] <= place:
            raise TarError("two headers for one name")
        place = _PLACES[header.kind]
        content = _content(file, header.size)
        if header.kind == _GNU_NAME:
            named = content.rstrip(b"\0")
        else:
            named = _pax_name(content, whole_tar=header.kind == _WHOLE_TAR)
    if place >= 0:
        raise TarError("a header for a name without its member")
    _check_end(file)
    return None


def _member(file: BinaryIO, header: _Header, named: bytes | None) -> Member:
    raw, kind = header.name if named is None else named, header.kind
    name = raw.decode(errors="surrogateescape")
    if kind not in _FILES and kind != _FOLDER:
        what = _REFUSED.get(kind) or f"a member of type {kind!r}"
        raise TarError(f"{cut(name)}: {what}, expected plain files and folders")
    if not raw or b"\0" in raw or (kind == _FOLDER and header.size):
        raise TarError("a damaged header")
    offset = file.tell()
    file.seek(offset + -(-header.size // _BLOCK) * _BLOCK)
    return Member(name, offset, header.size, kind == _FOLDER)


def _header(file: BinaryIO) -> _Header | None:
    """The header at the file's position; None where the tar ends."""
    block = file.read(_BLOCK)
    if block == _EMPTY:
        return None
    if len(block) != _BLOCK or block[257:265] not in (_POSIX, _GNU):
        raise TarError(_no_header(block, first=file.tell() == len(block)))
    size, expected = _octal(block[124:136]), _octal(block[148:156])
    # The sum is over the header with spaces in its own place.
    summed = sum(block) - sum(block[148:156]) + sum(_SPACES)
    if summed != expected:
        raise TarError("a damaged header")
    if size is None:
        raise TarError("a size that is no octal number")
    name, prefix = (field.partition(b"\0")[0] for field in (block[:100], block[345:500]))
    if prefix:
        if block[257:265] != _POSIX:
            raise TarError("an incremental backup")
        name = prefix + b"/" + name
    return _Header(name, size, block[156:157])


def _no_header(block: bytes, *, first: bool) -> str:
    """What stands there instead of a header."""
    if not first:
        return "cut off or damaged, expected a header or the end"
    found = next((what for start, what in _OTHERS.items() if block.startswith(start)), None)
    return "no tar" if found is None else f"{found}, expected a tar that is not packed"


def _octal(field: bytes) -> int | None:
    digits = field.strip(b"\0 ")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else None


def _content(file: BinaryIO, size: int) -> bytes:
    """The bytes of a header that has some."""
    if size > _MAX_HEADER:
        raise TarError(f"a header of {size} bytes, expected at most {_MAX_HEADER}")
    padded = -(-size // _BLOCK) * _BLOCK
    content = file.read(padded)
    if len(content) != padded:
        raise TarError("cut off in a header")
    return content[:size]


def _pax_name(content: bytes, *, whole_tar: bool) -> bytes | None:
    """The name that a pax header gives.

    Its other records do not change which bytes a file has, or are refused.
    A record is its own length in decimal digits, a space, `key=value` and a line feed.
    """
    named, at = None, 0
    while at < len(content):
        digits, space, _ = content[at : at + 8].partition(b" ")
        length = int(digits) if space and digits.isdigit() else 0
        record = content[at : at + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not equals or len(record) != length or not record.endswith(b"\n"):
            raise TarError("a damaged pax header")
        if key == b"size" or key.startswith(b"GNU.sparse.") or (whole_tar and key == b"path"):
            raise TarError(f"a pax header with {key[:32].decode(errors='replace')!r}, expected plain files")
        named = value if key == b"path" else named
        at += length
    return named


def _check_end(file: BinaryIO) -> None:
    """Behind the last member are zeros, and not too many, or nothing."""
    filling = file.read(_MAX_END + 1)
    if filling.strip(b"\0"):
        raise TarError("something behind its end, expected zeros")
    if len(filling) > _MAX_END:
        raise TarError(f"more than {_MAX_END} zeros behind its end")
