"""What a market run is made with: each material as a frozen record with exact members.

A material that a replay takes stands in the opening in full: all but prompt and horizon. Its digest stands
where it was promised. Money is an integer in units of the manifest's exponent: at -2, `12000` is 120.00.
Percentages are integers too.

    catalogue                                 K  components and what they cost the seller
    chooser                                   D  how the buyer decides
    scorer                                    F  how values are stated
    enforcer                                  Q  what the guards redact and clamp
    model, prompt, schema, parser, normaliser O  who writes an offer, and how it is read
    horizon                                   Q  how long the dealing may last

>>> Chooser(chooser="subset", accept_at=0).model_dump(mode="json")
{'chooser': 'subset', 'version': 1, 'accept_at': 0}
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from agentbeat_protocol.models import Array, Strict
from agentbeat_receipts.objects.base import Counted, Id, Positive, SafeInteger, Text

__all__ = [
    "DETERMINISTIC",
    "MAX_COMPONENTS",
    "BundleStress",
    "Catalogue",
    "Chooser",
    "Endpoint",
    "Enforcer",
    "FixedMenu",
    "Horizon",
    "MenuOffer",
    "Model",
    "Normaliser",
    "Parser",
    "ProfitMaximum",
    "Prompt",
    "Schema",
    "Scorer",
    "SeededWriter",
]

#: The most components of a catalogue or a profile: every set of them is looked at.
MAX_COMPONENTS: Final = 12

Percent = Annotated[int, Field(ge=-100, le=10_000)]
PerMille = Annotated[int, Field(ge=0, le=1000)]
#: A word or phrase in lower case, as the parser compares it.
Phrase = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z][a-z' -]*$")]
#: Each of them is looked for at each word of a text, so there are not too many.
Phrases = Annotated[Array[Phrase], Field(max_length=64)]
Components = Annotated[Array[Id], Field(min_length=1, max_length=MAX_COMPONENTS)]


class Catalogue(Strict):
    """Components that can be sold, and what each costs the seller."""

    catalogue: Id = "hotel"
    costs: Annotated[dict[Id, Counted], Field(min_length=1, max_length=MAX_COMPONENTS)]


class Chooser(Strict):
    """How the buyer decides: the best feasible choice, if its surplus is at least `accept_at`.

    `whole_bundle` takes an offer as it is or not at all; `subset` may take a part of an itemised offer.
    """

    chooser: Literal["whole_bundle", "subset"]
    version: Literal[1] = 1
    accept_at: SafeInteger = 0


class Scorer(Strict):
    """How values are stated: as multiples of 1/`scale` of a unit of money."""

    scorer: Literal["surplus"] = "surplus"
    version: Literal[1] = 1
    scale: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class Enforcer(Strict):
    """What the guards do where their flag is on.

    Information: brief fields that the seller does not see; words whose sentences the buyer does not see.
    Conduct: the surcharge that is left, and whether pressure is.
    """

    enforcer: Literal["guards"] = "guards"
    version: Literal[1] = 1
    private_fields: Annotated[Array[Id], Field(max_length=64)] = ("outside", "price_cap", "values")
    private_words: Phrases = ("cost", "costs", "margin", "floor")
    surcharge_cap: Counted = 0
    keep_pressure: bool = False


class Normaliser(Strict):
    """How an amount is read: in which currency, to which power of ten."""

    normaliser: Literal["money"] = "money"
    version: Literal[1] = 1
    exponent: Annotated[int, Field(ge=-18, le=18)] = -2
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "EUR"
    signs: Annotated[Array[Annotated[str, Field(min_length=1, max_length=3)]], Field(max_length=16)] = ("€",)


class Schema(Strict):
    """What an offer is: `bundle`, one price for the set; `itemised`, a price of each component."""

    form: Literal["bundle", "itemised"]
    version: Literal[1] = 1
    max_offers: Annotated[int, Field(ge=1, le=16)] = 4


class Parser(Strict):
    """The vocabulary in which offers are read. A component is also known by its id."""

    parser: Literal["offers"] = "offers"
    version: Literal[1] = 1
    names: Annotated[dict[Id, Phrases], Field(max_length=MAX_COMPONENTS)]
    pressure: Phrases = ("only today", "last chance", "others are looking", "act now")
    refusals: Phrases = ("i cannot", "i can't", "we cannot", "unable to", "i must decline")


class Prompt(Strict):
    """What the seller is told. `push` is added to the margin percentage of a seeded writer."""

    prompt: Id = "standard"
    version: Literal[1] = 1
    text: Text = "Offer the guest up to three packages, each with its price."
    push: Percent = 0


class Horizon(Strict):
    """How long the dealing may last."""

    horizon: Literal["single_round"] = "single_round"
    rounds: Literal[1] = 1


class MenuOffer(Strict):
    """An offer of a fixed menu. `price` is the whole price without the surcharge."""

    components: Components
    price: Counted
    surcharge: Counted = 0


class FixedMenu(Strict):
    """The same offers to everybody."""

    seller: Literal["fixed_menu"] = "fixed_menu"
    name: Id
    offers: Annotated[Array[MenuOffer], Field(min_length=1, max_length=16)]
    pressure: Phrases = ()


class ProfitMaximum(Strict):
    """The one offer with the highest profit that the buyer, as far as the brief shows, would accept.

    Where the brief hides the buyer's values: everything that is asked for, at cost and `markup` percent.
    """

    seller: Literal["profit_maximum"] = "profit_maximum"
    name: Id = "profit-maximum"
    markup: Percent = 40
    surcharge: Counted = 0
    pressure: Phrases = ()


class BundleStress(Strict):
    """The whole catalogue and nothing less, at cost and `markup` percent."""

    seller: Literal["bundle_stress"] = "bundle_stress"
    name: Id = "bundle-stress"
    markup: Percent = 25
    surcharge: Counted = 0
    pressure: Phrases = ()


class SeededWriter(Strict):
    """A generated seller: text of varied wording, order and spelling of numbers, that sometimes fails.

    Args:
        bundle: what it offers when the brief hides the buyer's values, in so far as the catalogue has it.
        offers: how many offers; the first is the best, each further one has a component less.
        margin: percent over cost, when it does not know the buyer's values.
        greed: percent of the buyer's visible surplus that it takes, when it knows them.
        spread: the price varies by up to so many percent either way.
        surcharge, surcharge_per_mille: how much is added, and how often.
        pressure_per_mille, leak_per_mille: how often it presses, and how often it says what things cost it.
        failure_per_mille: how often an answer is empty, cut off, a refusal or unreadable.
        timeout_per_mille: how often there is no answer at all.
    """

    seller: Literal["generated"] = "generated"
    writer: Literal["seeded"] = "seeded"
    name: Id
    bundle: Components
    offers: Annotated[int, Field(ge=1, le=4)] = 1
    margin: Percent = 30
    greed: Annotated[int, Field(ge=0, le=1000)] = 50
    spread: Annotated[int, Field(ge=0, le=99)] = 0
    surcharge: Counted = 0
    surcharge_per_mille: PerMille = 0
    pressure_per_mille: PerMille = 0
    leak_per_mille: PerMille = 0
    failure_per_mille: PerMille = 0
    timeout_per_mille: PerMille = 0


class Endpoint(Strict):
    """A generated seller behind an OpenAI-compatible endpoint. Its address and key are no part of a run."""

    seller: Literal["endpoint"] = "endpoint"
    model: Annotated[str, Field(min_length=1, max_length=256)]
    max_tokens: Positive = 512
    temperature: Annotated[str, Field(pattern=r"^[0-2](\.[0-9]{1,2})?$")] = "0"


#: Who writes the offers.
Model = Annotated[
    FixedMenu | ProfitMaximum | BundleStress | SeededWriter | Endpoint, Field(discriminator="seller")
]

#: Sellers whose answer is replayed from their policy on.
DETERMINISTIC: Final = (FixedMenu, ProfitMaximum, BundleStress)
