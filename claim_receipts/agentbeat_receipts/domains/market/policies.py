"""Deterministic sellers: from what is on record to the very bytes of their answer.

An answer is canonical JSON with amounts as plain decimals of the currency, such as `200.00`. It is replayed
from the policy on, so these functions take evidence only: the model, the catalogue, the form of offers and
what the seller saw of the brief.

>>> catalogue = Catalogue(costs={"room": 8000, "spa": 3000})
>>> brief = Brief(wants=("room",), required=("room",))
>>> policy_answer(ProfitMaximum(markup=25), catalogue, Schema(form="bundle"), Normaliser(), brief)
b'{"note":"","offers":[{"components":["room"],"price":"100.00","surcharge":"0.00"}],"pressure":[]}'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.domains.market.briefs import Brief
from agentbeat_receipts.domains.market.materials import (
    BundleStress,
    Catalogue,
    FixedMenu,
    MenuOffer,
    Normaliser,
    ProfitMaximum,
    Schema,
)

__all__ = ["amount_text", "item_prices", "marked_up", "policy_answer", "wanted_sets"]


def policy_answer(
    model: FixedMenu | ProfitMaximum | BundleStress,
    catalogue: Catalogue,
    schema: Schema,
    normaliser: Normaliser,
    brief: Brief,
) -> bytes:
    """The raw output of a deterministic seller."""
    match model:
        case FixedMenu():
            offers: Iterable[MenuOffer] = model.offers
        case ProfitMaximum():
            offers = [_highest_profit(model, catalogue, brief)]
        case BundleStress():
            everything = tuple(sorted(catalogue.costs))
            price = marked_up(sum(catalogue.costs.values()), model.markup)
            offers = [MenuOffer(components=everything, price=price, surcharge=model.surcharge)]
    written = [_written(offer, catalogue, schema, normaliser.exponent) for offer in offers]
    return canonical_bytes({"note": "", "offers": written, "pressure": list(model.pressure)})


def _highest_profit(model: ProfitMaximum, catalogue: Catalogue, brief: Brief) -> MenuOffer:
    """The set and price with the highest profit; among equals the smaller set, then the first by name."""
    best, most = None, None
    for offered in wanted_sets(catalogue, brief):
        cost = sum(catalogue.costs[name] for name in offered)
        if brief.values is None:
            # Nothing is known of the buyer: everything that is asked for, and the price by cost.
            total = marked_up(cost, model.markup) + model.surcharge
            gain = len(offered)
        else:
            worth = sum(brief.values.get(name, 0) for name in offered) - (brief.outside or 0)
            total = worth if brief.price_cap is None else min(worth, brief.price_cap)
            gain = total - cost
        if most is None or gain > most:
            best, most = (offered, total), gain
    offered, total = best or (tuple(sorted(catalogue.costs)), 0)
    surcharge = min(model.surcharge, max(total, 0))
    return MenuOffer(components=offered, price=max(total, 0) - surcharge, surcharge=surcharge)


def wanted_sets(catalogue: Catalogue, brief: Brief) -> Iterator[tuple[str, ...]]:
    """Every set that the catalogue has, the buyer asks for and that has what is required; smaller ones first.

    Where the catalogue lacks something required there is none.
    """
    wants = sorted(set(brief.wants) & catalogue.costs.keys())
    required = set(brief.required)
    for size in range(max(1, len(required)), len(wants) + 1):
        yield from (offered for offered in combinations(wants, size) if required <= set(offered))


def marked_up(cost: int, percent: int) -> int:
    """A cost and so many percent of it, rounded up to a whole unit.

    >>> marked_up(999, 10)
    1099
    """
    return -(-cost * (100 + percent) // 100)


def item_prices(price: int, costs: Mapping[str, int]) -> dict[str, int]:
    """A price shared out over components by their cost; what is left over goes to the first.

    >>> item_prices(100, {"room": 2, "spa": 1})
    {'room': 67, 'spa': 33}
    """
    whole = sum(costs.values())
    weights = costs if whole else dict.fromkeys(costs, 1)
    whole = whole or len(costs)
    shares = {name: price * weight // whole for name, weight in weights.items()}
    shares[min(shares)] += price - sum(shares.values())
    return shares


def amount_text(units: int, exponent: int) -> str:
    """A non-negative amount as a plain decimal of the currency.

    >>> amount_text(120050, -2), amount_text(5, -2), amount_text(12, 2), amount_text(1000, -3)
    ('1200.50', '0.05', '1200', '1.0000')
    """
    if exponent >= 0:
        return str(units * 10**exponent)
    digits = str(units).rjust(1 - exponent, "0")
    # `1.000` could be a thousand; with a fourth decimal it is one.
    return f"{digits[:exponent]}.{digits[exponent:]}" + ("0" if exponent == -3 else "")


def _written(offer: MenuOffer, catalogue: Catalogue, schema: Schema, exponent: int) -> dict[str, Any]:
    surcharge = amount_text(offer.surcharge, exponent)
    if schema.form == "bundle":
        price = amount_text(offer.price, exponent)
        return {"components": list(offer.components), "price": price, "surcharge": surcharge}
    shares = item_prices(offer.price, {name: catalogue.costs.get(name, 0) for name in offer.components})
    prices = {name: amount_text(share, exponent) for name, share in shares.items()}
    return {"prices": prices, "surcharge": surcharge}
