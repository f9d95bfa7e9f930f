"""`agentbeat claims anchor`, and tickets that cite what it brought."""

from __future__ import annotations

import hashlib
from pathlib import Path

from agentbeat_receipts.bundles import read_bundle
from agentbeat_receipts.objects import TimeAnchor, read_document
from support.claim_batches import kiosk_manifest
from support.claim_commands import claims, signed
from support.time_stamping import authority, serving

DIGEST = "sha256:"


def test_an_anchor_is_requested_attached_and_cited(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    query = tmp_path / "request.tsq"
    assert claims("anchor", "request", folder, "--out", query).code == 0
    (tmp_path / "token.tsr").write_bytes(authority().answer(query.read_bytes()))
    attached = claims("anchor", "attach", folder, tmp_path / "token.tsr")
    assert attached.code == 0, attached.err
    ran = claims("ticket", folder, "--keyring", tmp_path / "keys")
    assert ran.code == 0
    assert "no time anchor" not in ran.err
    bodies = [read_document(delivery.content).body for delivery in read_bundle(folder)]
    (anchor,) = [body for body in bodies if isinstance(body, TimeAnchor)]
    assert attached.out.strip() == anchor.token_digest()
    assert {getattr(body, "anchor", anchor.token_digest()) for body in bodies} == {anchor.token_digest()}


def test_the_bytes_to_stamp_hash_to_the_manifests_digest(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    claims("anchor", "request", folder, "--form", "opentimestamps", "--out", tmp_path / "to-stamp")
    raw = (tmp_path / "to-stamp").read_bytes()
    assert DIGEST + hashlib.sha256(raw).hexdigest() == kiosk_manifest().digest()


def test_a_token_over_something_else_or_no_token_is_refused(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    (tmp_path / "other.tsr").write_bytes(authority().stamp(DIGEST + "0" * 64))
    (tmp_path / "noise.tsr").write_bytes(b"noise")
    for name, said in (("other.tsr", "other_content"), ("noise.tsr", "unreadable")):
        for command in (("anchor", "attach", folder, tmp_path / name),):
            ran = claims(*command)
            assert (ran.code, ran.out) == (2, "")
            assert said in ran.err
    assert not (folder / "anchors").exists()


def test_of_several_anchors_one_has_to_be_named(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(authority().stamp(kiosk_manifest().digest()))
        claims("anchor", "attach", folder, tmp_path / name)
    ran = claims("ticket", folder, "--keyring", tmp_path / "keys")
    assert ran.code == 2
    assert "got 2 time anchors" in ran.err
    assert not (folder / "tickets").exists()
    assert claims("ticket", folder, "--keyring", tmp_path / "keys", "--anchor", tmp_path / "two").code == 0


def test_an_authority_is_asked_over_http_and_its_token_held_against_a_root(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    (tmp_path / "root.pem").write_bytes(authority().root.pem)
    with serving(authority().answer) as url:
        ran = claims("anchor", "fetch", folder, url, "--tsa-root", tmp_path / "root.pem")
    assert ran.code == 0, ran.err
    (path,) = (folder / "anchors").iterdir()
    assert path.stem == ran.out.strip().removeprefix(DIGEST)[:16]


def test_an_authority_that_does_not_answer_leaves_the_bundle_as_it_was(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    ran = claims("anchor", "fetch", folder, "http://127.0.0.1:1/secret")
    assert (ran.code, ran.out) == (2, "")
    assert "the authority: " in ran.err
    assert "secret" not in ran.err
    assert not (folder / "anchors").exists()
