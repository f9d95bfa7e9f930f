"""Members of a tar are those that the standard library sees."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_receipts import tar_members
from agentbeat_receipts.tar_members import Member, next_member

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
        return [
            Member(m.name, m.offset_data, m.size if m.isreg() else 0, m.isreg(), m.isdir()) for m in archive
        ]


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


def test_a_prefix_and_a_global_header_are_left_to_the_standard_library() -> None:
    split = _made(tarfile.USTAR_FORMAT, ["d" * 90 + "/" + "e" * 90 + ".json", "b.json"])
    assert _named(_members(split)) == _named(_expected(split))
    commented = _made(tarfile.PAX_FORMAT, ["a.json", "b.json"], pax_headers={"comment": "made by hand"})
    assert _named(_members(commented)) == _named(_expected(commented))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE], ids=repr
)
def test_what_is_neither_file_nor_folder_is_said_to_be_so(kind: bytes) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:") as archive:
        member = tarfile.TarInfo("a.json")
        member.type, member.linkname = kind, "b.json"
        archive.addfile(member)
        archive.addfile(tarfile.TarInfo("b.json"))
    first, second = _members(made.getvalue())
    assert (first.is_plain, first.is_folder, second.is_plain) == (False, False, True)


def test_most_headers_are_read_without_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    raws = [_made(form, NAMES[:4]) for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT)]
    monkeypatch.setattr(tar_members, "_any", None)
    for raw in raws:
        assert len([*_members(raw)]) == 4


def test_what_is_no_tar_and_a_damaged_header_are_refused() -> None:
    for raw in (b"no tar", b"x" * 512, b"x" * 2000):
        with pytest.raises(tarfile.TarError):
            [*_members(raw)]
    raw = bytearray(_made(tarfile.USTAR_FORMAT, ["a.json", "b.json"]))
    raw[512] ^= 1
    with pytest.raises(tarfile.TarError):
        [*_members(bytes(raw))]


RAWS = [_made(form, names) for form in FORMATS.values() for names in (NAMES[:2], NAMES[2:])]


@given(st.sampled_from(RAWS), st.integers(0, 511), st.integers(1, 255))
@settings(max_examples=300, deadline=None)
def test_a_changed_header_is_refused_or_read_as_the_standard_library_reads_it(
    raw: bytes, at: int, change: int
) -> None:
    changed = raw[:at] + bytes([raw[at] ^ change]) + raw[at + 1 :]
    try:
        expected = _named(_expected(changed))
    except tarfile.TarError:
        with pytest.raises(tarfile.TarError):
            [*_members(changed)]
        return
    assert _named(_members(changed)) == expected
