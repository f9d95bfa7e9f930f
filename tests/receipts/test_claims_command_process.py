"""The whole way of a claim as processes of the real command: keys, manifest, anchor, tickets, verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentbeat_receipts.bundle_folders import add_documents
from agentbeat_receipts.domains.market import ArmPlan, market_manifest, write_market
from agentbeat_receipts.keyring_files import load_keyring
from agentbeat_receipts.objects import ComparisonGroup, Manifest
from support.claim_commands import files
from support.markets import BUYER, WRITER, setting
from support.time_stamping import authority

PROFILES = {f"p-{place}": BUYER.model_copy(update={"outside": 1500 + 100 * place}) for place in range(1, 5)}
PLANS = {
    "none": ArmPlan(setting(WRITER)),
    "both": ArmPlan(setting(WRITER), treatments=("info", "conduct")),
}


def agentbeat(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentbeat_core", "claims", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def promised() -> Manifest:
    group = ComparisonGroup(group="guards", arms=tuple(PLANS), may_differ=())
    return market_manifest(
        title="Rooms, with and without guards",
        profiles=PROFILES,
        plans=PLANS,
        mode="prospective",
        nonces="fresh",
        comparison_groups=(group,),
    )


@pytest.fixture(scope="module")
def claim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with keys, roots and a bundle whose framing the command has made."""
    folder = tmp_path_factory.mktemp("claims")
    manifest = promised()
    (folder / "draft.json").write_text(json.dumps(manifest.model_dump(mode="json")))
    (folder / "root.pem").write_bytes(authority().root.pem)
    for step in (
        ("keygen", "keys"),
        ("manifest", "draft.json", "--keyring", "keys", "--out", "claim"),
        ("anchor", "request", "claim", "--out", "request.tsq"),
    ):
        ended = agentbeat(folder, *step)
        assert ended.returncode == 0, ended.stderr
    (folder / "token.tsr").write_bytes(authority().answer((folder / "request.tsq").read_bytes()))
    anchor = agentbeat(folder, "anchor", "attach", "claim", "token.tsr").stdout.strip()
    ended = agentbeat(folder, "ticket", "claim", "--keyring", "keys")
    assert ended.returncode == 0, ended.stderr
    keyring = load_keyring(folder / "keys")
    made = write_market(manifest, keyring, profiles=PROFILES, plans=PLANS, seed=b"seed", anchor=anchor)
    framed = files(folder / "claim")
    add_documents(folder / "claim", made.documents())
    # What the command has signed is what the batch would have.
    assert framed.items() <= files(folder / "claim").items()
    return folder


VERIFY = ("verify", "claim", "--keyring", "keys/public.json", "--tsa-root", "root.pem")


def test_an_honest_bundle_passes_at_cr_3_with_coverage(claim: Path) -> None:
    ended = agentbeat(claim, *VERIFY, "--auditor-key", "keys/auditor.key", "--json", "-")
    assert (ended.returncode, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert (found["level"], found["questions"]["coverage"]) == ("CR-3", "Pass")
    assert found["licences"]["granted"] == "descriptive"
    verdicts = {part["claim"]: part["verdict"] for part in found["claims"]}
    assert {verdict for name, verdict in verdicts.items() if name not in ("C1", "C3")} == {"Pass"}
    assert (verdicts["C1"], verdicts["C3"]) == ("I_C", "I_C")


def test_results_go_to_standard_output_without_colours_and_messages_beside(claim: Path) -> None:
    ended = agentbeat(claim, *VERIFY)
    assert ended.returncode == 3
    assert ended.stderr == ""
    assert "\x1b" not in ended.stdout
    assert "opening_sealed" in ended.stdout


def test_a_withheld_receipt_ends_with_3_and_a_changed_one_with_1(claim: Path, tmp_path: Path) -> None:
    receipt = claim / "claim" / "receipts" / "p-2.both.1.json"
    sound = receipt.read_bytes()
    try:
        receipt.unlink()
        assert agentbeat(claim, *VERIFY, "--auditor-key", "keys/auditor.key").returncode == 3
        explained = agentbeat(claim, "explain", "claim", "C4", *VERIFY[2:])
        assert "p-2.both.1" in explained.stdout
        made = json.loads(sound)
        made["body"]["sequence"] += 1
        receipt.write_text(json.dumps(made))
        assert agentbeat(claim, *VERIFY, "--auditor-key", "keys/auditor.key").returncode == 1
    finally:
        receipt.write_bytes(sound)


def test_an_auditor_opens_one_run_with_nothing_but_the_key(claim: Path) -> None:
    ended = agentbeat(claim, "open", "claim", "--auditor-key", "keys/auditor.key", "p-1.none.1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["profile"]["outside"] == 1600


def test_without_its_root_the_anchor_is_not_believed(claim: Path) -> None:
    ended = agentbeat(claim, *VERIFY[:4], "--auditor-key", "keys/auditor.key", "--json", "-")
    found = json.loads(ended.stdout)
    assert ended.returncode == 3
    assert found["level"] == "CR-2"
    assert "anchor_unchecked" in {reason["code"] for reason in found["reasons"]}
