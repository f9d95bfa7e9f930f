"""A corpus as a folder: a bundle for each epoch, the keys and the root to check it with, and whose it is.

    README.md           that it is ours, and how to verify it
    corpus.json         format, version, seed, origin, and of each bundle its path, size and manifest's digest
    keys/               a keyring's folder; its keys are made from the seed and protect nothing
    time-root.pem       the root of the corpus' own time-stamping authority, no independent witness
    E1 … E7/            the epochs; `.tar` files when they are asked for
    repaired/  controls/

No verdict stands in it: `agentbeat claims verify` computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from agentbeat_receipts.bundles import BundleError, write_bundle
from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.corpus.controls import control_epochs
from agentbeat_receipts.corpus.epochs import Epoch
from agentbeat_receipts.corpus.making import CorpusKeys, MadeEpoch, make_epoch
from agentbeat_receipts.corpus.origins import OURS, OURS_AT_LENGTH, corpus_seed
from agentbeat_receipts.corpus.prospective import prospective_epoch
from agentbeat_receipts.corpus.repairs import repaired_epochs
from agentbeat_receipts.corpus.retrospective import retrospective_epochs
from agentbeat_receipts.keyring_files import write_keyring

__all__ = ["CORPUS_FILE", "ROOT_FILE", "corpus_epochs", "write_corpus"]

CORPUS_FILE: Final = "corpus.json"
ROOT_FILE: Final = "time-root.pem"

_README: Final = """\
# A corpus of claim receipts: {ours}

{at_length}

Seed {seed}. `agentbeat claims corpus FOLDER --seed {seed}` makes it again: the same bytes, except for the
envelopes of the prospective bundles, in which there is fresh randomness, and the receipts that name them.

{table}

`E1` to `E6` are retrospective: their openings lie in the clear, under nonces that are derived from the seed
and hide nothing. `E7` is prospective, with tickets and a time anchor. The keys in `keys/` are made from the
seed, and `{root}` is the root of a time-stamping authority that the corpus brings along: whoever has the seed
has both, and neither is an independent witness.

No verdict is stored here. To have one computed:

    agentbeat claims verify E1 --keyring keys
    agentbeat claims verify E7 --keyring keys --auditor-key keys/auditor.key --tsa-root {root}

`agentbeat claims reproduce --seed {seed}` verifies everything and prints it beside the paper's figures.
"""


def corpus_epochs(seed: bytes) -> Iterator[tuple[str, Epoch]]:
    """Every epoch of a corpus with the place of its bundle: E1 to E7, then repaired twins and controls."""
    for epoch in (*retrospective_epochs(seed), prospective_epoch(seed)):
        yield epoch.key, epoch
    for epoch in repaired_epochs(seed):
        yield f"repaired/{epoch.key}", epoch
    for epoch in control_epochs(seed):
        yield f"controls/{epoch.key}", epoch


def write_corpus(
    folder: Path, number: int, *, tar: bool = False, on_written: Callable[[MadeEpoch], None] | None = None
) -> None:
    """Write a whole corpus.

    Args:
        folder: new, or empty.
        number: the seed.
        tar: whether each bundle is a tar.
        on_written: told of each bundle when it is there.

    Raises:
        BundleError: the folder is there and not empty.
        OSError: it cannot be written to.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BundleError(f"{folder}: there already")
    seed = corpus_seed(number)
    keys = CorpusKeys.of(seed)
    folder.mkdir(parents=True, exist_ok=True)
    write_keyring(folder / "keys", keys.keyring)
    (folder / ROOT_FILE).write_bytes(keys.authority.root_pem())
    bundles: list[dict[str, Any]] = []
    for place, epoch in corpus_epochs(seed):
        made = make_epoch(epoch, keys)
        path = f"{place}.tar" if tar else place
        (folder / path).parent.mkdir(exist_ok=True)
        write_bundle(folder / path, made.documents)
        bundles.append(_entry(path, made))
        if on_written is not None:
            on_written(made)
    listing = {
        "format": "agentbeat-claim-corpus",
        "version": 1,
        "seed": number,
        "origin": OURS,
        "bundles": bundles,
    }
    (folder / CORPUS_FILE).write_bytes(canonical_bytes(listing) + b"\n")
    (folder / "README.md").write_text(_readme(number, bundles), encoding="utf-8")


def _entry(path: str, made: MadeEpoch) -> dict[str, Any]:
    return {
        "path": path,
        "about": made.epoch.about,
        "receipts": made.epoch.size,
        "manifest": made.manifest.digest(),
    }


def _readme(number: int, bundles: list[dict[str, Any]]) -> str:
    rows = [f"| `{entry['path']}` | {entry['receipts']} | {entry['about']} |" for entry in bundles]
    table = "\n".join(["| bundle | receipts | what was run |", "|---|---|---|", *rows])
    return _README.format(ours=OURS, at_length=OURS_AT_LENGTH, seed=number, table=table, root=ROOT_FILE)
