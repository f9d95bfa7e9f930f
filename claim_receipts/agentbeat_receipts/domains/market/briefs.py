"""The brief: what the buyer's side writes to the seller, public wishes and private values.

    wants, required      public: what is asked for
    values, outside,     private: the information guard hides them
    price_cap

Bonuses and limits of size are never told.

>>> from agentbeat_receipts.domains.market.profiles import Profile
>>> brief_of(Profile(values={"spa": 30, "room": 120, "desk": 0}, outside=20, required=("room",)))["wants"]
['room', 'spa']
"""

from __future__ import annotations

from typing import Any

from agentbeat_protocol.models import Array, Strict
from agentbeat_receipts.domains.market.profiles import Profile
from agentbeat_receipts.objects.base import Counted, Id, SafeInteger

__all__ = ["Brief", "brief_of"]


class Brief(Strict):
    """What a seller sees of a brief. What is hidden is None."""

    wants: Array[Id]
    required: Array[Id]
    values: dict[Id, SafeInteger] | None = None
    outside: Counted | None = None
    price_cap: Counted | None = None


def brief_of(profile: Profile) -> dict[str, Any]:
    """The whole brief of a buyer, as exact JSON."""
    wanted = {name for name, value in profile.values.items() if value > 0}
    wants = sorted(wanted.union(profile.required).difference(profile.excluded))
    return {
        "wants": wants,
        "required": sorted(profile.required),
        "values": {name: profile.values[name] for name in wants},
        "outside": profile.outside,
        "price_cap": profile.price_cap,
    }
