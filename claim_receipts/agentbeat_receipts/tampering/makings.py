"""A small honest market: four buyers, with and without guards, twice each; everything passes.

The seller has a fixed menu and adds a surcharge; the conduct guard cuts it. So guards raise every buyer's
surplus, which is C1, and leave welfare alone, which is C3. `Making` says how a batch is made; each member
that differs from `HONEST` makes another batch, and `make` signs it as it is, honest or not.

>>> exhibit = make(HONEST)
>>> len(exhibit.receipts), str(exhibit.judged().licences.granted)
(16, 'causal')
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from agentbeat_receipts.analyses import judge_direction, judge_stability
from agentbeat_receipts.batches import Facts
from agentbeat_receipts.claims.cases import ClaimValue
from agentbeat_receipts.claims.tallies import Cell
from agentbeat_receipts.commitments import derived_nonce
from agentbeat_receipts.domains.market import (
    ArmPlan,
    Catalogue,
    FixedMenu,
    MenuOffer,
    Parser,
    Profile,
    Run,
    Seller,
    Setting,
    market_manifest,
    market_report,
    simulate,
)
from agentbeat_receipts.objects import (
    ComparisonGroup,
    Contrast,
    DirectionContract,
    Equivalence,
    Manifest,
    Opening,
    ReportBundle,
    ReportedAnalysis,
    ReportedCell,
    RetryPolicy,
    StabilityContract,
)
from agentbeat_receipts.tampering.exhibits import Exhibit, changed
from agentbeat_receipts.tampering.writing import write_exhibit

__all__ = [
    "DIRECTION",
    "GUARDED",
    "HONEST",
    "MENU",
    "PLAIN",
    "SETTING",
    "STABILITY",
    "Making",
    "make",
]

#: The arms: without and with guards.
PLAIN: Final = "plain"
GUARDED: Final = "guarded"

_SEED: Final = b"tampering"

MENU: Final = FixedMenu(
    name="menu",
    offers=(
        MenuOffer(components=("room",), price=11000, surcharge=200),
        MenuOffer(components=("breakfast", "room"), price=12500, surcharge=300),
        # Below cost: whoever takes it may lose more for the seller than they gain.
        MenuOffer(components=("room", "spa"), price=13000, surcharge=200),
    ),
)

SETTING: Final = Setting(
    catalogue=Catalogue(costs={"room": 8000, "breakfast": 1200, "spa": 6000}),
    parser=Parser(names={"room": ("room",), "breakfast": ("breakfast",), "spa": ("spa",)}),
    model=MENU,
)

_PROFILES: Final = {
    "p-1": Profile(values={"room": 14000, "breakfast": 500, "spa": 0}, outside=1000),
    "p-2": Profile(values={"room": 13500, "breakfast": 3000, "spa": 0}, outside=1500),
    "p-3": Profile(values={"room": 15000, "breakfast": 800, "spa": 0}, outside=1200),
    "p-4": Profile(values={"room": 13000, "breakfast": 2500, "spa": 0}, outside=1000),
}

#: C1: guards raise the buyers' surplus.
DIRECTION: Final = DirectionContract(
    contract="guards-help",
    claim="C1",
    outcome="buyer_surplus",
    nesting="replicates_in_cells_in_profiles",
    pairing="within_profile",
    estimator="mc",
    seed=base64.b64encode(b"guards-help").decode(),
    draws=200,
    input_order="manifest",
    interval="ceil_rank",
    estimand="strongest_minus_weakest",
    levels=(PLAIN, GUARDED),
    direction="increasing",
    threshold=0,
)

#: C3: they leave welfare where it is, to 1.00 of the currency.
STABILITY: Final = StabilityContract(
    contract="welfare-stays",
    claim="C3",
    outcome="welfare",
    nesting="replicates_in_cells_in_profiles",
    pairing="within_profile",
    estimator="exact",
    seed=None,
    draws=None,
    input_order="manifest",
    interval="ceil_rank",
    estimand="mean_contrast",
    contrast=Contrast(minuend=GUARDED, subtrahend=PLAIN),
    boundary=Equivalence(kind="equivalence", delta=100),
    max_variance=None,
)


def _as_it_is(report: ReportBundle) -> ReportBundle:
    return report


@dataclass(frozen=True, eq=False, kw_only=True)
class Making:
    """How a batch is made. Equal only to itself, so that it is made once.

    Args:
        profiles: the buyers.
        promised: what each arm promises to run with.
        ran: what an arm runs with, where that is something else.
        manifest: other members of the manifest.
        sellers: who answers in an assignment, where that is not the arm's.
        buyers: who buys in an assignment, where that is not the profile that it names.
        guards: which guards are on in an assignment, where those are not the arm's.
        openings: changes of what an assignment's receipt commits to.
        told: values that are told of an assignment in place of its own, wherever values are told.
        report: changes of the report.
        cited: whether tickets cite the time anchor's token.
    """

    profiles: Mapping[str, Profile] = field(default_factory=lambda: _PROFILES)
    promised: Mapping[str, Setting] = field(default_factory=lambda: {PLAIN: SETTING, GUARDED: SETTING})
    ran: Mapping[str, Setting] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    sellers: Mapping[str, Seller] = field(default_factory=dict)
    buyers: Mapping[str, Profile] = field(default_factory=dict)
    guards: Mapping[str, frozenset[str]] = field(default_factory=dict)
    openings: Mapping[str, Callable[[Opening], Opening]] = field(default_factory=dict)
    told: Mapping[str, Mapping[str, ClaimValue]] = field(default_factory=dict)
    report: Callable[[ReportBundle], ReportBundle] = _as_it_is
    cited: bool = True


#: The honest batch.
HONEST: Final = Making()


@lru_cache(maxsize=32)
def make(making: Making) -> Exhibit:
    """The batch, signed as it is."""
    manifest = _manifest(making)
    runs = _runs(making, manifest)

    def ran(name: str, ticket: str | None) -> tuple[Opening, Facts]:
        opening = runs[name].opening(
            manifest=manifest.digest(), assignment=name, ticket=ticket, nonce=derived_nonce(_SEED, name)
        )
        if name in making.openings:
            opening = making.openings[name](opening)
        return opening, runs[name].facts(manifest.disclosed)

    return write_exhibit(manifest, ran, making.report(_report(manifest, runs)), cited=making.cited)


def _manifest(making: Making) -> Manifest:
    guards = {PLAIN: (), GUARDED: ("conduct", "info")}
    made = market_manifest(
        title="A small market, caf\u00e9 and spa",
        profiles=tuple(making.profiles),
        plans={arm: ArmPlan(setting, guards[arm]) for arm, setting in making.promised.items()},
        replicates=2,
        mode="prospective",
        comparison_groups=(ComparisonGroup(group="guards", arms=(PLAIN, GUARDED), may_differ=("prompt",)),),
        contracts=(DIRECTION, STABILITY),
        retry=RetryPolicy(max_attempts=2, retry_on=("timeout",)),
    )
    return changed(made, **making.manifest) if making.manifest else made


def _runs(making: Making, manifest: Manifest) -> dict[str, Run]:
    flags = {arm.arm: frozenset(arm.treatments) for arm in manifest.arms}
    runs = {}
    for entry in manifest.assignments:
        name = entry.assignment
        run = simulate(
            making.ran.get(entry.arm, making.promised[entry.arm]),
            making.buyers.get(name, making.profiles[entry.profile]),
            flags=making.guards.get(name, flags[entry.arm]),
            retry=manifest.retry,
            seed=name.encode(),
            seller=making.sellers.get(name),
        )
        runs[name] = replace(run, values={**run.values, **making.told.get(name, {})})
    return runs


def _report(manifest: Manifest, runs: Mapping[str, Run]) -> ReportBundle:
    report = market_report(manifest, runs.items())
    return changed(report, analyses=tuple(_analyses(manifest, report.cells)))


def _analyses(manifest: Manifest, reported: tuple[ReportedCell, ...]) -> list[ReportedAnalysis]:
    """What was computed from the reported cells for each contract."""
    analyses = []
    for contract in manifest.contracts:
        cells = {
            (cell.profile, cell.arm): Cell(sum=int(cell.sum), count=cell.count)
            for cell in reported
            if cell.value == contract.outcome
        }
        if isinstance(contract, DirectionContract):
            _, analysis = judge_direction(contract, manifest, cells, None)
        else:
            _, analysis = judge_stability(contract, manifest, cells, None)
        analyses.append(
            ReportedAnalysis(
                contract=contract.contract,
                subjects=analysis.subjects,
                seed=contract.seed,
                draws=contract.draws,
                input_order="manifest",
                estimate=analysis.estimate,
                lower=analysis.lower,
                upper=analysis.upper,
            )
        )
    return analyses
