"""Offers as they were read and as they were let through: one shape, checked and put together in one place.

>>> made_offer({"spa": 5000, "room": 15000}, total=None, surcharge=100)
{'components': ['room', 'spa'], 'price': 20000, 'prices': [15000, 5000], 'surcharge': 100}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from agentbeat_protocol.models import Array, Strict, rule_error
from agentbeat_receipts.canonical import MAX_INTEGER
from agentbeat_receipts.domains.market.materials import Components
from agentbeat_receipts.objects.base import Counted

__all__ = ["Answer", "Offer", "UnreadableError", "made_offer"]


class UnreadableError(ValueError):
    """An answer, or a part of one, that cannot be read exactly."""


class Offer(Strict):
    """A set of components and what it costs the buyer, the surcharge beside the price.

    `prices` are those of the components in an itemised offer, and then `price` is their sum.
    """

    components: Components
    price: Counted
    prices: Array[Counted] | None = None
    surcharge: Counted

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if list(self.components) != sorted(set(self.components)):
            raise rule_error("X-OFFER", "components once each and in order")
        if self.prices is not None and (
            len(self.prices) != len(self.components) or sum(self.prices) != self.price
        ):
            raise rule_error("X-OFFER", "a price of each component, and their sum")
        return self

    @property
    def total(self) -> int:
        """What the whole offer costs the buyer."""
        return self.price + self.surcharge


class Answer(Strict):
    """The offers of one answer, and the phrases by which it presses."""

    offers: Annotated[Array[Offer], Field(min_length=1, max_length=16)]
    pressure: Array[str]


def made_offer(prices: Mapping[str, int | None], *, total: int | None, surcharge: int) -> dict[str, Any]:
    """One offer as exact JSON.

    Args:
        prices: of each component; None throughout in a bundle.
        total: the price of the set; None where the components' prices make it up.

    Raises:
        UnreadableError: prices are missing, or do not make up the total, or are too large.
    """
    components = sorted(prices)
    itemised = [price for name in components if (price := prices[name]) is not None]
    offer: dict[str, Any] = {"components": components}
    if itemised:
        if len(itemised) != len(components) or total not in (None, sum(itemised)):
            raise UnreadableError("prices that do not make up their total")
        offer |= {"price": sum(itemised), "prices": itemised}
    elif total is None or not components:
        raise UnreadableError("an offer without a price or without components")
    else:
        offer["price"] = total
    if offer["price"] + surcharge > MAX_INTEGER:
        raise UnreadableError("a price beyond 2^53-1")
    return {**offer, "surcharge": surcharge}
