"""A party holds the keys of its role, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentbeat_receipts.held_keys import load_held_keys
from agentbeat_receipts.keyring_files import (
    PUBLIC_FILE,
    create_keyring,
    load_auditor_key,
    load_public_keyring,
    load_signing_key,
)
from agentbeat_receipts.keys import KeyRefused, Keyring, Role
from agentbeat_receipts.objects import Envelope, Ticket, sign
from support.receipt_batches import manifest

TICKET = Ticket(manifest="sha256:" + "0" * 64, assignment="a-1", anchor=None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create_keyring(tmp_path / "keys")
    return tmp_path / "keys"


def without(folder: Path, *roles: Role) -> Path:
    for role in roles:
        (folder / f"{role}.key").unlink()
    return folder


def test_a_whole_folder_signs_as_its_keyring_does(folder: Path) -> None:
    keyring = Keyring(
        manifest_authority=load_signing_key(folder / "manifest_authority.key", Role.MANIFEST_AUTHORITY),
        ingress_authority=load_signing_key(folder / "ingress_authority.key", Role.INGRESS_AUTHORITY),
        auditor=load_auditor_key(folder / "auditor.key"),
    )
    held = load_held_keys(folder)
    assert held.sign(TICKET) == sign(TICKET, keyring)
    assert held.sign(manifest()) == sign(manifest(), keyring)
    assert held.public == load_public_keyring(folder / PUBLIC_FILE)


def test_the_ingress_operator_signs_tickets_with_one_key_and_no_manifest(folder: Path) -> None:
    held = load_held_keys(without(folder, Role.MANIFEST_AUTHORITY, Role.AUDITOR))
    assert held.auditor is None
    assert held.public.verifies(
        Role.INGRESS_AUTHORITY, held.sign(TICKET).signature or b"", TICKET.signed_bytes()
    )
    with pytest.raises(KeyRefused, match=r"no manifest_authority\.key .*a Manifest"):
        held.sign(manifest())


def test_what_nobody_signs_needs_no_key(folder: Path) -> None:
    held = load_held_keys(without(folder, *Role))
    envelope = Envelope(manifest=TICKET.manifest, assignment="a-1", envelope="AAAA")
    assert held.sign(envelope).signature is None


@pytest.mark.parametrize("role", Role)
def test_a_key_that_is_not_the_one_of_its_role_is_refused(folder: Path, tmp_path: Path, role: Role) -> None:
    create_keyring(tmp_path / "others")
    (tmp_path / "others" / f"{role}.key").rename(folder / f"{role}.key")
    with pytest.raises(KeyRefused, match=f"not the key of {role}"):
        load_held_keys(folder)


@pytest.mark.parametrize("name", ["", "ingress_authority.key"])
def test_a_folder_or_a_key_that_others_can_read_is_refused(folder: Path, name: str) -> None:
    (folder / name).chmod(0o755)
    with pytest.raises(KeyRefused, match="mode 0755 lets others in"):
        load_held_keys(folder)


def test_a_link_in_the_place_of_a_key_is_refused_and_not_overlooked(folder: Path) -> None:
    without(folder, Role.AUDITOR)
    (folder / "auditor.key").symlink_to(folder / "nowhere")
    with pytest.raises(KeyRefused, match="no link"):
        load_held_keys(folder)


def test_an_auditor_needs_nothing_but_the_one_file(folder: Path, tmp_path: Path) -> None:
    (folder / "auditor.key").rename(tmp_path / "mine.key")
    public = load_auditor_key(tmp_path / "mine.key").public_key().public_bytes_raw()
    assert public == load_public_keyring(folder / PUBLIC_FILE).auditor
    with pytest.raises(KeyRefused, match="another algorithm"):
        load_auditor_key(folder / "ingress_authority.key")


def test_private_keys_are_not_shown(folder: Path) -> None:
    shown = repr(load_held_keys(folder))
    assert "Private" not in shown
    assert "auditor=b" in shown  # the public one
