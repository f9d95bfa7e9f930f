"""Members of a tar are those that the standard library sees; what bundles do not need is refused."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_receipts.tar_members import Member, TarError, next_member
from support.tars import BLOCK, Counting, block, header, pax, sealed

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
NAMES = ["a.json", "./b.json", "receipts/" + "n" * 80 + ".json", "x" * 99, "y" * 100, "caf\u00e9.json", "a/"]


def _made(form: int, names: list[str] = NAMES, **options: object) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:", format=form, **options) as archive:  # type: ignore[call-overload]
        for place, name in enumerate(names):
            member = tarfile.TarInfo(name)
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
            else:
                member.size = place * 300
            member.mtime = 1_700_000_000.5 if form == tarfile.PAX_FORMAT and place % 2 else 7
            archive.addfile(member, io.BytesIO(bytes([65 + place]) * member.size))
    return made.getvalue()


def _members(raw: bytes) -> Iterator[Member]:
    file = io.BytesIO(raw)
    while (member := next_member(file)) is not None:
        yield member


def _expected(raw: bytes) -> list[Member]:
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as archive:
        return [Member(m.name, m.offset_data, m.size, m.isdir()) for m in archive]


def _named(members: Iterator[Member] | list[Member]) -> list[Member]:
    """Folders end with a slash in a header, and for the standard library without."""
    return [member._replace(name=member.name.rstrip("/")) for member in members]


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_each_form_is_read_as_the_standard_library_reads_it(form: int) -> None:
    raw = _made(form)
    assert _named(_members(raw)) == _named(_expected(raw))
    for member, place in zip(_members(raw), range(len(NAMES)), strict=True):
        content = raw[member.offset : member.offset + member.size]
        assert content == bytes([65 + place]) * member.size


@pytest.mark.parametrize("form", ["gnu", "pax"])
def test_names_longer_than_a_header_are_read(form: str) -> None:
    raw = _made(FORMATS[form], ["d/" * 60 + "a.json", "b.json", "z" * 300])
    assert _named(_members(raw)) == _named(_expected(raw))


def test_a_prefix_and_a_comment_for_the_whole_tar_are_read() -> None:
    split = _made(tarfile.USTAR_FORMAT, ["d" * 90 + "/" + "e" * 90 + ".json", "b.json"])
    assert _named(_members(split)) == _named(_expected(split))
    commented = _made(tarfile.PAX_FORMAT, ["a.json", "\u00e9.json"], pax_headers={"comment": "made by hand"})
    assert _named(_members(commented)) == _named(_expected(commented))


SPARSE = {"GNU.sparse.map": "a,b", "GNU.sparse.size": "5"}
LONG = header("././@LongLink", b"L", 5) + block(b"abcd\0")
PLAIN = header("n.json")


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        pytest.param(header("a.json", b"1"), "a.json: a link", id="hard link"),
        pytest.param(header("a.json", b"2"), "a.json: a link", id="symbolic link"),
        pytest.param(header("a.json", b"3"), "a.json: a device", id="character device"),
        pytest.param(header("a.json", b"4"), "a.json: a device", id="block device"),
        pytest.param(header("a.json", b"6"), "a.json: a pipe", id="pipe"),
        pytest.param(header("a.json", b"S"), "a.json: a sparse file", id="sparse file"),
        pytest.param(header("\n" * 50, b"Z"), "a member of type b'Z'", id="unknown type"),
        pytest.param(header("a/", b"5", 512), "a damaged header", id="folder with content"),
        pytest.param(header("a.json", size=-1), "a size that is no octal", id="size of -1"),
        pytest.param(header("a.json", size=-512), "a size that is no octal", id="size that goes back"),
        pytest.param(header("a.json", size=2**63), "a size that is no octal", id="size of 8 EiB"),
        pytest.param(sealed(PLAIN, 124, b"+0000000001\0"), "a size that is no octal", id="size with a sign"),
        pytest.param(sealed(PLAIN, 124, bytes(12)), "a size that is no octal", id="no size"),
        pytest.param(sealed(PLAIN, 0, bytes(6)), "a damaged header", id="no name"),
        pytest.param(LONG * 2 + PLAIN, "two headers for one name", id="two long names"),
        pytest.param(LONG * 3000 + PLAIN, "two headers for one name", id="a chain of long names"),
        pytest.param(
            pax(path="b.json") * 3000 + PLAIN, "two headers for one name", id="a chain of pax headers"
        ),
        pytest.param(pax(path="b.json") + LONG + PLAIN, "two headers for one name", id="two kinds of name"),
        pytest.param(pax(kind=b"g", comment="c") * 2 + PLAIN, "two headers for one name", id="two comments"),
        pytest.param(LONG + bytes(1024), "without its member", id="a name without its member"),
        pytest.param(header("p", b"x", 2**20), "a header of 1048576 bytes", id="a header of 1 MiB"),
        pytest.param(header("p", b"L", 600) + block(b"a"), "cut off in a header", id="half a long name"),
        pytest.param(pax(size="-512") + PLAIN, "with 'size'", id="pax size that goes back"),
        pytest.param(pax(size="abc") + PLAIN, "with 'size'", id="pax size that is none"),
        pytest.param(pax(**SPARSE) + PLAIN, "with 'GNU.sparse.map'", id="pax sparse map"),
        pytest.param(pax(kind=b"g", path="b.json") + PLAIN, "with 'path'", id="one name for all"),
        pytest.param(pax(path="a\0b.json") + PLAIN, "a damaged header", id="name with NUL"),
        pytest.param(
            header("p", b"x", 9) + block(b"99 path=a") + PLAIN, "damaged pax", id="pax beyond its end"
        ),
        pytest.param(
            header("p", b"x", 9) + block(b"0 path=a\n") + PLAIN, "damaged pax", id="pax without end"
        ),
        pytest.param(
            header("p", b"x", 9) + block(b"-9 path=\n") + PLAIN, "damaged pax", id="pax that goes back"
        ),
        pytest.param(header("p", b"x", 9) + block(b"9 pathxx\n") + PLAIN, "damaged pax", id="pax without ="),
        pytest.param(PLAIN + b"x", "cut off or damaged", id="half a header"),
        pytest.param(PLAIN + bytes(512) + PLAIN, "something behind its end", id="a member behind the end"),
        pytest.param(PLAIN + bytes(2**21), "more than 1048576 zeros", id="2 MiB of filling"),
        pytest.param(b"", "no tar", id="empty"),
        pytest.param(b"no tar", "no tar", id="short"),
        pytest.param(b"x" * 2000, "no tar", id="other file"),
        pytest.param(b"\x1f\x8b" + bytes(2000), "a gzip file", id="gzip"),
        pytest.param(b"\xfd7zXZ\0" + bytes(2000), "an xz file", id="xz"),
        pytest.param(b"\x28\xb5\x2f\xfd" + bytes(2000), "a zstd file", id="zstd"),
        pytest.param(b"BZh" + bytes(2000), "a bzip2 file", id="bzip2"),
        pytest.param(b"PK\x03\x04" + bytes(2000), "a zip file", id="zip"),
    ],
)
def test_what_a_bundle_does_not_need_is_refused_and_named(raw: bytes, fault: str) -> None:
    with pytest.raises(TarError) as caught:
        [*_members(raw)]
    assert fault in str(caught.value)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


def test_an_incremental_backup_is_refused() -> None:
    raw = sealed(header("a.json", form=tarfile.GNU_FORMAT), 345, b"14000000000\0")
    with pytest.raises(TarError, match="an incremental backup"):
        [*_members(raw)]


RAWS = [_made(form, names) for form in FORMATS.values() for names in (NAMES[:2], NAMES[2:])]


@given(st.sampled_from(RAWS), st.integers(0, 511), st.integers(1, 255))
@settings(max_examples=300, deadline=None)
def test_a_changed_header_is_refused_or_read_as_the_standard_library_reads_it(
    raw: bytes, at: int, change: int
) -> None:
    changed = raw[:at] + bytes([raw[at] ^ change]) + raw[at + 1 :]
    try:
        found = _named(_members(changed))
    except TarError:
        return
    assert found == _named(_expected(changed))


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_tar_that_is_cut_off_anywhere_is_refused(form: int) -> None:
    raw = _made(form, ["d/" * 60 + "a.json", "b.json", "c/"])
    end = len(raw.rstrip(b"\0")) // BLOCK * BLOCK + 2 * BLOCK  # one block of zeros is the end
    assert len([*_members(raw[:end])]) == 3
    for length in range(end):
        with pytest.raises(TarError):
            [*_members(raw[:length])]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A tar with some bytes of its headers changed, their sums made right again, and perhaps cut off."""
    raw = bytearray(draw(st.sampled_from(RAWS)))
    blocks = [at for at in range(0, len(raw), BLOCK) if raw[at + 257 : at + 262] == b"ustar"]
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.sampled_from(blocks))
        # The fields that decide where the next header stands are as likely as all others together.
        place = draw(st.integers(124, 156) | st.integers(0, BLOCK - 1))
        value = draw(st.sampled_from(b"\0\xff\x80 0167xgLKS-") | st.integers(0, 255))
        raw[at : at + BLOCK] = sealed(bytes(raw[at : at + BLOCK]), place, bytes([value]))
    return bytes(raw[: draw(st.integers(0, len(raw)) | st.just(len(raw)))])


def _read(file: Counting) -> tuple[list[Member], str]:
    """The members of a file up to its end or a fault, and which."""
    found: list[Member] = []
    try:
        while (member := next_member(file)) is not None:
            found.append(member)
    except TarError as error:
        return found, str(error)
    return found, ""


@given(damaged())
@settings(max_examples=500, deadline=None)
def test_a_damaged_tar_is_read_once_forwards_or_refused(raw: bytes) -> None:
    file = Counting(raw)
    found, fault = _read(file)
    assert len(fault) < 400
    ends = [0, *(member.offset + member.size for member in found)]
    for member, end in zip(found, ends, strict=False):
        assert member.offset >= end + BLOCK
        assert member.size >= 0
    assert len(found) <= len(raw) // BLOCK
    assert file.bytes_read <= len(raw)
    assert file.went_back == 0
