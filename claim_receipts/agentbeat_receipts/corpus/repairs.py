"""Repaired twins of E1, E3 and E4: the same epoch with one thing put right, so that its claim passes.

They show that each verdict of the grid hangs on the one thing that is wrong, and not on the layout.

    E1  every arm offers whole bundles, taken whole or not at all
    E3  the first guest is one like the other three
    E4  the pressing prompt asks for 90 percent of the gain, which every guest accepts
"""

from __future__ import annotations

from dataclasses import replace

from agentbeat_receipts.corpus.epochs import Epoch
from agentbeat_receipts.corpus.hotels import SETTING, concierge
from agentbeat_receipts.corpus.retrospective import (
    isolation_epoch,
    pressure_epoch,
    pressure_plans,
    stability_epoch,
    stability_guests,
)

__all__ = ["repaired_epochs", "repaired_isolation", "repaired_pressure", "repaired_stability"]


def repaired_epochs(seed: bytes) -> tuple[Epoch, ...]:
    """The twins of E1, E3 and E4."""
    return repaired_isolation(seed), repaired_stability(seed), repaired_pressure(seed)


def repaired_isolation(seed: bytes) -> Epoch:
    """E1 with one form of offers and one chooser."""
    epoch = isolation_epoch(seed)
    plans = {
        name: replace(plan, setting=replace(plan.setting, schema=SETTING.schema, chooser=SETTING.chooser))
        for name, plan in epoch.plans.items()
    }
    return replace(epoch, key="E1-repaired", about="menus beside writers, all with bundles", plans=plans)


def repaired_stability(seed: bytes) -> Epoch:
    """E3 without the guest who loses by the guards."""
    epoch = stability_epoch(seed)
    profiles = {**epoch.profiles, **stability_guests(seed, "E3-repaired", range(1, 2))}
    return replace(epoch, key="E3-repaired", about="guests who all gain by the guards", profiles=profiles)


def repaired_pressure(seed: bytes) -> Epoch:
    """E4 with pressure that does not overprice."""
    plans = pressure_plans(concierge(spread=2), {"compliance": -30, "standard": 0, "pressure": 40})
    return replace(
        pressure_epoch(seed),
        key="E4-repaired",
        about="one writer under three prompts, none too dear",
        plans=plans,
    )
