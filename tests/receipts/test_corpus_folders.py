"""A corpus as a folder: anybody can verify it with what lies beside the bundles; no verdict lies there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbeat_receipts.bundles import BundleError, read_bundle
from agentbeat_receipts.corpus import Epoch, corpus_seed, folders, prospective_epoch, stability_epoch
from agentbeat_receipts.corpus.folders import write_corpus
from agentbeat_receipts.keyring_files import load_keyring
from support.claim_commands import claims


def _two_epochs(seed: bytes) -> Iterator[tuple[str, Epoch]]:
    yield "E7", prospective_epoch(seed)
    yield "more/E3", stability_epoch(seed)


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "corpus_epochs", _two_epochs)
    write_corpus(tmp_path / "corpus", 3)
    return tmp_path / "corpus"


def test_it_says_whose_it_is_and_lists_its_bundles(corpus: Path) -> None:
    listing = json.loads((corpus / "corpus.json").read_bytes())
    assert (listing["format"], listing["version"], listing["seed"]) == ("agentbeat-claim-corpus", 1, 3)
    assert "not the authors' data" in listing["origin"]
    found = {entry["path"]: entry["receipts"] for entry in listing["bundles"]}
    assert found == {"E7": 30, "more/E3": 36}
    readme = (corpus / "README.md").read_text(encoding="utf-8")
    assert "not the authors' data" in readme
    assert "neither is an independent witness" in " ".join(readme.split())
    assert all(f"`{path}`" in readme for path in found)


def test_no_verdict_lies_in_it(corpus: Path) -> None:
    for path in (corpus / "corpus.json", corpus / "E7" / "manifest.json", corpus / "E7" / "report.json"):
        text = path.read_text(encoding="utf-8")
        assert not [word for word in ("Pass", "Invalid", "I_E", "I_C", "Inconclusive") if word in text]


def test_the_commands_of_its_readme_verify_it(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus)
    readme = (corpus / "README.md").read_text(encoding="utf-8")
    command = next(line.split() for line in readme.splitlines() if "claims verify E7" in line)
    ran = claims(*command[2:])
    assert (ran.code, ran.err) == (0, "")
    assert "CR-3" in ran.out
    ran = claims("verify", "more/E3", "--keyring", "keys", "--json", "-")
    verdicts = {claim["claim"]: claim["verdict"] for claim in json.loads(ran.out)["claims"]}
    assert (verdicts["C2"], verdicts["C3"], verdicts["C4"]) == ("Pass", "I_E", "Pass")


def test_its_keys_are_a_keyring_of_the_owners_only(corpus: Path) -> None:
    keyring = load_keyring(corpus / "keys")
    assert keyring.public == folders.CorpusKeys.of(corpus_seed(3)).keyring.public
    assert (corpus / "keys").stat().st_mode & 0o077 == 0


def test_tars_hold_the_same_files(corpus: Path, tmp_path: Path) -> None:
    write_corpus(tmp_path / "tars", 3, tar=True)
    assert read_bundle(tmp_path / "tars" / "more" / "E3.tar") == read_bundle(corpus / "more" / "E3")
    assert "claims verify E7.tar" in (tmp_path / "tars" / "README.md").read_text(encoding="utf-8")


def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(BundleError, match="there already"):
        write_corpus(tmp_path, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
