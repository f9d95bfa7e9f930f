"""A buyer: what sets of components are worth to them, what they have without a deal, and what they insist on.

    V(S) = the values of the components in S + the bonuses of all sets that S contains

A bonus may be negative, and with enough of them every set function can be written down. A component that the
profile does not name is worth nothing.

>>> buyer = Profile(values={"room": 12000, "spa": 3000}, outside=2000, required=("room",),
...                 bonuses=(Bonus(of=("room", "spa"), value=500),))
>>> buyer.model_dump(mode="json", exclude_defaults=True)["outside"]
2000
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from agentbeat_protocol.models import Array, Strict, rule_error
from agentbeat_receipts.domains.market.materials import MAX_COMPONENTS, Components
from agentbeat_receipts.objects.base import Counted, Id, Positive, SafeInteger

__all__ = ["Bonus", "Profile"]


class Bonus(Strict):
    """What a set is worth beyond its components: more for complements, less for substitutes."""

    of: Components
    value: SafeInteger


class Profile(Strict):
    """A buyer's private values and hard constraints.

    Args:
        values: of each component alone.
        bonuses: of sets of components.
        outside: the surplus that the buyer has without a deal (o).
        required: components without which nothing is bought.
        excluded: components with which nothing is bought.
        price_cap: the most that is paid, surcharge included; None for no limit.
        max_components: the most components that are bought; None for no limit.
    """

    values: Annotated[dict[Id, SafeInteger], Field(min_length=1, max_length=MAX_COMPONENTS)]
    bonuses: Annotated[Array[Bonus], Field(max_length=64)] = ()
    outside: Counted = 0
    required: Annotated[Array[Id], Field(max_length=MAX_COMPONENTS)] = ()
    excluded: Annotated[Array[Id], Field(max_length=MAX_COMPONENTS)] = ()
    price_cap: Counted | None = None
    max_components: Positive | None = None

    @model_validator(mode="after")
    def _names_what_it_values(self) -> Self:
        named = set(self.required).union(self.excluded, *(bonus.of for bonus in self.bonuses))
        if not named <= set(self.values):
            raise rule_error("X-PROFILE", "a value of every component that is named")
        return self
