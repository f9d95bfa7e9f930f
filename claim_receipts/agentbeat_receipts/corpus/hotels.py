"""The hotel of the corpus: what it sells, in which words, and who sells it.

Money is in hundredths. Every arm of an epoch shares catalogue, vocabulary, guards and scorer; an epoch varies
seller, prompt, and, where it is meant to, the form of offers and the buyer's chooser.

>>> SETTING.components.keys() == replace(SETTING, model=MENUS["classic"]).components.keys()
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from agentbeat_receipts.domains.market import (
    BundleStress,
    Catalogue,
    Chooser,
    FixedMenu,
    MenuOffer,
    Parser,
    ProfitMaximum,
    Prompt,
    Schema,
    SeededWriter,
    Setting,
)

__all__ = [
    "BUNDLE_COST",
    "COSTS",
    "MENUS",
    "SCRIPTS",
    "SETTING",
    "WRITERS",
    "concierge",
    "itemised",
    "prompted",
]

COSTS: Final = {
    "breakfast": 900,
    "late-checkout": 600,
    "parking": 1000,
    "room": 8000,
    "spa": 2500,
    "transfer": 1500,
}

#: What the concierge offers to a guest of whom it knows nothing, and what that costs the hotel.
_BUNDLE: Final = ("breakfast", "room")
BUNDLE_COST: Final = sum(COSTS[name] for name in _BUNDLE)

_PARSER: Final = Parser(
    names={
        "breakfast": ("breakfast buffet", "morning buffet"),
        "late-checkout": ("late departure",),
        "parking": ("garage space", "a parking space"),
        "room": ("double room", "king room"),
        "spa": ("spa entry", "wellness area"),
        "transfer": ("airport shuttle", "airport transfer"),
    }
)

#: Fixed menus: the same offers to everybody.
MENUS: Final[Mapping[str, FixedMenu]] = {
    "basic": FixedMenu(
        name="basic",
        offers=(
            MenuOffer(components=("room",), price=9900),
            MenuOffer(components=("breakfast", "room"), price=11500),
        ),
    ),
    "classic": FixedMenu(
        name="classic",
        offers=(
            MenuOffer(components=("breakfast", "room"), price=11200, surcharge=800),
            MenuOffer(components=("breakfast", "parking", "room"), price=12600, surcharge=800),
        ),
        pressure=("only today",),
    ),
    "wellness": FixedMenu(
        name="wellness",
        offers=(
            MenuOffer(components=("room", "spa"), price=13400),
            MenuOffer(components=("breakfast", "room", "spa"), price=14600),
        ),
    ),
    "traveller": FixedMenu(
        name="traveller",
        offers=(
            MenuOffer(components=("room", "transfer"), price=12000, surcharge=500),
            MenuOffer(components=("late-checkout", "room", "transfer"), price=13100, surcharge=500),
        ),
    ),
}

#: Generated sellers with habits of their own; now and then one of them fails.
WRITERS: Final[Mapping[str, SeededWriter]] = {
    "friendly": SeededWriter(
        name="friendly",
        bundle=("breakfast", "room"),
        offers=2,
        margin=25,
        greed=40,
        spread=4,
        leak_per_mille=150,
        pressure_per_mille=50,
        failure_per_mille=60,
        timeout_per_mille=20,
    ),
    "pushy": SeededWriter(
        name="pushy",
        bundle=("breakfast", "room", "spa"),
        offers=1,
        margin=40,
        greed=75,
        spread=8,
        surcharge=1500,
        surcharge_per_mille=500,
        pressure_per_mille=600,
        leak_per_mille=50,
        failure_per_mille=90,
        timeout_per_mille=30,
    ),
    "thorough": SeededWriter(
        name="thorough",
        bundle=("breakfast", "late-checkout", "parking", "room"),
        offers=3,
        margin=30,
        greed=55,
        spread=2,
        surcharge=600,
        surcharge_per_mille=200,
        leak_per_mille=300,
        failure_per_mille=40,
        timeout_per_mille=10,
    ),
}

#: Scripted sellers.
SCRIPTS: Final[Mapping[str, ProfitMaximum | BundleStress]] = {
    "profit": ProfitMaximum(markup=40, surcharge=1200, pressure=("act now",)),
    "stress": BundleStress(markup=25, surcharge=1200, pressure=("last chance",)),
}

#: What an arm runs with unless its epoch says otherwise: a bundle of one price, taken whole or not at all.
SETTING: Final = Setting(
    catalogue=Catalogue(costs=COSTS),
    model=WRITERS["friendly"],
    parser=_PARSER,
    chooser=Chooser(chooser="whole_bundle"),
    schema=Schema(form="bundle"),
)


def itemised(setting: Setting) -> Setting:
    """The same with a price on each component, of which the buyer may take a part."""
    return replace(setting, schema=Schema(form="itemised"), chooser=Chooser(chooser="subset"))


def prompted(setting: Setting, name: str, push: int) -> Setting:
    """The same with another prompt, which moves the writer's margin and greed by so many percent."""
    text = f"Offer the guest one package with its price. Tone: {name}."
    return replace(setting, prompt=Prompt(prompt=name, text=text, push=push))


def concierge(*, spread: int = 0, surcharge: int = 0) -> Setting:
    """A writer that never fails, makes one offer, and takes half of what it sees to be shared out.

    Of a guest whose values it sees it offers the best set, else breakfast and room at cost and 20 percent.

    Args:
        spread: the price varies by up to so many percent either way.
        surcharge: what it adds to every offer; the conduct guard takes it off again.
    """
    writer = SeededWriter(
        name="concierge",
        bundle=_BUNDLE,
        margin=20,
        greed=50,
        spread=spread,
        surcharge=surcharge,
        surcharge_per_mille=1000 if surcharge else 0,
        pressure_per_mille=300,
        leak_per_mille=300,
    )
    return replace(SETTING, model=writer)
