"""A whole batch of market runs, from a manifest, the profiles behind its ids, and a plan for each arm.

plans = {"none": ArmPlan(setting), "both": ArmPlan(setting, treatments=("info", "conduct"))}
manifest = market_manifest(title="Rooms", profiles=profiles, plans=plans, replicates=1, …)
made = write_market(manifest, keyring, profiles=profiles, plans=plans, seed=b"corpus-1")
write_bundle(Path("claim"), made.documents())
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agentbeat_receipts.batches import Batch, Written
from agentbeat_receipts.claims.tallies import Cell
from agentbeat_receipts.commitments import derived_nonce, fresh_nonce
from agentbeat_receipts.domains.market.domain import DOMAIN
from agentbeat_receipts.domains.market.guards import CONDUCT, INFO
from agentbeat_receipts.domains.market.profiles import Profile
from agentbeat_receipts.domains.market.runs import NO_RETRY, Run, simulate
from agentbeat_receipts.domains.market.scoring import stated
from agentbeat_receipts.domains.market.sellers import Seller
from agentbeat_receipts.domains.market.settings import Setting
from agentbeat_receipts.domains.market.streams import derived_seed
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import (
    Arm,
    Assignment,
    ComparisonGroup,
    Contract,
    Document,
    Manifest,
    Opening,
    ReportBundle,
    ReportedCell,
    RetryPolicy,
)

__all__ = [
    "ArmPlan",
    "MarketBatch",
    "MarketRun",
    "market_manifest",
    "market_report",
    "market_run",
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
    """A batch, run and written. Where openings are in no envelope they are delivered as they are."""

    framing: tuple[Document, ...]
    runs: tuple[MarketRun, ...]
    closing: Document
    report: ReportBundle

    def documents(self) -> list[Document]:
        """All that is delivered: framing, receipts, envelopes or openings, closing record, report."""
        documents = list(self.framing)
        for made in self.runs:
            documents.append(made.written.receipt)
            if made.written.envelope is not None:
                documents.append(made.written.envelope)
            else:
                documents.append(Document(body=made.opening))
        return [*documents, self.closing, Document(body=self.report)]


def market_manifest(
    *,
    title: str,
    profiles: Sequence[str] | Mapping[str, Profile],
    plans: Mapping[str, ArmPlan],
    replicates: int = 1,
    mode: Literal["prospective", "retrospective"] = "retrospective",
    nonces: Literal["fresh", "derived_from_seed"] = "derived_from_seed",
    comparison_groups: Iterable[ComparisonGroup] = (),
    contracts: Iterable[Contract] = (),
    retry: RetryPolicy | None = None,
    disclosed: Iterable[str] | None = None,
) -> Manifest:
    """A manifest over every profile under every arm, so many times; assignments are `<profile>.<arm>.<n>`.

    The catalogue's digest is promised where all arms have the same one.

    Args:
        profiles: their ids, in order.
        disclosed: the values that receipts disclose; without it all eight claims.
        retry: without it one attempt.

    Raises:
        ValueError: the arms have different money exponents or catalogues, or the parts do not agree.
    """
    ids = tuple(profiles)
    exponents = {plan.setting.normaliser.exponent for plan in plans.values()}
    catalogues = {plan.setting.catalogue_digest for plan in plans.values()}
    for what, found in (("money exponents", exponents), ("catalogues", catalogues)):
        if len(found) != 1:
            raise ValueError(f"{len(found)} {what} in the arms, expected one")
    arms = tuple(
        Arm(arm=name, components=dict(plan.setting.components), treatments=tuple(plan.treatments))
        for name, plan in plans.items()
    )
    assignments = tuple(
        Assignment(assignment=f"{profile}.{arm}.{time}", profile=profile, arm=arm, replicate=time)
        for profile in ids
        for arm in plans
        for time in range(1, replicates + 1)
    )
    return Manifest(
        title=title,
        domain=DOMAIN.name,
        mode=mode,
        nonces=nonces,
        profiles=ids,
        arms=arms,
        assignments=assignments,
        comparison_groups=tuple(comparison_groups),
        replicates=replicates,
        retry=retry or NO_RETRY,
        treatment_flags=(CONDUCT, INFO),
        money_exponent=exponents.pop(),
        disclosed=tuple(DOMAIN.claims if disclosed is None else disclosed),
        contracts=tuple(contracts),
        materials={"catalogue": catalogues.pop()},
    )


def market_run(
    manifest: Manifest,
    assignment: str,
    *,
    profiles: Mapping[str, Profile],
    plans: Mapping[str, ArmPlan],
    seed: bytes,
) -> Run:
    """Run one assignment, and write nothing: for a batch that is not run in the manifest's order.

    Raises:
        KeyError: the manifest does not list the assignment, or there is no profile or plan of its names.
        ValueError: what the arm promises is not what the plan has.
    """
    entry = {entry.assignment: entry for entry in manifest.assignments}[assignment]
    _check_plans(manifest, plans)
    return _run(manifest, entry, profiles, plans, seed)


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
    digest = manifest.digest()
    _check_plans(manifest, plans)
    for entry in manifest.assignments:
        name = entry.assignment
        run = _run(manifest, entry, profiles, plans, seed)
        nonce = derived_nonce(seed, name) if manifest.nonces == "derived_from_seed" else fresh_nonce()
        ticket = batch.ticket_digest(name)
        opening = run.opening(manifest=digest, assignment=name, ticket=ticket, nonce=nonce)
        written = batch.receipt(opening, run.facts(manifest.disclosed), encrypted=encrypted)
        yield MarketRun(assignment=name, run=run, opening=opening, written=written)


def market_report(
    manifest: Manifest, runs: Iterable[tuple[str, Run]], *, complete: bool = True
) -> ReportBundle:
    """The report over (assignment, run): a cell of each disclosed value that is never a pair or text."""
    entries = {entry.assignment: entry for entry in manifest.assignments}
    cells: dict[tuple[str, str, str], Cell] = {}
    for assignment, run in runs:
        entry = entries[assignment]
        for value in manifest.disclosed:
            cells.setdefault((entry.profile, entry.arm, value), Cell()).add(run.values[value])
    reported = tuple(
        ReportedCell(
            profile=profile,
            arm=arm,
            value=value,
            sum=stated(cell.sum),
            count=cell.count,
            nulls=dict(sorted(cell.nulls.items())),
        )
        for (profile, arm, value), cell in cells.items()
        if not cell.others
    )
    return ReportBundle(manifest=manifest.digest(), complete=complete, cells=reported, analyses=())


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
    """Run and write a whole batch. Reported analyses are the caller's to add to its report."""
    batch = Batch(manifest, keyring, anchor=anchor)
    runs = tuple(market_runs(batch, manifest, profiles=profiles, plans=plans, seed=seed, encrypted=encrypted))
    return MarketBatch(
        framing=batch.framing(),
        runs=runs,
        closing=batch.close(),
        report=market_report(manifest, ((made.assignment, made.run) for made in runs)),
    )


def _check_plans(manifest: Manifest, plans: Mapping[str, ArmPlan]) -> None:
    for arm in manifest.arms:
        plan = plans[arm.arm]
        promised = (dict(arm.components), set(arm.treatments))
        if promised != (dict(plan.setting.components), set(plan.treatments)):
            raise ValueError(f"arm {arm.arm}: a plan other than promised")


def _run(
    manifest: Manifest,
    entry: Assignment,
    profiles: Mapping[str, Profile],
    plans: Mapping[str, ArmPlan],
    seed: bytes,
) -> Run:
    plan = plans[entry.arm]
    return simulate(
        plan.setting,
        profiles[entry.profile],
        flags=frozenset(plan.treatments),
        retry=manifest.retry,
        seed=derived_seed(seed, entry.assignment),
        seller=plan.seller,
    )
