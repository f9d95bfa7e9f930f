"""`agentbeat claims` before the runs: keys, manifest, anchor, tickets; and its help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentbeat_receipts.batches import Batch
from agentbeat_receipts.bundles import bundle_files
from agentbeat_receipts.commands.options import UsageError, new_file, write_report
from agentbeat_receipts.keyring_files import load_keyring
from support.claim_batches import batch, kiosk_manifest
from support.claim_commands import bundle, claims, draft, files, keys, retrospective, signed
from support.time_stamping import authority

# Help.

COMMANDS = ("keygen", "manifest", "anchor", "ticket", "verify", "explain", "open", "corpus", "schema")


def test_the_help_lists_every_command_and_the_exit_codes() -> None:
    shown = claims("--help").out
    assert all(f"\n    {name}" in shown for name in COMMANDS)
    assert "exit codes:" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_each_commands_help_teaches_with_an_example(name: str) -> None:
    ran = claims(name, "--help")
    assert ran.code == 0
    assert "example" in ran.out
    assert f"agentbeat claims {name} " in ran.out


# keygen


def test_keygen_makes_a_keyring_and_prints_the_names_of_its_keys(tmp_path: Path) -> None:
    ran = claims("keygen", tmp_path / "keys")
    public = load_keyring(tmp_path / "keys").public
    assert ran.code == 0
    assert dict(line.split() for line in ran.out.splitlines()) == {
        role: public.key_id(role)  # type: ignore[arg-type]
        for role in ("manifest_authority", "ingress_authority", "auditor")
    }


def test_keygen_overwrites_nothing_and_shows_no_key(tmp_path: Path) -> None:
    keys(tmp_path)
    before = files(tmp_path)
    ran = claims("keygen", tmp_path / "keys")
    assert (ran.code, ran.out) == (2, "")
    assert "not empty" in ran.err
    assert files(tmp_path) == before


# manifest


def test_manifest_signs_the_draft_and_prints_its_digest(tmp_path: Path) -> None:
    of = kiosk_manifest()
    folder = signed(tmp_path, of)
    expected = bundle_files(Batch(of, load_keyring(tmp_path / "keys")).framing()[:1])
    assert files(folder) == expected
    again = claims(
        "manifest", tmp_path / "draft.json", "--keyring", tmp_path / "keys", "--out", tmp_path / "two"
    )
    assert again.out.strip() == of.digest()


def test_manifest_overwrites_nothing(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    before = files(folder)
    ran = claims("manifest", tmp_path / "draft.json", "--keyring", tmp_path / "keys", "--out", folder)
    assert (ran.code, ran.out) == (2, "")
    assert "there already" in ran.err
    assert files(folder) == before


WRONG = {
    "a member too few": (lambda made: made.pop("retry"), "/retry"),
    "a wrong type": (lambda made: made.update(replicates="2"), "/replicates"),
    "deep inside": (
        lambda made: made["arms"][1]["components"].update(prompt="md5:0"),
        "/arms/1/components/prompt",
    ),
    "an unknown member": (lambda made: made.update(colour="red"), "/colour"),
    "at odds with itself": (lambda made: made["profiles"].pop(), "only declared profiles"),
    "a fraction": (lambda made: made.update(money_exponent=1.5), "N-FRACTION"),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_draft_is_said_with_its_place(tmp_path: Path, change: Any, said: str) -> None:
    keys(tmp_path)
    made = kiosk_manifest().model_dump(mode="json")
    change(made)
    (tmp_path / "draft.json").write_text(json.dumps(made))
    ran = claims(
        "manifest", tmp_path / "draft.json", "--keyring", tmp_path / "keys", "--out", tmp_path / "claim"
    )
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "draft.json" in ran.err
    assert not (tmp_path / "claim").exists()


def test_notes_tell_what_a_manifest_will_not_be_able_to_claim(tmp_path: Path) -> None:
    keys(tmp_path)
    path = draft(tmp_path, retrospective(comparison_groups=()), nonces="derived_from_seed")
    ran = claims("manifest", path, "--keyring", tmp_path / "keys", "--out", tmp_path / "claim")
    assert ran.code == 0
    for note in (
        "no contract for C1",
        "no contract for C3",
        "C2 will be I_C",
        "coverage will not",
        "hide nothing",
    ):
        assert note in ran.err, note
    assert "no domain kiosk" in ran.err


def test_a_manifest_needs_its_authoritys_key_and_a_folder(tmp_path: Path) -> None:
    keys(tmp_path)
    path = draft(tmp_path)
    tar = claims("manifest", path, "--keyring", tmp_path / "keys", "--out", tmp_path / "claim.tar")
    assert (tar.code, "expected a folder" in tar.err) == (2, True)
    (tmp_path / "keys" / "manifest_authority.key").unlink()
    ran = claims("manifest", path, "--keyring", tmp_path / "keys", "--out", tmp_path / "claim")
    assert ran.code == 2
    assert "no manifest_authority.key in the keyring" in ran.err
    assert not (tmp_path / "claim").exists()


def test_a_keyring_that_others_can_read_is_refused(tmp_path: Path) -> None:
    keys(tmp_path)
    (tmp_path / "keys" / "manifest_authority.key").chmod(0o640)
    ran = claims("manifest", draft(tmp_path), "--keyring", tmp_path / "keys", "--out", tmp_path / "claim")
    assert ran.code == 2
    assert "mode 0640 lets others in" in ran.err
    assert not (tmp_path / "claim").exists()


# ticket


def test_tickets_are_those_that_a_batch_would_sign(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    (tmp_path / "keys" / "auditor.key").rename(tmp_path / "elsewhere")
    (tmp_path / "keys" / "manifest_authority.key").rename(tmp_path / "too")
    ran = claims("ticket", folder, "--keyring", tmp_path / "keys")
    assert ran.code == 0, ran.err
    assert "no time anchor" in ran.err
    (tmp_path / "elsewhere").rename(tmp_path / "keys" / "auditor.key")
    (tmp_path / "too").rename(tmp_path / "keys" / "manifest_authority.key")
    framing = Batch(kiosk_manifest(), load_keyring(tmp_path / "keys")).framing()
    assert files(folder) == bundle_files(framing)
    assert ran.out.strip() == framing[-1].body.digest()


def test_doing_it_again_changes_nothing_and_finishes_what_was_cut_off(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    claims("ticket", folder, "--keyring", tmp_path / "keys")
    whole = files(folder)
    (folder / "checkpoint.json").unlink()
    (folder / "tickets" / "v-5.capped.2.json").unlink()
    ran = claims("ticket", folder, "--keyring", tmp_path / "keys")
    assert ran.code == 0
    assert "(2 new files)" in ran.err
    assert files(folder) == whole


def test_tickets_with_another_anchor_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    claims("ticket", folder, "--keyring", tmp_path / "keys")
    before = files(folder)
    token = tmp_path / "token.tsr"
    token.write_bytes(authority().stamp(kiosk_manifest().digest()))
    ran = claims("ticket", folder, "--keyring", tmp_path / "keys", "--anchor", token)
    assert (ran.code, ran.out) == (2, "")
    assert "there already with other content" in ran.err
    assert files(folder) == before


def test_a_manifest_that_another_authority_signed_gets_no_tickets(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    (tmp_path / "others").mkdir()
    keys(tmp_path / "others")
    ran = claims("ticket", folder, "--keyring", tmp_path / "others" / "keys")
    assert ran.code == 2
    assert "signature_invalid" in ran.err
    assert not (folder / "tickets").exists()


def test_neither_a_retrospective_manifest_nor_a_batch_under_way_gets_tickets(tmp_path: Path) -> None:
    folder = signed(tmp_path, retrospective())
    ran = claims("ticket", folder, "--keyring", tmp_path / "keys")
    assert (ran.code, "retrospective" in ran.err) == (2, True)
    from agentbeat_receipts.keyring_files import public_keyring_bytes
    from support.receipt_batches import keyring

    under_way = bundle(tmp_path, batch(), "under-way")
    (tmp_path / "keys" / "public.json").write_bytes(public_keyring_bytes(keyring().public))
    for role in ("manifest_authority", "ingress_authority", "auditor"):
        (tmp_path / "keys" / f"{role}.key").unlink()
    ran = claims("ticket", under_way, "--keyring", tmp_path / "keys")
    assert ran.code == 2
    assert "there are receipts already" in ran.err


# schema


def test_schemas_are_listed_and_printed() -> None:
    listed = claims("schema").out.split()
    assert "claims-receipt-v1" in listed
    assert json.loads(claims("schema", "claims-receipt-v1").out)["$id"] == "urn:agentbeat:claims-receipt-v1"
    ran = claims("schema", "claims-recipt-v1")
    assert ran.code == 2
    assert "did you mean claims-receipt-v1?" in ran.err


# Files.


def test_a_report_is_written_whole_or_not_at_all_and_replaced_only_by_force(tmp_path: Path) -> None:
    place = tmp_path / "report.json"
    write_report(str(place), b"one")
    with pytest.raises(UsageError, match="there already"):
        write_report(str(place), b"two")
    assert place.read_bytes() == b"one"
    write_report(str(place), b"three", force=True)
    assert place.read_bytes() == b"three"
    assert list(tmp_path.iterdir()) == [place]
    for wrong in (str(tmp_path), str(tmp_path / "no" / "report.json")):
        with pytest.raises(UsageError, match="expected a file in a folder"):
            new_file(wrong)


def test_a_broken_bundle_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    folder = signed(tmp_path)
    (folder / "manifest.json").write_text("{}")
    ran = claims("ticket", folder, "--keyring", tmp_path / "keys")
    assert ran.code == 2
    assert "manifest.json: S-REQUIRED" in ran.err
    assert not (folder / "tickets").exists()


def test_a_file_system_without_links_takes_reports_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.link", refuse)
    write_report(str(tmp_path / "report.json"), b"one")
    assert (tmp_path / "report.json").read_bytes() == b"one"
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(UsageError, match="there already"):
        write_report(str(tmp_path / "report.json"), b"two")
