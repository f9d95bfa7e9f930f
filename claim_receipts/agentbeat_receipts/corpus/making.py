"""From an epoch to a delivered bundle: run, signed, and as bytes that a verifier is handed.

    made = make_epoch(epoch, CorpusKeys.of(seed))
    made.documents                                   # for `write_bundle`
    made.deliveries()                                # for `verify`

A retrospective epoch delivers its openings as they are: their nonces are derived from the seed, so that an
envelope would hide nothing. One seed makes the same bytes, except in prospective epochs: an envelope has
fresh randomness in it, and with it the receipt that names its digest.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from agentbeat_receipts.bundles import FORMAT_FILE, bundle_files
from agentbeat_receipts.corpus.authorities import CorpusAuthority, corpus_authority
from agentbeat_receipts.corpus.epochs import Epoch
from agentbeat_receipts.corpus.origins import keyring_of
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains.market import MarketBatch, write_market
from agentbeat_receipts.domains.market.streams import derived_seed
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import Document, Manifest, TimeAnchor

__all__ = ["CorpusKeys", "MadeEpoch", "deliveries_of", "make_epoch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusKeys:
    """Who signs a corpus.

    Args:
        seed: of the corpus.
        keyring: the keys of every role.
        authority: who stamps its prospective manifests.
    """

    seed: bytes
    keyring: Keyring
    authority: CorpusAuthority

    @classmethod
    def of(cls, seed: bytes) -> Self:
        """The keys of the corpus with this seed."""
        return cls(seed=seed, keyring=keyring_of(seed), authority=corpus_authority(seed))


@dataclass(frozen=True, kw_only=True)
class MadeEpoch:
    """An epoch, run and written.

    Args:
        epoch: how it was made.
        manifest: what was promised.
        batch: the runs and what was written of them.
        anchor: the time anchor that the tickets cite; None in a retrospective epoch.
    """

    epoch: Epoch
    manifest: Manifest
    batch: MarketBatch
    anchor: TimeAnchor | None

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """All that is delivered."""
        anchors = () if self.anchor is None else (Document(body=self.anchor),)
        return (*anchors, *self.batch.documents())

    def deliveries(self) -> tuple[Delivery, ...]:
        """The files of the bundle as a verifier gets them."""
        return deliveries_of(self.documents)


def deliveries_of(documents: tuple[Document, ...]) -> tuple[Delivery, ...]:
    """Documents as the files of a bundle."""
    files = bundle_files(documents)
    return tuple(Delivery(path, content) for path, content in files.items() if path != FORMAT_FILE)


def make_epoch(epoch: Epoch, keys: CorpusKeys, *, name: str | None = None) -> MadeEpoch:
    """Run an epoch and write its batch.

    Args:
        name: what the title calls it; its key unless given.
    """
    manifest = epoch.manifest(name)
    anchor = None
    if epoch.prospective:
        token = keys.authority.stamp(manifest.digest())
        encoded = base64.b64encode(token).decode()
        anchor = TimeAnchor(manifest=manifest.digest(), form="rfc3161", token=encoded)
    batch = write_market(
        manifest,
        keys.keyring,
        profiles=epoch.profiles,
        plans=epoch.plans,
        seed=derived_seed(keys.seed, "batch", epoch.key),
        anchor=None if anchor is None else anchor.token_digest(),
        encrypted=epoch.prospective,
    )
    return MadeEpoch(epoch=epoch, manifest=manifest, batch=batch, anchor=anchor)
