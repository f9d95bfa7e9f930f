"""`agentbeat claims verify`, `explain` and `open`, on bundles of a toy domain."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from agentbeat_receipts.bundles import bundle_files, write_bundle
from agentbeat_receipts.keyring_files import create_keyring
from agentbeat_receipts.objects import Document, ReportBundle
from agentbeat_receipts.schemas import schema_text
from support.claim_batches import Making, batch, unopened
from support.claim_commands import auditor_file, bundle, claims, files, public_file, retrospective
from support.kiosk import KIOSK
from support.receipt_batches import Parts, changed
from support.tars import header, pax

PLAIN = Making(manifest=retrospective())
FIRST = "v-1.free.1"


@pytest.fixture(autouse=True)
def _toy_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentbeat_receipts.domains.known_domains", lambda: {KIOSK.name: KIOSK})


@pytest.fixture
def public(tmp_path: Path) -> Path:
    return public_file(tmp_path)


@pytest.fixture
def auditor(tmp_path: Path) -> Path:
    return auditor_file(tmp_path)


def with_report(parts: Parts, **members: object) -> Parts:
    body = parts.report.body
    assert isinstance(body, ReportBundle)
    return replace(parts, report=Document(body=changed(body, **members)))


# verify


def test_a_sound_bundle_passes_as_a_folder_and_as_a_tar(tmp_path: Path, public: Path, auditor: Path) -> None:
    parts = batch(PLAIN)
    for name in ("claim", "claim.tar"):
        source = bundle(tmp_path, parts, name)
        ran = claims("verify", source, "--keyring", public, "--auditor-key", auditor)
        assert (ran.code, ran.err) == (0, "")
        assert "Everything that is claimed passes" in ran.out


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(header("\x1b[2J\n.json", size=-512), id="a size that goes back"),
        pytest.param(header("\x1b[2J\n.json", b"2"), id="a link with a name that clears the screen"),
        pytest.param(pax(path="a/" * 600) * 3000, id="a chain of headers"),
        pytest.param(header("d/" * 40 + "a.json"), id="deep folders"),
        pytest.param(b"\x1f\x8b" + bytes(600), id="a packed tar"),
    ],
)
def test_a_hostile_tar_ends_with_2_and_one_short_line(tmp_path: Path, public: Path, hostile: bytes) -> None:
    source = bundle(tmp_path, batch(PLAIN), "claim.tar")
    source.write_bytes(hostile + source.read_bytes())
    ran = claims("verify", source, "--keyring", public)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("agentbeat claims verify: ")
    assert ran.err.endswith("\n")
    assert ran.err.removesuffix("\n").replace(str(tmp_path), "").isprintable()
    assert len(ran.err) < 400


CASES = {
    "a terminal withheld": (
        lambda parts: parts.without("receipts", FIRST),
        3,
        {"C4": "INCONCLUSIVE_COVERAGE"},
    ),
    "openings withheld": (unopened, 3, {"sale": "I_E", "C2": "Pass", "C4": "I_E"}),
    "cells withheld": (lambda parts: with_report(parts, cells=()), 1, {"C4": "Invalid", "sale": "Pass"}),
    "cells withheld, as it says": (
        lambda parts: with_report(parts, cells=(), complete=False),
        3,
        {"C4": "I_E", "sale": "Pass"},
    ),
    "a receipt nobody signed": (
        lambda parts: parts.beside_also(
            type(parts.manifest)(body=parts.receipts[FIRST].body, signature=bytes(64))
        ),
        1,
        {"C2": "Invalid", "sale": "Invalid"},
    ),
}


@pytest.mark.parametrize(("change", "code", "verdicts"), CASES.values(), ids=CASES)
def test_the_exit_code_tells_invalid_from_inconclusive(
    tmp_path: Path, public: Path, auditor: Path, change: object, code: int, verdicts: dict[str, str]
) -> None:
    parts = change(batch(PLAIN))  # type: ignore[operator]
    folder = tmp_path / "claim"
    for place, document in enumerate(parts.documents()):
        # A rival lies beside under a name of its own.
        for name, content in bundle_files([document]).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path = path.with_name(f"{place}-{path.name}") if path.exists() and name != "bundle.json" else path
            path.write_bytes(content)
    ran = claims("verify", folder, "--keyring", public, "--auditor-key", auditor, "--json", "-")
    assert ran.code == code
    found = json.loads(ran.out)
    assert found["exit_code"] == code
    said = {claim["claim"]: claim["verdict"] for claim in found["claims"]}
    assert verdicts.items() <= said.items()
    Draft202012Validator(json.loads(schema_text("claims-verification-v1"))).validate(found)


def test_without_the_auditors_key_coverage_and_c2_stand(tmp_path: Path, public: Path) -> None:
    ran = claims("verify", bundle(tmp_path, batch(PLAIN)), "--keyring", public, "--json", "-")
    found = json.loads(ran.out)
    verdicts = {claim["claim"]: claim["verdict"] for claim in found["claims"]}
    assert (ran.code, verdicts["C2"], verdicts["surplus"]) == (3, "Pass", "I_E")
    assert found["questions"]["integrity"] == "Pass"


def test_the_keyring_may_be_a_folder_with_public_json(tmp_path: Path, auditor: Path) -> None:
    (tmp_path / "public").mkdir()
    public_file(tmp_path / "public")
    source = bundle(tmp_path, batch(PLAIN))
    ran = claims("verify", source, "--keyring", tmp_path / "public", "--auditor-key", auditor)
    assert ran.code == 0


def test_reports_are_files_beside_the_table_or_in_its_place(
    tmp_path: Path, public: Path, auditor: Path
) -> None:
    source, page, written = bundle(tmp_path, batch(PLAIN)), tmp_path / "a.html", tmp_path / "a.json"
    given = ("verify", source, "--keyring", public, "--auditor-key", auditor)
    ran = claims(*given, "--html", page, "--json", written)
    assert ran.code == 0
    assert "licence: descriptive" in ran.out
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(written.read_text())["outcome"] == "Pass"
    assert claims(*given, "--html", "-").out == page.read_text()
    assert claims(*given, "--json", "-").out == written.read_text()


def test_no_report_is_overwritten_without_force(tmp_path: Path, public: Path) -> None:
    source, written = bundle(tmp_path, batch(PLAIN)), tmp_path / "a.json"
    written.write_text("mine")
    given = ("verify", source, "--keyring", public, "--json", written)
    ran = claims(*given)
    assert (ran.code, ran.out) == (2, "")
    assert written.read_text() == "mine"
    assert claims(*given, "--force").code == 3
    assert json.loads(written.read_text())["outcome"] == "Inconclusive"


def test_verifying_changes_no_file_of_a_bundle(tmp_path: Path, public: Path, auditor: Path) -> None:
    source = bundle(tmp_path, batch(PLAIN))
    before = files(source)
    claims("verify", source, "--keyring", public, "--auditor-key", auditor)
    assert files(source) == before


REFUSED = {
    "no bundle": (lambda folder: (folder / "nowhere", "--keyring", folder / "public.json"), "nowhere"),
    "no keyring": (lambda folder: (folder / "claim", "--keyring", folder / "gone.json"), "gone.json"),
    "two reports for standard output": (
        lambda folder: (folder / "claim", "--keyring", folder / "public.json", "--json", "-", "--html", "-"),
        "two reports",
    ),
    "no digest": (
        lambda folder: (folder / "claim", "--keyring", folder / "public.json", "--manifest", "abc"),
        "64 hex digits",
    ),
    "no block header": (
        lambda folder: (folder / "claim", "--keyring", folder / "public.json", "--block-header", "7:ab"),
        "160 hex digits",
    ),
    "a root that is none": (
        lambda folder: (
            folder / "claim",
            "--keyring",
            folder / "public.json",
            "--tsa-root",
            folder / "public.json",
        ),
        "no certificate in PEM",
    ),
    "two headers for a height": (
        lambda folder: (
            *(folder / "claim", "--keyring", folder / "public.json"),
            *("--block-header", "7:" + "0" * 160, "--block-header", "7:" + "1" * 160),
        ),
        "two headers for height 7",
    ),
    "an auditor's key that others can read": (
        lambda folder: (
            *(folder / "claim", "--keyring", folder / "public.json"),
            *("--auditor-key", folder / "open.key"),
        ),
        "lets others in",
    ),
    "the key of another auditor": (
        lambda folder: (
            *(folder / "claim", "--keyring", folder / "public.json"),
            *("--auditor-key", folder / "others" / "auditor.key"),
        ),
        "not the private key of the keyring's auditor",
    ),
}


@pytest.mark.parametrize(("given", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused_before_anything_is_verified(
    tmp_path: Path, public: Path, given: object, said: str
) -> None:
    bundle(tmp_path, batch(PLAIN))
    create_keyring(tmp_path / "others")
    (tmp_path / "open.key").write_bytes((tmp_path / "others" / "auditor.key").read_bytes())
    (tmp_path / "open.key").chmod(0o644)
    ran = claims("verify", *given(tmp_path))  # type: ignore[operator]
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "PRIVATE" not in ran.err


def test_which_of_several_manifests_is_meant_has_to_be_said(
    tmp_path: Path, public: Path, auditor: Path
) -> None:
    folder = bundle(tmp_path, batch(PLAIN))
    other = batch(Making(manifest=retrospective(title="Another")))
    write_bundle(folder / "beside", other.documents())
    (folder / "beside" / "bundle.json").unlink()
    given = ("verify", folder, "--keyring", public, "--auditor-key", auditor)
    ran = claims(*given)
    assert ran.code == 3
    assert "manifest_ambiguous" in ran.out
    ran = claims(*given, "--manifest", PLAIN.manifest.digest())
    assert ran.code == 0
    assert "set_aside" in ran.out
