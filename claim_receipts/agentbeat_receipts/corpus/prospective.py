"""E7, the prospective epoch: 15 guests under {NONE, BOTH}, 30 tickets before the first answer, CR-3.

Of the 30 runs 24 are accepted and 6 rejected, whatever the seed. The concierge adds 60.00 to every offer and
takes half of what it sees to be shared out, with 2 percent of spread:

    9 regular guests   130.00 or more to share out: they buy under both            18 accepted
    3 thrifty guests   60.00 or less: too little for the surcharge under NONE        3 accepted, 3 rejected
    3 spa guests       behind the information guard nobody offers them the spa,
                       and breakfast and room alone are not worth their price        3 accepted, 3 rejected
"""

from __future__ import annotations

from agentbeat_receipts.corpus.buyers import amount, guest, stream_of
from agentbeat_receipts.corpus.epochs import TREATMENTS, Epoch, compared
from agentbeat_receipts.corpus.hotels import concierge
from agentbeat_receipts.corpus.retrospective import STABILITY_SURCHARGE
from agentbeat_receipts.domains.market import ArmPlan, Profile

__all__ = ["prospective_epoch"]

_REGULAR = 9
_THRIFTY = 3
_SPA = 3


def prospective_epoch(seed: bytes) -> Epoch:
    """E7: 30 receipts."""
    setting = concierge(spread=2, surcharge=STABILITY_SURCHARGE)
    plans = {name: ArmPlan(setting, treatments=TREATMENTS[name]) for name in ("none", "both")}
    names = [f"p-{number:02}" for number in range(1, _REGULAR + _THRIFTY + _SPA + 1)]
    return Epoch(
        key="E7",
        about="a writer without and with both guards, promised before it was run",
        profiles={name: _guest(seed, place, name) for place, name in enumerate(names)},
        plans=plans,
        groups=compared(plans),
        prospective=True,
    )


def _guest(seed: bytes, place: int, name: str) -> Profile:
    stream = stream_of(seed, "E7", name)
    if place < _REGULAR:
        return guest(amount(stream, 13000, 20000), stream)
    if place < _REGULAR + _THRIFTY:
        return guest(amount(stream, 2500, 6000), stream)
    spa = amount(stream, 14000, 18000)
    return guest(amount(stream, 0, 1000), stream, extras={"spa": spa})
