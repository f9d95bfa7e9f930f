"""Controls beside the corpus: batches in which a claim passes, so that one that does not means something.

    direction   the layout of E4, with prompts that most guests accept. Each guest's gain is 72.00 or 82.00,
                of which the writer takes 20, 50 and 70 percent, so SP(pressure - compliance) is 36.00 for six
                guests and 41.00 for six: mean 38.50. A resample of twelve has the lower one 12 - k times,
                k binomial; the least k with at least 1/20 below or at it is 3: bound 37.25.
    stability   the layout of E3, with guests who all refuse the surcharge and all gain without it: 26.60,
                27.40, 29.00 and 31.00, mean 28.50. The 7th least and the 7th greatest of the 256 sums of four
                give the interval [27.00, 30.10].
    whole       everything at once and at CR-3: both contracts, both guards, two replicates.

The paper's controls have these numbers too (+38.5 with 37.25, +28.5 with [27.0, 30.1]).
"""

from __future__ import annotations

from typing import Final

from agentbeat_receipts.corpus.buyers import amount, guest, stream_of
from agentbeat_receipts.corpus.epochs import TREATMENTS, Epoch, compared, rising, steady
from agentbeat_receipts.corpus.hotels import concierge
from agentbeat_receipts.corpus.retrospective import (
    STABILITY_SURCHARGE,
    pressure_plans,
    stability_guests,
    stability_plans,
)
from agentbeat_receipts.domains.market import ArmPlan

__all__ = ["control_epochs", "direction_control", "stability_control", "whole_control"]

_GAINS: Final = (7200, 8200)
_CONTRASTS: Final = (2660, 2740, 2900, 3100)
_PUSHES: Final = {"compliance": -30, "standard": 0, "pressure": 20}


def control_epochs(seed: bytes) -> tuple[Epoch, ...]:
    """All controls."""
    return direction_control(seed), stability_control(seed), whole_control(seed)


def direction_control(seed: bytes) -> Epoch:
    """C1 passes: +38.50, one-sided lower bound 37.25."""
    names = [f"p-{number:02}" for number in range(1, 13)]
    profiles = {
        name: guest(_GAINS[place % 2], stream_of(seed, "direction", name)) for place, name in enumerate(names)
    }
    plans = pressure_plans(concierge(), _PUSHES)
    return Epoch(
        key="control-direction",
        about="one writer under three prompts that most guests accept",
        profiles=profiles,
        plans=plans,
        groups=compared(plans, "prompt"),
        contracts=(rising("seller_profit", *plans),),
    )


def stability_control(seed: bytes) -> Epoch:
    """C3 passes: +28.50, interval [27.00, 30.10]."""
    profiles = {
        f"p-{place:02}": guest(gain, stream_of(seed, "stability", f"p-{place:02}"))
        for place, gain in enumerate(_CONTRASTS, start=1)
    }
    plans = stability_plans(concierge(surcharge=STABILITY_SURCHARGE))
    return Epoch(
        key="control-stability",
        about="guests who all gain by the guards",
        profiles=profiles,
        plans=plans,
        groups=compared(plans, "model"),
        replicates=3,
        contracts=(steady("welfare", minuend="both", subtrahend="none"),),
    )


def whole_control(seed: bytes) -> Epoch:
    """All twelve claims pass, and coverage too."""
    first = stream_of(seed, "whole", "p-01")
    profiles = {"p-01": guest(amount(first, 13000, 20000), first)}
    profiles |= stability_guests(seed, "whole", range(2, 7))
    setting = concierge(spread=2, surcharge=STABILITY_SURCHARGE)
    plans = {name: ArmPlan(setting, treatments=TREATMENTS[name]) for name in ("none", "both")}
    return Epoch(
        key="control-whole",
        about="a writer without and with both guards, twice, with a contract for every claim",
        profiles=profiles,
        plans=plans,
        groups=compared(plans),
        replicates=2,
        contracts=(
            rising("welfare", "none", "both"),
            steady("welfare", minuend="both", subtrahend="none"),
        ),
        prospective=True,
    )
