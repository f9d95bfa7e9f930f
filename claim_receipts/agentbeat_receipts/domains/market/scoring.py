"""The exact values of a deal, and of none.

    BS = V(S) - p - o        SP = p - C(S)        W = V(S) - C(S) - o = BS + SP

Without a deal all three are 0. First best is the pair (W, W*), match quality the pair (V(S), the highest V of
a set that the constraints allow); where the second number is not above 0 there is nothing to be measured
against, and the value is a typed null. Nothing is clamped: a loss is negative.

>>> first_best_value(-30, 55), first_best_value(0, 0)
(Pair(pair=(-30, 55)), Null(null='no_gain_possible'))
"""

from __future__ import annotations

from typing import Final

from agentbeat_receipts.canonical import MAX_INTEGER
from agentbeat_receipts.domains.market.choosers import Deal
from agentbeat_receipts.objects import Null, Pair

__all__ = [
    "NO_GAIN",
    "NO_WORTH",
    "buyer_surplus",
    "first_best_value",
    "match_quality_value",
    "seller_profit",
    "stated",
    "welfare",
]

#: No set would leave buyer and seller together better off.
NO_GAIN: Final = Null(null="no_gain_possible")
#: No set is worth anything to the buyer.
NO_WORTH: Final = Null(null="no_worth_possible")


def stated(amount: int) -> int | str:
    """An exact integer as a value: a decimal string beyond ±(2^53-1)."""
    return amount if -MAX_INTEGER <= amount <= MAX_INTEGER else str(amount)


def buyer_surplus(deal: Deal | None, outside: int) -> int:
    """BS."""
    return 0 if deal is None else deal.worth - deal.price - outside


def seller_profit(deal: Deal | None, cost: int) -> int:
    """SP; `cost` is that of what was bought."""
    return 0 if deal is None else deal.price - cost


def welfare(deal: Deal | None, cost: int, outside: int) -> int:
    """W."""
    return 0 if deal is None else deal.worth - cost - outside


def first_best_value(welfare: int, best: int) -> Pair | Null:
    """(W, W*), or the null where W* is 0."""
    return Pair(pair=(stated(welfare), stated(best))) if best > 0 else NO_GAIN


def match_quality_value(worth: int, best: int) -> Pair | Null:
    """(V(S), best V), or the null where the best is not above 0."""
    return Pair(pair=(stated(worth), stated(best))) if best > 0 else NO_WORTH
