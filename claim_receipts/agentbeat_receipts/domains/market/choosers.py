"""How a buyer decides: the feasible choice with the highest surplus, if that is high enough.

A `whole_bundle` chooser looks at each offer as it is. A `subset` chooser looks at every part of an itemised
offer too; a bundle has no prices of its parts and is taken whole. Among equals the earlier offer is taken,
then the smaller set, then the first in the order of the offer's components.

>>> from agentbeat_receipts.domains.market.answers import Offer
>>> from agentbeat_receipts.domains.market.profiles import Profile
>>> buyer = Valuation(Profile(values={"room": 120, "spa": 30}, outside=20))
>>> offer = Offer(components=("room", "spa"), price=140, prices=(90, 50), surcharge=0)
>>> choose(buyer, Chooser(chooser="whole_bundle"), (offer,)) is None
True
>>> choose(buyer, Chooser(chooser="subset"), (offer,))
Deal(offer=0, components=('room',), price=90, worth=120)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentbeat_receipts.domains.market.answers import Offer
from agentbeat_receipts.domains.market.materials import Chooser
from agentbeat_receipts.domains.market.valuations import Valuation, subset_sums

__all__ = ["Deal", "choice_output", "choose"]


@dataclass(frozen=True, slots=True)
class Deal:
    """What is bought.

    Args:
        offer: the offer's place, from 0.
        components: what is taken of it.
        price: what is paid (p), surcharge included.
        worth: V(S) to the buyer.
    """

    offer: int
    components: tuple[str, ...]
    price: int
    worth: int


def choose(valuation: Valuation, chooser: Chooser, offers: Sequence[Offer]) -> Deal | None:
    """What the buyer takes; None where every offer is rejected."""
    best, most = None, chooser.accept_at - 1
    for place, offer in enumerate(offers):
        parts = chooser.chooser == "subset" and offer.prices is not None
        for deal in _parts(valuation, place, offer) if parts else _whole(valuation, place, offer):
            surplus = deal.worth - deal.price - valuation.profile.outside
            if surplus > most:
                best, most = deal, surplus
    return best


def choice_output(deal: Deal | None) -> Any:
    """A decision as it stands on record."""
    if deal is None:
        return {"offer": None}
    return {"offer": deal.offer, "components": list(deal.components), "price": deal.price}


def _whole(valuation: Valuation, place: int, offer: Offer) -> Iterator[Deal]:
    mask = valuation.mask(offer.components)
    if valuation.allows(mask, len(offer.components)) and valuation.affords(offer.total):
        yield Deal(place, offer.components, offer.total, valuation.table[mask])


def _parts(valuation: Valuation, place: int, offer: Offer) -> Iterable[Deal]:
    """Every part that can be bought, smaller ones first."""
    bits = [valuation.bits.get(name, 0) for name in offer.components]
    # The components' bits are distinct, so that their sums are masks.
    masks, prices = subset_sums(bits), subset_sums(offer.prices or ())
    for part in sorted(range(1, len(masks)), key=int.bit_count):
        price = prices[part] + offer.surcharge
        if valuation.allows(masks[part], part.bit_count()) and valuation.affords(price):
            taken = tuple(name for at, name in enumerate(offer.components) if part >> at & 1)
            yield Deal(place, taken, price, valuation.table[masks[part]])
