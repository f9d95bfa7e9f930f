"""A bundle is files that people can read, and comes back as it was written."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from agentbeat_receipts import bundle_streams
from agentbeat_receipts.bundles import BundleError, bundle_files, read_bundle, write_bundle
from agentbeat_receipts.canonical import canonical_bytes, read_exact
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.objects import read_document, write_document
from support.receipt_batches import honest, manifest
from support.tars import header


@pytest.mark.parametrize("name", ["claim", "claim.tar"])
def test_a_bundle_comes_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    documents = honest().documents()
    write_bundle(tmp_path / name, documents)
    read = read_bundle(tmp_path / name)
    assert sorted(write_document(made) + b"\n" for made in documents) == sorted(d.content for d in read)
    assert [d.path for d in read] == sorted(d.path for d in read)


def test_the_layout_is_the_documented_one(tmp_path: Path) -> None:
    write_bundle(tmp_path / "claim", honest().documents())
    paths = {path.relative_to(tmp_path / "claim").as_posix() for path in (tmp_path / "claim").rglob("*.json")}
    ids = ["p-1.both", "p-1.none", "p-2.both", "p-2.none"]
    single = {"bundle.json", "manifest.json", "checkpoint.json", "closing-record.json", "report.json"}
    assert paths == single | {
        f"{kind}/{name}.json" for kind in ("tickets", "receipts", "envelopes") for name in ids
    }


def test_openings_that_are_not_encrypted_lie_beside() -> None:
    files = bundle_files(honest(encrypted=False).documents())
    assert "openings/p-1.none.json" in files
    assert not any(path.startswith("envelopes/") for path in files)


def test_every_file_is_canonical_json_and_one_line_feed() -> None:
    for content in bundle_files(honest().documents()).values():
        assert content.endswith(b"\n")
        assert canonical_bytes(read_exact(content)) + b"\n" == content


def test_folder_and_tar_hold_the_same_and_the_tar_depends_on_nothing_else(tmp_path: Path) -> None:
    documents = honest().documents()
    for name in ("claim", "one.tar", "two.tar"):
        write_bundle(tmp_path / name, reversed(documents) if name == "two.tar" else documents)
    assert read_bundle(tmp_path / "claim") == read_bundle(tmp_path / "one.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_two_documents_for_one_file_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    other = honest(manifest(title="another")).manifest
    with pytest.raises(BundleError, match=r"manifest\.json: two different"):
        write_bundle(tmp_path / "claim", [*honest().documents(), other])
    assert not (tmp_path / "claim").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    documents = honest().documents()
    for name in ("claim", "claim.tar"):
        write_bundle(tmp_path / name, documents)
        before = read_bundle(tmp_path / name)
        with pytest.raises(BundleError, match="there already"):
            write_bundle(tmp_path / name, documents[:1])
        assert read_bundle(tmp_path / name) == before


@pytest.mark.parametrize(
    ("format_file", "fault"),
    [
        pytest.param(None, "no bundle.json", id="missing"),
        pytest.param({"format": "agentbeat-claim-bundle", "version": 2}, "version", id="later-version"),
        pytest.param({"format": "other", "version": 1}, "format", id="another-format"),
        pytest.param({"version": 1}, "format", id="no-format"),
    ],
)
def test_another_format_or_version_is_refused(tmp_path: Path, format_file: object, fault: str) -> None:
    write_bundle(tmp_path / "claim", honest().documents())
    file = tmp_path / "claim" / "bundle.json"
    file.unlink() if format_file is None else file.write_text(json.dumps(format_file))
    with pytest.raises(BundleError, match=fault):
        read_bundle(tmp_path / "claim")


def _tar(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    with tarfile.open(path, "w:") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _link(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return member


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(tarfile.TarInfo("../out.json"), id="parent"),
        pytest.param(tarfile.TarInfo("/out.json"), id="absolute"),
        pytest.param(tarfile.TarInfo("receipts/a.txt"), id="other-file"),
        pytest.param(_link("receipts/a.json"), id="link"),
    ],
)
def test_a_tar_with_anything_but_plain_json_files_inside_is_refused(
    tmp_path: Path, member: tarfile.TarInfo
) -> None:
    format_file = bundle_files([])["bundle.json"]
    _tar(tmp_path / "claim.tar", [(tarfile.TarInfo("bundle.json"), format_file), (member, b"")])
    with pytest.raises(BundleError):
        read_bundle(tmp_path / "claim.tar")


def test_a_tar_that_people_made_reads_the_same(tmp_path: Path) -> None:
    """`tar cf claim.tar .` writes `./` before names, and folders as members."""
    files = bundle_files(honest().documents())
    members = [(tarfile.TarInfo(f"./{path}"), content) for path, content in files.items()]
    _tar(tmp_path / "claim.tar", members)
    expected = tuple(Delivery(path, content) for path, content in files.items() if path != "bundle.json")
    assert read_bundle(tmp_path / "claim.tar") == expected


def test_a_link_in_a_folder_and_a_file_that_is_no_tar_are_refused(tmp_path: Path) -> None:
    write_bundle(tmp_path / "claim", honest().documents())
    (tmp_path / "claim" / "more.json").symlink_to(tmp_path / "claim" / "manifest.json")
    with pytest.raises(BundleError, match="a link"):
        read_bundle(tmp_path / "claim")
    (tmp_path / "claim.tar").write_bytes(b"no tar at all")
    with pytest.raises(BundleError, match="no tar"):
        read_bundle(tmp_path / "claim.tar")


def _foreign(folder: Path) -> None:
    """What `git init` and desktops leave in a folder."""
    for path in (
        ".git/HEAD",
        ".git/objects/ab/cd.json",
        ".gitattributes",
        ".DS_Store",
        "receipts/._p-1.json",
    ):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"\0")
    (folder / ".link").symlink_to(folder)


def test_names_that_begin_with_a_dot_are_no_part_of_a_bundle(tmp_path: Path) -> None:
    write_bundle(tmp_path / "claim", honest().documents())
    before = read_bundle(tmp_path / "claim")
    _foreign(tmp_path / "claim")
    assert read_bundle(tmp_path / "claim") == before
    (tmp_path / "claim" / ".link").unlink()
    with tarfile.open(tmp_path / "claim.tar", "w:") as archive:
        archive.add(tmp_path / "claim", ".")
    assert read_bundle(tmp_path / "claim.tar") == before


@pytest.mark.parametrize("path", ["README.md", "receipts/p-1.none.json.bak", "receipts/p-1.none"])
def test_a_file_of_another_kind_is_refused_by_name_and_not_passed_over(tmp_path: Path, path: str) -> None:
    write_bundle(tmp_path / "claim", honest().documents())
    (tmp_path / "claim" / path).write_text("evidence?")
    with pytest.raises(BundleError, match=f"{path}: expected a relative path"):
        read_bundle(tmp_path / "claim")


@pytest.mark.parametrize("depth", [16, 17, 200])
def test_folders_may_lie_16_deep(tmp_path: Path, depth: int) -> None:
    write_bundle(tmp_path / "claim", honest().documents())
    count, place = len(read_bundle(tmp_path / "claim")), os.open(tmp_path / "claim", os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=place)
        place, above = os.open("d", os.O_RDONLY, dir_fd=place), place
        os.close(above)
    with os.fdopen(os.open("a.json", os.O_WRONLY | os.O_CREAT, dir_fd=place), "w") as file:
        file.write("{}")
    os.close(place)
    _tar(
        tmp_path / "claim.tar",
        [
            (tarfile.TarInfo("bundle.json"), bundle_files([])["bundle.json"]),
            (tarfile.TarInfo("d/" * depth + "a.json"), b"{}"),
        ],
    )
    if depth == 16:
        assert len(read_bundle(tmp_path / "claim")) == count + 1
        assert len(read_bundle(tmp_path / "claim.tar")) == 1
        return
    for name in ("claim", "claim.tar"):
        with pytest.raises(BundleError, match="in more than 16 folders") as caught:
            read_bundle(tmp_path / name)
        assert len(str(caught.value)) < 400


def test_empty_folders_count_as_files_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_streams, "MAX_FILES", 20)
    for name in ("claim", "claim.tar"):
        write_bundle(tmp_path / name, honest().documents()[:1])
    for place in range(20):
        (tmp_path / "claim" / f"d{place}").mkdir()
    with tarfile.open(tmp_path / "claim.tar", "a:") as archive:
        archive.add(tmp_path / "claim", "more")
    for name in ("claim", "claim.tar"):
        with pytest.raises(BundleError, match="more than 20 files and folders"):
            read_bundle(tmp_path / name)


def test_a_pipe_is_neither_a_bundle_nor_in_one_and_is_not_opened(tmp_path: Path) -> None:
    write_bundle(tmp_path / "claim", honest().documents())
    os.mkfifo(tmp_path / "pipe.tar")
    with pytest.raises(BundleError, match="neither a folder nor a plain file"):
        read_bundle(tmp_path / "pipe.tar")
    os.mkfifo(tmp_path / "claim" / "more.json")
    with pytest.raises(BundleError, match=r"more\.json: no plain file"):
        read_bundle(tmp_path / "claim")


def test_a_packed_tar_is_refused_as_what_it_is(tmp_path: Path) -> None:
    write_bundle(tmp_path / "claim.tar", honest().documents())
    packed = tmp_path / "claim.tar.gz"
    packed.write_bytes(gzip.compress((tmp_path / "claim.tar").read_bytes()))
    with pytest.raises(BundleError, match="a gzip file, expected a tar that is not packed"):
        read_bundle(packed)


@pytest.mark.parametrize("size", [-1, -512, 8**11 - 1, 2**63])
def test_a_size_that_no_file_has_is_refused(tmp_path: Path, size: int) -> None:
    write_bundle(tmp_path / "claim.tar", honest().documents())
    honest_bytes = (tmp_path / "claim.tar").read_bytes()
    (tmp_path / "claim.tar").write_bytes(header("more.json", size=size) + honest_bytes)
    with pytest.raises(BundleError, match=r"more\.json: 8589934591 bytes|a size that is no octal number"):
        read_bundle(tmp_path / "claim.tar")


def test_what_was_read_can_be_read_as_documents(tmp_path: Path) -> None:
    parts = honest()
    write_bundle(tmp_path / "claim", parts.documents())
    read = {d.path: read_document(d.content) for d in read_bundle(tmp_path / "claim")}
    assert read["manifest.json"] == parts.manifest
    assert read["receipts/p-1.none.json"] == parts.receipts["p-1.none"]


@pytest.mark.parametrize("name", ["claim", "claim.tar"])
@pytest.mark.parametrize(
    ("limit", "fault"), [("MAX_FILES", "more than 3 files"), ("MAX_FILE_BYTES", "at most 3")]
)
def test_too_many_files_or_bytes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: str, fault: str
) -> None:
    write_bundle(tmp_path / name, honest().documents())
    monkeypatch.setattr(bundle_streams, limit, 3)
    with pytest.raises(BundleError, match=fault):
        read_bundle(tmp_path / name)
