"""Roles and keys: what is refused before any signature is looked at."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from agentbeat_receipts.curve_points import ed25519_fault, x25519_twin
from agentbeat_receipts.keyring_files import (
    create_keyring,
    load_keyring,
    public_keyring_bytes,
    read_public_keyring,
)
from agentbeat_receipts.keys import SIGNING_ROLES, KeyRefused, Keyring, PublicKeyring, Role, key_id

P = 2**255 - 19
ORDER_8 = bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
OTHER_ORDER_8 = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")


def _bytes(number: int) -> bytes:
    return number.to_bytes(32, "little")


def _negated(key: bytes) -> bytes:
    return key[:31] + bytes([key[31] ^ 0x80])


def _keys(keyring: Keyring) -> dict[str, bytes]:
    return {role.value: keyring.public.key(role) for role in Role}


@pytest.fixture(scope="module")
def keyring() -> Keyring:
    return Keyring.generate()


UNSOUND = [
    pytest.param(_bytes(1), "small order", id="identity"),
    pytest.param(_bytes(P - 1), "small order", id="order-2"),
    pytest.param(_bytes(0), "small order", id="order-4"),
    pytest.param(_negated(_bytes(0)), "small order", id="order-4-negated"),
    pytest.param(ORDER_8, "small order", id="order-8"),
    pytest.param(_negated(ORDER_8), "small order", id="order-8-negated"),
    pytest.param(OTHER_ORDER_8, "small order", id="other-order-8"),
    pytest.param(_negated(OTHER_ORDER_8), "small order", id="other-order-8-negated"),
    pytest.param(_bytes(P), "not canonical", id="zero-spelled-p"),
    pytest.param(_bytes(P + 1), "not canonical", id="one-spelled-p-plus-1"),
    pytest.param(_negated(_bytes(1)), "no point", id="identity-with-a-sign"),
    pytest.param(_bytes(2), "no point", id="off-the-curve"),
    pytest.param(b"", "0 bytes", id="empty"),
    pytest.param(bytes(31), "31 bytes", id="short"),
    pytest.param(bytes(33), "33 bytes", id="long"),
]


@pytest.mark.parametrize("role", SIGNING_ROLES)
@pytest.mark.parametrize(("key", "fault"), UNSOUND)
def test_an_unsound_signing_key_is_refused(keyring: Keyring, role: Role, key: bytes, fault: str) -> None:
    with pytest.raises(KeyRefused, match=f"{role}: .*{fault}"):
        PublicKeyring(**{**_keys(keyring), role.value: key})


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        pytest.param(_bytes(0), "small order", id="zero"),
        pytest.param(_bytes(1), "small order", id="one"),
        pytest.param(_bytes(P - 1), "small order", id="minus-one"),
        pytest.param(_bytes(P), "not canonical", id="zero-spelled-p"),
        pytest.param(_negated(_bytes(9)), "not canonical", id="highest-bit"),
        pytest.param(bytes(31), "31 bytes", id="short"),
    ],
)
def test_an_unsound_auditor_key_is_refused(keyring: Keyring, key: bytes, fault: str) -> None:
    with pytest.raises(KeyRefused, match=f"auditor: .*{fault}"):
        PublicKeyring(**{**_keys(keyring), "auditor": key})


def test_generated_keys_are_sound() -> None:
    for _ in range(32):
        assert ed25519_fault(Ed25519PrivateKey.generate().public_key().public_bytes_raw()) is None


@pytest.mark.parametrize(
    ("role", "other"),
    [(a, b) for a in Role for b in Role if a is not b and b is not Role.AUDITOR and a is not Role.AUDITOR],
)
def test_one_key_in_two_signing_roles_is_refused(keyring: Keyring, role: Role, other: Role) -> None:
    with pytest.raises(KeyRefused, match="two roles"):
        PublicKeyring(**{**_keys(keyring), role.value: keyring.public.key(other)})


@pytest.mark.parametrize("role", SIGNING_ROLES)
def test_an_auditor_with_a_signers_secret_is_refused(keyring: Keyring, role: Role) -> None:
    """The same secret on the other form of the curve is the same key, and so are the same bytes."""
    signer = keyring.public.key(role)
    with pytest.raises(KeyRefused, match=f"{role} and auditor: one key in two roles"):
        PublicKeyring(**{**_keys(keyring), "auditor": x25519_twin(signer)})
    with pytest.raises(KeyRefused, match=r"two roles|small order|not canonical"):
        PublicKeyring(**{**_keys(keyring), "auditor": signer})


def test_the_twin_is_the_x25519_key_of_the_same_scalar() -> None:
    secret = Ed25519PrivateKey.generate()
    scalar = hashlib.sha512(secret.private_bytes_raw()).digest()[:32]
    twin = X25519PrivateKey.from_private_bytes(scalar).public_key().public_bytes_raw()
    assert x25519_twin(secret.public_key().public_bytes_raw()) == twin


def test_a_signature_counts_for_its_role_and_message_only(keyring: Keyring) -> None:
    for role in SIGNING_ROLES:
        signature = keyring.sign(role, b"message")
        assert [r for r in SIGNING_ROLES if keyring.public.verifies(r, signature, b"message")] == [role]
        assert not keyring.public.verifies(role, signature, b"massage")
        assert not keyring.public.verifies(role, signature[:-1], b"message")


def test_the_auditor_signs_nothing(keyring: Keyring) -> None:
    with pytest.raises(ValueError, match="auditor signs nothing"):
        keyring.sign(Role.AUDITOR, b"")
    with pytest.raises(ValueError, match="auditor signs nothing"):
        keyring.public.verifies(Role.AUDITOR, bytes(64), b"")


def test_private_keys_do_not_show(keyring: Keyring) -> None:
    assert "Private" not in repr(keyring)
    assert keyring.public.key_id(Role.AUDITOR) == key_id(keyring.public.auditor)


def test_a_folder_gives_back_the_keyring_that_it_was_made_with(tmp_path: Path) -> None:
    made = create_keyring(tmp_path / "keys")
    loaded = load_keyring(tmp_path / "keys")
    assert loaded.public == made.public
    signature = loaded.sign(Role.INGRESS_AUTHORITY, b"x")
    assert made.public.verifies(Role.INGRESS_AUTHORITY, signature, b"x")
    raw = (tmp_path / "keys" / "public.json").read_bytes()
    assert read_public_keyring(raw) == made.public
    assert raw == public_keyring_bytes(made.public) + b"\n"


def test_the_folder_and_its_files_are_their_owners_only(tmp_path: Path) -> None:
    create_keyring(tmp_path / "keys")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "keys").iterdir()}
    assert set(modes.values()) == {0o600}
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_no_key_is_overwritten(tmp_path: Path) -> None:
    create_keyring(tmp_path / "keys")
    before = {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    with pytest.raises(KeyRefused, match="not empty"):
        create_keyring(tmp_path / "keys")
    assert {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()} == before


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
@pytest.mark.parametrize("name", [f"{role}.key" for role in Role])
def test_a_private_file_that_is_open_to_others_is_refused(tmp_path: Path, name: str, mode: int) -> None:
    create_keyring(tmp_path / "keys")
    (tmp_path / "keys" / name).chmod(mode)
    with pytest.raises(KeyRefused, match=f"mode {mode:04o} lets others in, expected 0600"):
        load_keyring(tmp_path / "keys")


def test_a_folder_that_is_open_to_others_is_refused(tmp_path: Path) -> None:
    create_keyring(tmp_path / "keys")
    (tmp_path / "keys").chmod(0o755)
    with pytest.raises(KeyRefused, match="0755"):
        load_keyring(tmp_path / "keys")
    (tmp_path / "empty").mkdir(mode=0o755)
    with pytest.raises(KeyRefused, match="0755"):
        create_keyring(tmp_path / "empty")


def test_a_link_in_place_of_a_private_file_is_refused(tmp_path: Path) -> None:
    create_keyring(tmp_path / "keys")
    key = tmp_path / "keys" / "auditor.key"
    key.rename(tmp_path / "elsewhere.key")
    key.symlink_to(tmp_path / "elsewhere.key")
    with pytest.raises(KeyRefused, match="no link"):
        load_keyring(tmp_path / "keys")


def test_a_file_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_keyring(tmp_path / "keys")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(KeyRefused, match="somebody else"):
        load_keyring(tmp_path / "keys")


def _exchange(folder: Path, first: str, second: str) -> None:
    one, other = (folder / first).read_bytes(), (folder / second).read_bytes()
    (folder / first).write_bytes(other)
    (folder / second).write_bytes(one)


@pytest.mark.parametrize(
    ("first", "second", "fault"),
    [
        ("manifest_authority.key", "ingress_authority.key", "not the key of manifest_authority"),
        ("manifest_authority.key", "auditor.key", "another algorithm"),
        ("ingress_authority.key", "auditor.key", "another algorithm"),
    ],
)
def test_a_key_in_another_roles_file_is_refused(tmp_path: Path, first: str, second: str, fault: str) -> None:
    create_keyring(tmp_path / "keys")
    _exchange(tmp_path / "keys", first, second)
    with pytest.raises(KeyRefused, match=fault):
        load_keyring(tmp_path / "keys")


def test_a_file_that_holds_no_plain_private_key_is_refused(tmp_path: Path) -> None:
    create_keyring(tmp_path / "keys")
    path = tmp_path / "keys" / "auditor.key"
    locked = X25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word")
    )
    for content in (b"", b"nonsense", locked):
        path.write_bytes(content)
        with pytest.raises(KeyRefused, match="no unencrypted private key"):
            load_keyring(tmp_path / "keys")
    path.write_bytes(b" " * 17000)
    with pytest.raises(KeyRefused, match="longer than"):
        load_keyring(tmp_path / "keys")


def test_a_new_private_key_under_an_old_public_file_is_refused(tmp_path: Path) -> None:
    create_keyring(tmp_path / "keys")
    pem = X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "keys" / "auditor.key").write_bytes(pem)
    with pytest.raises(KeyRefused, match=r"not the key of auditor in public\.json"):
        load_keyring(tmp_path / "keys")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"version": 2}, id="version"),
        pytest.param({"auditor": "x"}, id="short"),
        pytest.param({"auditor": "A" * 42 + "B="}, id="loose-base64"),
        pytest.param({"runner": "A" * 43 + "="}, id="unknown-role"),
        pytest.param({"ingress_authority": base64.b64encode(_bytes(1)).decode()}, id="small-order"),
    ],
)
def test_a_public_file_of_another_shape_is_refused(keyring: Keyring, change: dict[str, object]) -> None:
    document = {**json.loads(public_keyring_bytes(keyring.public)), **change}
    with pytest.raises(KeyRefused):
        read_public_keyring(json.dumps(document).encode())


def test_a_signing_key_in_the_auditors_file_is_refused(tmp_path: Path) -> None:
    create_keyring(tmp_path / "keys")
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "keys" / "auditor.key").write_bytes(pem)
    with pytest.raises(KeyRefused, match="another algorithm than auditor"):
        load_keyring(tmp_path / "keys")
