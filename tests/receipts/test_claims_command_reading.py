"""`agentbeat claims explain` and `open`, on bundles of a toy domain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentbeat_receipts.bundles import write_bundle
from agentbeat_receipts.claims import GROUPS, Fault
from agentbeat_receipts.claims.groups import EXPERIMENT_CLAIMS
from agentbeat_receipts.domains import known_domains
from agentbeat_receipts.keyring_files import create_keyring
from agentbeat_receipts.objects import Document, Opening, TraceEvent, write_document
from agentbeat_receipts.reports.explanations import topics
from agentbeat_receipts.verification import Reason, Verdict
from support.claim_batches import Making, batch
from support.claim_commands import auditor_file, bundle, claims, public_file, retrospective
from support.kiosk import KIOSK
from support.receipt_batches import changed

PLAIN = Making(manifest=retrospective())
FIRST = "v-1.free.1"
REAL = tuple(known_domains().values())


@pytest.fixture(autouse=True)
def _toy_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentbeat_receipts.domains.known_domains", lambda: {KIOSK.name: KIOSK})


@pytest.fixture
def public(tmp_path: Path) -> Path:
    return public_file(tmp_path)


@pytest.fixture
def auditor(tmp_path: Path) -> Path:
    return auditor_file(tmp_path)


# explain


def test_everything_that_has_a_name_is_explained() -> None:
    for name in topics([KIOSK]):
        ran = claims("explain", name)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith(f"{name}  (")
        assert len(ran.out.splitlines()) >= 2, name


def test_no_two_things_have_one_name() -> None:
    questions = ("integrity", "coverage", "openings", "retries")
    claimed = {claim for domain in REAL for claim in domain.claims}
    named = [*claimed, *questions, *Reason, *Fault, *Verdict, *GROUPS, *EXPERIMENT_CLAIMS]
    assert len(set(named)) == len(named)


def test_a_reason_is_explained_with_rule_layer_verdict_and_what_it_concerns() -> None:
    out = claims("explain", "terminal_missing").out
    for part in (
        "every assignment has its terminal",
        "L3",
        "INCONCLUSIVE_COVERAGE",
        "C1, C3 and C4, and never C2",
    ):
        assert part in " ".join(out.split()), part


def test_a_claim_is_explained_with_the_groups_that_it_needs() -> None:
    out = " ".join(claims("explain", "margin").out.split())
    assert "P private profile; K catalogue and costs; O offer stages; D chooser; F scoring artifacts" in out


def test_what_cannot_be_explained_is_refused_with_a_hint(tmp_path: Path, public: Path) -> None:
    assert "did you mean retry_shadowing?" in claims("explain", "retry_shadow").err
    assert claims("explain", "retry_shadow").code == 2
    source = bundle(tmp_path, batch(PLAIN))
    assert "--keyring" in claims("explain", source, "C1").err
    ran = claims("explain", source, "C9", "--keyring", public)
    assert (ran.code, ran.out) == (2, "")
    assert "C9" in ran.err
    assert claims("explain", "a", "b", "c").code == 2


def test_a_verdict_of_a_bundle_is_explained_with_its_place_and_what_to_do(
    tmp_path: Path, public: Path
) -> None:
    source = bundle(tmp_path, batch(PLAIN).without("receipts", FIRST))
    ran = claims("explain", source, "C4", "--keyring", public)
    assert ran.code == 0
    for part in ("C4 is INCONCLUSIVE_COVERAGE", FIRST, "--auditor-key", "transaction_undetermined"):
        assert part in ran.out, part


# open


def test_an_opening_is_printed_as_json_in_canonical_order(tmp_path: Path, auditor: Path) -> None:
    parts = batch(PLAIN)
    ran = claims("open", bundle(tmp_path, parts), "--auditor-key", auditor, FIRST)
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert found == parts.openings[FIRST].body.model_dump(mode="json")
    assert list(found) == sorted(found)


def test_what_an_opening_holds_cannot_command_a_terminal(tmp_path: Path, auditor: Path) -> None:
    event = TraceEvent(type="note", visibility="visible", data="\x1b[2J\u202e\u0085\U000e0041 é\n")
    honest = batch(PLAIN).openings[FIRST].body
    assert isinstance(honest, Opening)
    attempt = changed(honest.attempts[0], events=(event,))
    parts = batch(Making(manifest=PLAIN.manifest, members={FIRST: {"attempts": (attempt,)}}))
    ran = claims("open", bundle(tmp_path, parts), "--auditor-key", auditor, FIRST)
    assert all(c.isprintable() or c == "\n" for c in ran.out)
    assert "é" in ran.out
    assert json.loads(ran.out)["attempts"][0]["events"][0]["data"] == event.data


def test_what_does_not_open_ends_with_3_and_what_contradicts_with_1(tmp_path: Path, auditor: Path) -> None:
    parts = batch(PLAIN)
    source = bundle(tmp_path, parts)
    sealed = claims("open", source, FIRST)
    assert (sealed.code, sealed.out) == (3, "")
    assert "opening_sealed" in sealed.err
    create_keyring(tmp_path / "others")
    other = claims("open", source, "--auditor-key", tmp_path / "others" / "auditor.key", FIRST)
    assert (other.code, other.out) == (3, "")
    assert "opening_undecryptable" in other.err
    body = parts.openings[FIRST].body
    (source / "openings").mkdir()
    altered = Document(body=changed(body, reported={"sale": 7}))
    (source / "openings" / "v.json").write_bytes(write_document(altered))
    ran = claims("open", source, FIRST)
    assert ran.code == 1
    assert "opening_contradicts_commitment" in ran.err
    assert json.loads(ran.out)["reported"] == {"sale": 7}
    # The one that fits goes before the one that does not.
    assert claims("open", source, "--auditor-key", auditor, FIRST).code == 0


def test_an_assignment_without_a_receipt_is_refused_with_a_hint(tmp_path: Path, auditor: Path) -> None:
    ran = claims("open", bundle(tmp_path, batch(PLAIN)), "--auditor-key", auditor, "v-1.fre.1")
    assert (ran.code, ran.out) == (2, "")
    assert f"did you mean {FIRST}?" in ran.err or "did you mean v-1.free" in ran.err


def test_of_several_manifests_the_receipt_is_chosen_by_digest(tmp_path: Path, auditor: Path) -> None:
    folder = bundle(tmp_path, batch(PLAIN))
    other = Making(manifest=retrospective(title="Another"))
    write_bundle(folder / "beside", batch(other).documents())
    (folder / "beside" / "bundle.json").unlink()
    assert "got 2 receipts" in claims("open", folder, "--auditor-key", auditor, FIRST).err
    ran = claims("open", folder, "--auditor-key", auditor, "--manifest", other.manifest.digest(), FIRST)
    assert json.loads(ran.out)["manifest"] == other.manifest.digest()
