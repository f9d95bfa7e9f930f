"""The market as a domain: its claims, what each needs, and the identity of its accounts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_receipts.claims.cases import Case, ClaimValue
from agentbeat_receipts.claims.groups import EXPERIMENT_NEEDS, Group
from agentbeat_receipts.domains.market.replays import ECONOMIC, MarketReplay
from agentbeat_receipts.objects import Null, Pair

__all__ = ["DOMAIN", "MarketDomain"]

_FIDELITY: Final = ("information_fidelity", "conduct_fidelity")

#: What exact replay touches.
_WHOLE: Final = frozenset({Group.P, Group.K, Group.T, Group.O, Group.D, Group.F})

_NEEDS: Final[Mapping[str, frozenset[Group]]] = MappingProxyType(
    {
        "completion": frozenset({Group.P, Group.O, Group.D}),
        "buyer_surplus": frozenset({Group.P, Group.O, Group.D, Group.F}),
        "seller_profit": frozenset({Group.P, Group.K, Group.O, Group.D, Group.F}),
        "welfare": frozenset({Group.P, Group.K, Group.O, Group.D, Group.F}),
        "first_best": frozenset({Group.P, Group.K, Group.O, Group.D, Group.F}),
        "match_quality": frozenset({Group.P, Group.O, Group.D, Group.F}),
        "information_fidelity": frozenset({Group.A, Group.T, Group.G, Group.Q}),
        "conduct_fidelity": frozenset({Group.A, Group.T, Group.O, Group.G, Group.Q}),
        "C1": EXPERIMENT_NEEDS["C1"] | _WHOLE,
        "C2": EXPERIMENT_NEEDS["C2"],
        "C3": EXPERIMENT_NEEDS["C3"] | _WHOLE,
        "C4": EXPERIMENT_NEEDS["C4"] | _WHOLE,
    }
)

_MATERIALS: Final[Mapping[str, Group]] = MappingProxyType(
    {
        "catalogue": Group.K,
        "chooser": Group.D,
        "enforcer": Group.Q,
        "horizon": Group.Q,
        "model": Group.O,
        "normaliser": Group.O,
        "parser": Group.O,
        "prompt": Group.O,
        "schema": Group.O,
        "scorer": Group.F,
    }
)


class MarketDomain:
    """Hotel rooms and what goes with them (see `claims.domains.Domain`)."""

    name = "market"
    claims = (*ECONOMIC, *_FIDELITY)
    fidelity = frozenset(_FIDELITY)
    materials = _MATERIALS
    needs = _NEEDS

    def replay(self, case: Case) -> MarketReplay:
        """The replay of one transaction."""
        return MarketReplay(case)

    def identity(self, values: Mapping[str, ClaimValue]) -> str | None:
        """What is wrong with the values of one transaction; None where they agree as far as they are there.

        >>> MarketDomain().identity({"buyer_surplus": 3, "seller_profit": 4, "welfare": 8})
        'welfare 8, expected buyer_surplus + seller_profit = 7'
        """
        amounts = {name: number for name, value in values.items() if (number := _number(value)) is not None}
        parts = ("buyer_surplus", "seller_profit", "welfare")
        if amounts.keys() >= set(parts):
            surplus, profit, welfare = (amounts[name] for name in parts)
            if welfare != surplus + profit:
                return f"welfare {welfare}, expected buyer_surplus + seller_profit = {surplus + profit}"
        if amounts.get("completion") == 0 and any(amounts.get(name) for name in parts):
            return "a surplus without a deal"
        first_best = values.get("first_best")
        if isinstance(first_best, Pair) and "welfare" in amounts:
            welfare, best = (int(number) for number in first_best.pair)
            if welfare != amounts["welfare"] or welfare > best:
                return f"first_best ({welfare}, {best}) beside welfare {amounts['welfare']}"
        return None


def _number(value: ClaimValue) -> int | None:
    """The integer that a value states; None for a pair, a null or a score with a fraction."""
    if isinstance(value, Pair | Null):
        return None
    return value if isinstance(value, int) else int(value) if value.lstrip("-").isdecimal() else None


DOMAIN: Final = MarketDomain()
