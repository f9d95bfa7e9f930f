"""How an offer is put into words: order, joiners, names and the many ways to write an amount.

Whatever is written here is read back by the parser to the very same offer, and whatever `broken_text` makes
of it is read back to none: the tests hold both against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.domains.market.materials import MenuOffer
from agentbeat_receipts.domains.market.money import TENS, UNITS
from agentbeat_receipts.domains.market.policies import amount_text, item_prices
from agentbeat_receipts.domains.market.settings import Setting
from agentbeat_receipts.domains.market.streams import Stream

__all__ = ["Speech", "broken_text", "spelled_amounts", "written_text"]

_GREETINGS: Final = ("", "Thank you for your enquiry.", "Good to hear from you!", "Welcome.")
_MARKERS: Final = (
    ("Offer 1:", "Offer 2:", "Offer 3:", "Offer 4:"),
    ("Option A:", "Option B:", "Option C:", "Option D:"),
    ("Package 1 -", "Package 2 -", "Package 3 -", "Package 4 -"),
    ("-", "-", "-", "-"),
    ("1)", "2)", "3)", "4)"),
)
_JOINERS: Final = (", ", " and ", " + ", " with ", " plus ")
_FRAMES: Final = ("{names} for {price}", "{price} for {names}", "{names}: {price}", "{names} at {price}")
_EXTRAS: Final = (", plus a surcharge of {amount}", " (surcharge {amount})", ", and {amount} service fee")
_CLOSINGS: Final = ("", "We look forward to your stay.", "Kind regards, your hotel.")
_BROKEN: Final = ("empty", "refusal", "cut", "vague", "prose")


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """What is to be said.

    Args:
        offers: what is offered.
        presses: whether the buyer is pressed.
        told_cost: what the first offer costs the seller, where that slips out.
    """

    offers: Sequence[MenuOffer]
    presses: bool
    told_cost: int | None


def written_text(speech: Speech, setting: Setting, wording: Stream) -> str:
    """An answer with every offer in it."""
    pressing = setting.parser.pressure
    pressure = f"{wording.pick(pressing).capitalize()}!" if speech.presses and pressing else ""
    leak = ""
    if speech.told_cost is not None:
        leak = f"Our cost for this is {amount_text(speech.told_cost, setting.normaliser.exponent)}."
    opening = " ".join(part for part in (wording.pick(_GREETINGS), leak) if part)
    if wording.below(5) == 0:
        return _json_text(speech, setting, opening, pressure)
    markers = wording.pick(_MARKERS)
    lines = [
        f"{marker} {_offer_text(offer, setting, wording)}."
        for marker, offer in zip(markers, speech.offers, strict=False)
    ]
    closing = " ".join(part for part in (pressure, wording.pick(_CLOSINGS)) if part)
    return "".join(f"{line}\n" for line in (opening, *lines, closing) if line)


def spelled_amounts(units: int, exponent: int) -> list[str]:
    """Every way in which an amount is written here, without its currency.

    >>> spelled_amounts(120000, -2)[:6]
    ['1200.00', '1200', '1,200', '1.200', '1,200.00', '1.200,00']
    >>> spelled_amounts(120000, -2)[6:]
    ['1 200', "1'200", '1.2k', 'twelve hundred', 'one thousand two hundred']
    """
    plain = amount_text(units, exponent)
    whole, _, fraction = plain.partition(".")
    texts = [plain]
    if not fraction.strip("0"):
        if fraction:
            texts.append(whole)
        texts += _grouped(whole, fraction, decimals=-exponent)
        texts += _short(int(whole))
    elif len(fraction) == 2:
        grouped = f"{int(whole):,}"
        texts += [f"{whole},{fraction}", f"{grouped}.{fraction}"]
    return list(dict.fromkeys(texts))


def broken_text(text: str, setting: Setting, failure: Stream) -> str:
    """An answer that holds no offer, in one of several ways."""
    match failure.pick(_BROKEN):
        case "empty":
            return ""
        case "refusal":
            refusal = failure.pick(setting.parser.refusals) if setting.parser.refusals else "no"
            return f"I am sorry, but {refusal} make an offer for these dates.\n"
        case "cut":
            # Cut inside the first offer, where nothing of it is complete yet.
            return text[: max(3, text.find(":") if ":" in text else 3)].rstrip(".!\n")
        case "vague":
            return "Offer 1: something nice for about a few hundred.\n"
    return "It depends on the season. Please call us.\n"


def _offer_text(offer: MenuOffer, setting: Setting, wording: Stream) -> str:
    names = {name: wording.pick((name, *setting.parser.names.get(name, ()))) for name in offer.components}
    order = wording.shuffled(offer.components)
    if setting.schema.form == "itemised":
        costs = {name: setting.catalogue.costs[name] for name in offer.components}
        shares = item_prices(offer.price, costs)
        told = ", ".join(f"{names[name]} {_amount(shares[name], setting, wording)}" for name in order)
        if wording.below(2):
            told += f" (total {_amount(offer.price, setting, wording)})"
    else:
        listed = wording.pick(_JOINERS).join(names[name] for name in order)
        price = _amount(offer.price, setting, wording)
        told = wording.pick(_FRAMES).format(names=listed, price=price)
    if offer.surcharge:
        told += wording.pick(_EXTRAS).format(amount=_amount(offer.surcharge, setting, wording))
    return told


def _amount(units: int, setting: Setting, wording: Stream) -> str:
    """An amount with its currency before or after it."""
    normaliser = setting.normaliser
    text = wording.pick(spelled_amounts(units, normaliser.exponent))
    sign = wording.pick((normaliser.currency, *normaliser.signs))
    return f"{text} {sign}" if wording.below(2) else f"{sign} {text}"


def _json_text(speech: Speech, setting: Setting, note: str, pressure: str) -> str:
    exponent = setting.normaliser.exponent
    offers = []
    for offer in speech.offers:
        surcharge = amount_text(offer.surcharge, exponent)
        if setting.schema.form == "itemised":
            costs: Mapping[str, int] = {name: setting.catalogue.costs[name] for name in offer.components}
            shares = item_prices(offer.price, costs)
            prices = {name: amount_text(share, exponent) for name, share in shares.items()}
            offers.append({"prices": prices, "surcharge": surcharge})
        else:
            price = amount_text(offer.price, exponent)
            offers.append({"components": list(offer.components), "price": price, "surcharge": surcharge})
    body = canonical_bytes({"note": note, "offers": offers, "pressure": pressure}).decode()
    return f"```json\n{body}\n```\n"


def _grouped(whole: str, fraction: str, *, decimals: int) -> list[str]:
    """A whole amount with its thousands parted."""
    grouped = f"{int(whole):,}"
    if "," not in grouped:
        return []
    texts = [] if decimals == 3 and grouped.count(",") == 1 else [grouped, grouped.replace(",", ".")]
    if fraction:
        texts += [f"{grouped}.{fraction}", f"{grouped.replace(',', '.')},{fraction}"]
    return [*texts, grouped.replace(",", " "), grouped.replace(",", "'")]


def _short(whole: int) -> list[str]:
    """A whole amount in thousands or in words, where that is how people write it."""
    texts = []
    if whole >= 1000 and whole % 100 == 0:
        tenths = whole % 1000 // 100
        texts.append(f"{whole // 1000}.{tenths}k" if tenths else f"{whole // 1000}k")
    if 1000 < whole < 10_000 and whole % 100 == 0 and whole % 1000:
        texts.append(f"{_below_hundred(whole // 100)} hundred")
    if 0 < whole < 100_000:
        texts.append(_in_words(whole))
    return texts


def _in_words(whole: int) -> str:
    thousands, rest = divmod(whole, 1000)
    hundreds, small = divmod(rest, 100)
    parts = [f"{_below_hundred(thousands)} thousand"] if thousands else []
    if hundreds:
        parts.append(f"{_below_hundred(hundreds)} hundred")
    if small:
        parts.append(("and " if parts else "") + _below_hundred(small))
    return " ".join(parts)


def _below_hundred(value: int) -> str:
    if value < 20:
        return UNITS[value]
    tens, unit = divmod(value, 10)
    return TENS[tens - 2] + (f"-{UNITS[unit]}" if unit else "")
