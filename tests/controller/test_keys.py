"""The key folder: made once, owner only, and refused when others could read it."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentbeat_controller import KeyFolder, KeyFolderError
from agentbeat_controller.keys import _write_once


def fill(folder):
    """Make everything that a first start makes."""
    keys = KeyFolder.open(folder)
    return [
        keys.control_secret(),
        keys.business_secret("deployment-a"),
        keys.business_secret("deployment-b"),
        keys.signer().verify_key,
        keys.controller_id(),
    ]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_folders_and_files_are_for_their_owner_only_whatever_the_umask(tmp_path, umask):
    previous = os.umask(umask)
    try:
        fill(tmp_path / "deep" / "home")
    finally:
        os.umask(previous)
    home = tmp_path / "deep" / "home"
    folders = [path for path in (tmp_path / "deep").rglob("*") if path.is_dir()]
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {
        "control.secret",
        "controller.id",
        "deployment-a.secret",
        "deployment-b.secret",
        "signing.key",
    }
    assert {mode(path) for path in (tmp_path / "deep", *folders)} == {0o700}
    assert {mode(path) for path in files} == {0o600}


def test_what_was_made_is_found_again(tmp_path):
    first = fill(tmp_path / "home")
    assert fill(tmp_path / "home") == first
    assert len(set(first)) == len(first)
    assert all(len(secret) >= 43 for secret in first[:3])


def test_two_folders_have_nothing_in_common(tmp_path):
    assert not set(fill(tmp_path / "a")) & set(fill(tmp_path / "b"))


@pytest.mark.parametrize("bits", [0o040, 0o020, 0o004, 0o002, 0o001])
@pytest.mark.parametrize(
    "name", [".", "business", "control.secret", "business/deployment-a.secret", "signing.key"]
)
def test_what_others_may_use_is_refused(tmp_path, name, bits):
    """And left as it is: whoever could read a secret may have it still."""
    home = tmp_path / "home"
    secrets = fill(home)
    path = home / name
    path.chmod(mode(path) | bits)
    before = mode(path)
    with pytest.raises(KeyFolderError) as caught:
        fill(home)
    assert str(path.resolve()) in str(caught.value)
    assert "chmod" in str(caught.value)
    assert not any(secret in str(caught.value) for secret in secrets)
    assert mode(path) == before


def test_what_belongs_to_somebody_else_is_refused(tmp_path, monkeypatch):
    fill(tmp_path / "home")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(KeyFolderError, match="another user"):
        fill(tmp_path / "home")


@pytest.mark.parametrize("name", ["control.secret", "signing.key", "controller.id"])
def test_a_symbolic_link_is_no_key(tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("x" * 43)
    elsewhere.chmod(0o600)
    home = tmp_path / "home"
    KeyFolder.open(home)
    (home / name).symlink_to(elsewhere)
    with pytest.raises(KeyFolderError):
        fill(home)
    assert elsewhere.read_text() == "x" * 43


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_in_the_place_of_a_key_is_refused(tmp_path, make):
    KeyFolder.open(tmp_path / "home")
    make(tmp_path / "home" / "control.secret", 0o700)
    with pytest.raises(KeyFolderError, match="regular file"):
        fill(tmp_path / "home")


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(KeyFolderError, match="home"):
        KeyFolder.open(tmp_path / "home")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"with a space in the middle of it, long enough",
        b"two\nlines" * 8,
        b"\xff" * 40,
        b"x" * 300,
    ],
    ids=["empty", "short", "space", "lines", "no-text", "long"],
)
def test_a_secret_that_is_none_is_refused_without_being_shown(tmp_path, content):
    home = tmp_path / "home"
    fill(home)
    (home / "control.secret").write_bytes(content)
    with pytest.raises(KeyFolderError) as caught:
        KeyFolder.open(home).control_secret()
    assert str(home / "control.secret") in str(caught.value)
    assert content == b"" or content.decode("latin-1") not in str(caught.value)


def test_a_secret_of_ones_own_may_end_in_a_newline(tmp_path):
    home = tmp_path / "home"
    fill(home)
    (home / "control.secret").write_text("chosen-by-the-operator-0123456789\n")
    assert KeyFolder.open(home).control_secret() == "chosen-by-the-operator-0123456789"


@pytest.mark.parametrize(
    "content", [b"", b"no key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_signing_key_that_is_none_is_refused(tmp_path, content):
    home = tmp_path / "home"
    fill(home)
    (home / "signing.key").write_bytes(content)
    with pytest.raises(KeyFolderError, match=r"signing\.key"):
        KeyFolder.open(home).signer()


@pytest.mark.parametrize(
    ("one", "other"),
    [("a/b", "a_b"), ("a/b", "a%2Fb"), (".", ".."), ("x" * 300, "x" * 301), ("ü", "u"), ("a b", "a+b")],
)
def test_each_deployment_has_a_file_and_a_secret_of_its_own_in_the_folder(tmp_path, one, other):
    """Whatever its id is: no id leads out of the folder, and no two to one file."""
    keys = KeyFolder.open(tmp_path / "home")
    secrets = {keys.business_secret(one), keys.business_secret(other)}
    paths = {keys.business_secret_path(one), keys.business_secret_path(other)}
    assert len(secrets) == len(paths) == 2
    assert {path.parent for path in paths} == {keys.path / "business"}


def test_the_controller_id_is_fixed_at_the_first_start(tmp_path):
    keys = KeyFolder.open(tmp_path / "home")
    assert keys.controller_id("controller-mine") == "controller-mine"
    assert keys.controller_id() == "controller-mine"
    with pytest.raises(KeyFolderError, match="another controller id"):
        keys.controller_id("controller-other")
    with pytest.raises(KeyFolderError, match="control characters"):
        KeyFolder.open(tmp_path / "second").controller_id("a\nb")


def test_two_that_start_at_once_have_the_same_keys(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: tuple(fill(tmp_path / "home")), range(8)))
    assert len(set(found)) == 1
    assert list((tmp_path / "home").rglob(".*")) == []


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from agentbeat_controller import KeyFolder
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
KeyFolder.open(Path(sys.argv[1])).control_secret()
"""


def test_a_kill_while_a_secret_is_made_leaves_none_or_all_of_it(tmp_path):
    """The next start makes one, as if there had been no first."""
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(tmp_path / "home")], check=False)
    assert killed.returncode == -9
    assert not (tmp_path / "home" / "control.secret").exists()
    assert len(KeyFolder.open(tmp_path / "home").control_secret()) == 43


def test_who_comes_second_keeps_the_first_ones_content(tmp_path):
    _write_once(tmp_path / "x", b"first")
    _write_once(tmp_path / "x", b"second")
    assert (tmp_path / "x").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
