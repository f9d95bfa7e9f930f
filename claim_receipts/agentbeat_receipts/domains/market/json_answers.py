"""An answer in JSON: the same offers, in members.

    {"offers": [{"components": ["room", "spa"], "price": "1,200.00", "surcharge": 5}], "note": "…",
     "pressure": "Only today!"}

An itemised offer has `prices`, an object of component and price, in place of `components` and `price`. An
amount is text as people write it, or a JSON number, in which a point is always decimal. Members that are not
named here, names that stand twice, and offers with a component twice are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from agentbeat_receipts.domains.market.answers import UnreadableError, made_offer
from agentbeat_receipts.domains.market.money import AmountError, Money, folded_text

__all__ = ["json_answer"]


class _Number(str):
    """A JSON number's own characters."""

    __slots__ = ()


def json_answer(
    text: str, *, names: Mapping[str, str], money: Money, itemised: bool
) -> tuple[list[dict[str, Any]], str, str]:
    """Offers, note, and whatever is said under `pressure`.

    Args:
        names: the component of each spelling, in lower case.

    Raises:
        UnreadableError: it is no such answer.
    """
    try:
        answer = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse, object_pairs_hook=_members
        )
    except (ValueError, RecursionError):
        raise UnreadableError("no JSON") from None
    if not isinstance(answer, dict) or not answer.keys() <= {"offers", "note", "pressure"}:
        raise UnreadableError("other members than offers, note and pressure")
    offers = answer.get("offers")
    if not isinstance(offers, list):
        raise UnreadableError("no list of offers")
    note, pressure = answer.get("note", ""), answer.get("pressure", "")
    if isinstance(pressure, list) and all(isinstance(phrase, str) for phrase in pressure):
        pressure = ". ".join(pressure)
    # A number's characters are text of another class.
    if type(note) is not str or type(pressure) is not str:
        raise UnreadableError("a note or pressure that is no text")
    if any("\ud800" <= character <= "\udfff" for character in note):
        raise UnreadableError("a note with half of a character")
    return [_offer(offer, names, money, itemised) for offer in offers], note, pressure


def _offer(offer: Any, names: Mapping[str, str], money: Money, itemised: bool) -> dict[str, Any]:
    expected = {"prices"} if itemised else {"components", "price"}
    if not isinstance(offer, dict) or not expected <= offer.keys() <= expected | {"surcharge"}:
        raise UnreadableError("an offer with other members")
    surcharge = _amount(offer["surcharge"], money) if "surcharge" in offer else 0
    if itemised:
        listed = offer["prices"]
        if not isinstance(listed, dict):
            raise UnreadableError("prices that are no object")
        prices = {_component(name, names): _amount(price, money) for name, price in listed.items()}
        if len(prices) != len(listed):
            raise UnreadableError("a component twice")
        return made_offer(prices, total=None, surcharge=surcharge)
    listed = offer["components"]
    if not isinstance(listed, list):
        raise UnreadableError("components that are no list")
    components = {_component(name, names) for name in listed}
    if len(components) != len(listed):
        raise UnreadableError("a component twice")
    return made_offer(dict.fromkeys(components), total=_amount(offer["price"], money), surcharge=surcharge)


def _component(name: Any, names: Mapping[str, str]) -> str:
    component = names.get(folded_text(name)) if isinstance(name, str) else None
    if component is None:
        raise UnreadableError("a component that is not known")
    return component


def _amount(value: Any, money: Money) -> int:
    try:
        if isinstance(value, _Number):
            return money.plain(value)
        if isinstance(value, str):
            return money.read(value)
    except AmountError as error:
        raise UnreadableError(str(error)) from None
    raise UnreadableError("an amount that is neither text nor number")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name twice")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
