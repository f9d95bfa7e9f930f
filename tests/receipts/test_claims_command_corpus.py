"""`agentbeat claims corpus` says whose the corpus is, what it wrote, and overwrites nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentbeat_receipts.corpus import MadeEpoch, corpus_seed, prospective_epoch
from agentbeat_receipts.corpus.making import CorpusKeys, make_epoch
from support.claim_commands import claims, files


def test_each_bundle_is_printed_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = corpus_seed(7)
    made = make_epoch(prospective_epoch(seed), CorpusKeys.of(seed))
    asked: list[tuple[Path, int, bool]] = []

    def write(folder: Path, number: int, *, tar: bool, on_written: Callable[[MadeEpoch], None]) -> None:
        asked.append((folder, number, tar))
        on_written(made)

    monkeypatch.setattr("agentbeat_receipts.corpus.write_corpus", write)
    ran = claims("corpus", tmp_path / "out", "--seed", "7", "--tar")
    assert ran.code == 0
    assert asked == [(tmp_path / "out", 7, True)]
    assert ran.out.split() == ["E7", "30", "receipts", made.manifest.digest()]
    assert "not the authors' data" in ran.err


def test_a_folder_that_holds_something_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    before = files(tmp_path)
    ran = claims("corpus", tmp_path, "--seed", "1")
    assert (ran.code, ran.out) == (2, "")
    assert "there already" in ran.err
    assert files(tmp_path) == before


@pytest.mark.parametrize("seed", ["-1", "1.5", "one", "9" * 40, "٣"])
def test_a_seed_is_a_whole_number(tmp_path: Path, seed: str) -> None:
    ran = claims("corpus", tmp_path / "out", f"--seed={seed}")
    assert ran.code == 2
    assert "expected a whole number" in ran.err
    assert not (tmp_path / "out").exists()
