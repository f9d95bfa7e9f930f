"""A prospective batch of any length, written to a tar as it is made; only tickets and cells are held."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from agentbeat_receipts.batches import Batch
from agentbeat_receipts.bundles import bundle_files
from agentbeat_receipts.corpus.buyers import crowd
from agentbeat_receipts.corpus.epochs import Epoch, compared
from agentbeat_receipts.corpus.hotels import SETTING
from agentbeat_receipts.domains.market import ArmPlan, Run, market_report, market_runs
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import Document, Manifest

__all__ = ["ANCHOR", "SEED", "long_epoch", "write_long_bundle"]

SEED = b"benchmark"
#: What tickets cite; no anchor is checked here.
ANCHOR = "sha256:" + "a" * 64

_TREATMENTS = {"none": (), "info": ("info",), "conduct": ("conduct",), "both": ("conduct", "info")}
_PROFILES = 25


def long_epoch(receipts: int) -> Epoch:
    """25 buyers under four treatments of one seller, as often as it takes; a multiple of 100 receipts."""
    plans = {name: ArmPlan(SETTING, treatments=flags) for name, flags in _TREATMENTS.items()}
    return Epoch(
        key="long",
        about="one seller under four treatments, over and over",
        profiles=crowd(SEED, "long", _PROFILES),
        plans=plans,
        groups=compared(plans),
        replicates=receipts // (_PROFILES * len(plans)),
        prospective=True,
    )


def write_long_bundle(target: Path, receipts: int, keyring: Keyring) -> Manifest:
    """Make and write a batch of so many receipts."""
    epoch = long_epoch(receipts)
    manifest = epoch.manifest()
    batch = Batch(manifest, keyring, anchor=ANCHOR)
    with tarfile.open(target, "x:") as archive:

        def put(*documents: Document) -> None:
            for path, content in bundle_files(documents).items():
                if path != "bundle.json":
                    _add(archive, path, content)

        def runs() -> Iterator[tuple[str, Run]]:
            made = market_runs(batch, manifest, profiles=epoch.profiles, plans=epoch.plans, seed=SEED)
            for run in made:
                put(run.written.receipt)
                if run.written.envelope is not None:
                    put(run.written.envelope)
                yield run.assignment, run.run

        _add(archive, "bundle.json", bundle_files(())["bundle.json"])
        for document in batch.framing():
            put(document)
        report = market_report(manifest, runs())
        put(batch.close(), Document(body=report))
    return manifest


def _add(archive: tarfile.TarFile, path: str, content: bytes) -> None:
    member = tarfile.TarInfo(path)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
    # The archive would remember every member.
    archive.members.clear()  # type: ignore[attr-defined]  # the stubs leave it out
