"""What sets are worth and cost: tables over bit masks, made once for a profile or a catalogue.

A set is a bit mask over the profile's components in sorted order. All values of V stand in one table, made by
summing over subsets, so that a chooser or a first best looks them up.

>>> buyer = Valuation(Profile(values={"room": 120, "spa": 30}, outside=20, required=("room",),
...                           bonuses=(Bonus(of=("room", "spa"), value=5),)))
>>> buyer.value(("room", "spa")), buyer.value(("spa", "parking")), buyer.best
(155, 30, 155)
>>> first_best(buyer, {"room": 100, "spa": 40})
0
>>> first_best(buyer, {"room": 50, "spa": 30})
55
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from agentbeat_receipts.domains.market.materials import MAX_COMPONENTS
from agentbeat_receipts.domains.market.profiles import Bonus, Profile

__all__ = ["Bonus", "Valuation", "first_best", "subset_sums"]


class Valuation:
    """A profile, ready to be asked.

    Args:
        profile: the buyer.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.names = tuple(sorted(profile.values))
        self.bits = {name: 1 << place for place, name in enumerate(self.names)}
        self.required = self.mask(profile.required)
        self.excluded = self.mask(profile.excluded)
        #: The most components of a set.
        self.most = MAX_COMPONENTS if profile.max_components is None else profile.max_components
        #: V of every set, by mask.
        self.table = self._table()

    def mask(self, components: Iterable[str]) -> int:
        """The mask of a set; components that the profile does not name are left out."""
        mask = 0
        for name in components:
            mask |= self.bits.get(name, 0)
        return mask

    def value(self, components: Iterable[str]) -> int:
        """V(S)."""
        return self.table[self.mask(components)]

    def allows(self, mask: int, size: int) -> bool:
        """Whether the hard constraints allow a set of so many components, unnamed ones included."""
        return 0 < size <= self.most and mask & self.required == self.required and not mask & self.excluded

    def affords(self, price: int) -> bool:
        """Whether a price, surcharge included, is within the cap."""
        cap = self.profile.price_cap
        return cap is None or price <= cap

    @cached_property
    def best(self) -> int:
        """The highest V of a set that the constraints allow; 0 where there is none."""
        masks = range(1, len(self.table))
        return max((self.table[m] for m in masks if self.allows(m, m.bit_count())), default=0)

    def _table(self) -> tuple[int, ...]:
        table = [0] * (1 << len(self.names))
        for name, value in self.profile.values.items():
            table[self.bits[name]] += value
        for bonus in self.profile.bonuses:
            table[self.mask(bonus.of)] += bonus.value
        # Each mask gets what stands at its subsets, one component after the other.
        for bit in self.bits.values():
            for mask in range(len(table)):
                if mask & bit:
                    table[mask] += table[mask ^ bit]
        return tuple(table)


def subset_sums(terms: Iterable[int]) -> list[int]:
    """The sum of every set of terms, by mask over their places."""
    sums = [0]
    for term in terms:
        sums += [total + term for total in sums]
    return sums


def first_best(valuation: Valuation, costs: Mapping[str, int]) -> int:
    """W* = max(0, max over S of V(S) - C(S) - o), S over the sets of the catalogue that the buyer takes.

    A price cap bounds what is paid and not what is gained, so it does not count here. A component that the
    profile does not name only costs, so sets with one are never the best.
    """
    missing = valuation.mask(name for name in valuation.names if name not in costs)
    spent = subset_sums(costs.get(name, 0) for name in valuation.names)
    outside = valuation.profile.outside
    gains = (
        worth - cost - outside
        for mask, (worth, cost) in enumerate(zip(valuation.table, spent, strict=True))
        if mask and not mask & missing and valuation.allows(mask, mask.bit_count())
    )
    return max(0, max(gains, default=0))
