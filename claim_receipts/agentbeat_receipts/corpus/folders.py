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

__all__ = ["CORPUS_FILE", "ROOT_FILE", "CorpusWriter", "corpus_epochs", "write_corpus"]

CORPUS_FILE: Final = "corpus.json"
ROOT_FILE: Final = "time-root.pem"

_README: Final = """\
# A corpus of claim receipts: {ours}

{at_length}

Seed {seed}. `agentbeat claims corpus FOLDER --seed {seed}` makes it again: the same bytes, except for the
envelopes of the prospective bundles, in which there is fresh randomness, and the receipts, which name them.

{table}

`E1` to `E6` are retrospective: their openings lie in the clear, under nonces that are derived from the seed
and hide nothing. `E7` is prospective, with tickets and a time anchor. The keys in `keys/` are made from the
seed, and `{root}` is the root of a time-stamping authority that the corpus brings along, whose clock
stands still: whoever has the seed has both, and neither is an independent witness.

No verdict is stored here. To have one computed:

    agentbeat claims verify E1{suffix} --keyring keys
    agentbeat claims verify E7{suffix} --keyring keys --auditor-key keys/auditor.key --tsa-root {root}

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


class CorpusWriter:
    """A corpus folder in the making.

    Args:
        folder: new, or empty.
        number: the seed.
        tar: whether each bundle is a tar.

    Raises:
        BundleError: the folder is there and not empty.
        OSError: it cannot be written to.
    """

    def __init__(self, folder: Path, number: int, *, tar: bool = False) -> None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BundleError(f"{folder}: there already")
        self.keys: Final = CorpusKeys.of(corpus_seed(number))
        self._folder, self._number, self._tar = folder, number, tar
        self._bundles: list[dict[str, Any]] = []
        folder.mkdir(parents=True, exist_ok=True)
        write_keyring(folder / "keys", self.keys.keyring)
        (folder / ROOT_FILE).write_bytes(self.keys.authority.root_pem())

    def add(self, place: str, made: MadeEpoch) -> None:
        """Write one bundle."""
        path = f"{place}.tar" if self._tar else place
        (self._folder / path).parent.mkdir(exist_ok=True)
        write_bundle(self._folder / path, made.documents)
        entry = {
            "path": path,
            "about": made.epoch.about,
            "receipts": made.epoch.size,
            "manifest": made.manifest.digest(),
        }
        self._bundles.append(entry)

    def close(self) -> None:
        """Write what the folder says of itself."""
        listing = {
            "format": "agentbeat-claim-corpus",
            "version": 1,
            "seed": self._number,
            "origin": OURS,
            "bundles": self._bundles,
        }
        (self._folder / CORPUS_FILE).write_bytes(canonical_bytes(listing) + b"\n")
        (self._folder / "README.md").write_text(self._readme(), encoding="utf-8")

    def _readme(self) -> str:
        rows = [f"| `{entry['path']}` | {entry['receipts']} | {entry['about']} |" for entry in self._bundles]
        table = "\n".join(["| bundle | receipts | what was run |", "|---|---|---|", *rows])
        suffix = ".tar" if self._tar else ""
        return _README.format(
            ours=OURS,
            at_length=OURS_AT_LENGTH,
            seed=self._number,
            table=table,
            root=ROOT_FILE,
            suffix=suffix,
        )


def write_corpus(
    folder: Path, number: int, *, tar: bool = False, on_written: Callable[[MadeEpoch], None] | None = None
) -> None:
    """Make and write a whole corpus.

    Args:
        folder: new, or empty.
        number: the seed.
        tar: whether each bundle is a tar.
        on_written: told of each bundle when it is there.

    Raises:
        BundleError: the folder is there and not empty.
        OSError: it cannot be written to.
        ValueError: a negative seed.
    """
    writer = CorpusWriter(folder, number, tar=tar)
    for place, epoch in corpus_epochs(writer.keys.seed):
        made = make_epoch(epoch, writer.keys)
        writer.add(place, made)
        if on_written is not None:
            on_written(made)
    writer.close()
