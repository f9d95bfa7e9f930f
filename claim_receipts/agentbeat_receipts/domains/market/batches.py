"""A whole batch of market runs, from a manifest, the profiles behind its ids, and a plan for each arm.

plans = {"none": ArmPlan(setting), "both": ArmPlan(setting, treatments=("info", "conduct"))}
manifest = market_manifest(title="Rooms", profiles=profiles, plans=plans, replicates=1, …)
made = write_market(manifest, keyring, profiles=profiles, plans=plans, seed=b"corpus-1")
write_bundle(Path("claim"), made.documents())
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentbeat_receipts.batches import Batch, Written
from agentbeat_receipts.domains.market.profiles import Profile
from agentbeat_receipts.domains.market.runs import Run
from agentbeat_receipts.domains.market.sellers import Seller
from agentbeat_receipts.domains.market.settings import Setting
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import (
    ComparisonGroup,
    Contract,
    Document,
    Manifest,
    Opening,
    ReportBundle,
    RetryPolicy,
)

__all__ = [
    "ArmPlan",
    "MarketBatch",
    "MarketRun",
    "market_manifest",
    "market_report",
    "market_runs",
    "write_market",
]


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """What an arm runs with, the treatments that are on (`info`, `conduct`), and who answers.

    Without a seller it is the one that `setting.model` describes; an endpoint's must be given.
    """

    setting: Setting
    treatments: Sequence[str] = ()
    seller: Seller | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketRun:
    """One assignment, run and written."""

    assignment: str
    run: Run
    opening: Opening
    written: Written


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketBatch:
    """A batch, run and written. `plain` openings are delivered as they are; else they lie in envelopes."""

    framing: tuple[Document, ...]
    runs: tuple[MarketRun, ...]
    closing: Document
    report: ReportBundle
    plain: bool

    def documents(self) -> list[Document]:
        """All that is delivered: framing, receipts, envelopes or openings, closing record, report."""
        raise NotImplementedError


def market_manifest(
    *,
    title: str,
    profiles: Sequence[str] | Mapping[str, Profile],
    plans: Mapping[str, ArmPlan],
    replicates: int = 1,
    mode: str = "retrospective",
    nonces: str = "derived_from_seed",
    comparison_groups: Iterable[ComparisonGroup] = (),
    contracts: Iterable[Contract] = (),
    retry: RetryPolicy | None = None,
    disclosed: Iterable[str] | None = None,
) -> Manifest:
    """A manifest over every profile under every arm, so many times; assignment ids are `<profile>.<arm>.<n>`.

    Args:
        disclosed: the values that receipts disclose; without it all eight claims.
        retry: without it one attempt.
    """
    raise NotImplementedError


def market_runs(
    batch: Batch,
    manifest: Manifest,
    *,
    profiles: Mapping[str, Profile],
    plans: Mapping[str, ArmPlan],
    seed: bytes,
    encrypted: bool = True,
) -> Iterator[MarketRun]:
    """Run and write one assignment after the other, in the manifest's order; nothing is kept.

    Args:
        seed: of the batch: a run's seed is made from it and the assignment's id, and so is its nonce where
            the manifest says `derived_from_seed`.
    """
    raise NotImplementedError


def market_report(
    manifest: Manifest, runs: Iterable[tuple[str, Run]], *, complete: bool = True
) -> ReportBundle:
    """The report over (assignment, run): a cell of each disclosed value that is never a pair."""
    raise NotImplementedError


def write_market(
    manifest: Manifest,
    keyring: Keyring,
    *,
    profiles: Mapping[str, Profile],
    plans: Mapping[str, ArmPlan],
    seed: bytes,
    anchor: str | None = None,
    encrypted: bool = True,
) -> MarketBatch:
    """Run and write a whole batch."""
    raise NotImplementedError
