"""The market: buyers with private values, sellers who offer bundles of hotel components, exact surpluses.

    profiles, materials, settings    who buys, and what an arm runs with
    sellers, policies, writers,      who answers: a policy, a seeded writer of text, an endpoint
    wordings, endpoints
    parsers, offer_lines,            text or JSON, read to exact offers
    json_answers, money, answers
    guards, choosers, valuations,    what happens to offers, and what comes of them
    scoring
    dealing_rooms, traces, runs,     a run, on record; a batch of them
    batches
    evidence, fidelity, replays,     a run, computed again
    domain

>>> catalogue = Catalogue(costs={"room": 8000, "spa": 3000})
>>> parser = Parser(names={"room": ("king room",), "spa": ()})
>>> setting = Setting(catalogue=catalogue, parser=parser, model=ProfitMaximum(markup=25))
>>> buyer = Profile(values={"room": 12000, "spa": 1000}, outside=500, required=("room",))
>>> run = simulate(setting, buyer, flags={"info"}, retry=NO_RETRY, seed=b"example")
>>> run.status, run.values["completion"], run.values["first_best"]
('rejected', 0, Pair(pair=(0, 3500)))

Blind to the buyer's values the seller offered all that was asked for, at more than it was worth.
"""

from agentbeat_receipts.domains.market.batches import (
    ArmPlan,
    MarketBatch,
    MarketRun,
    market_manifest,
    market_report,
    market_run,
    market_runs,
    write_market,
)
from agentbeat_receipts.domains.market.domain import DOMAIN, MarketDomain
from agentbeat_receipts.domains.market.materials import (
    BundleStress,
    Catalogue,
    Chooser,
    Endpoint,
    Enforcer,
    FixedMenu,
    Horizon,
    MenuOffer,
    Normaliser,
    Parser,
    ProfitMaximum,
    Prompt,
    Schema,
    Scorer,
    SeededWriter,
)
from agentbeat_receipts.domains.market.profiles import Bonus, Profile
from agentbeat_receipts.domains.market.runs import NO_RETRY, Run, simulate
from agentbeat_receipts.domains.market.sellers import Enquiry, NoAnswer, Seller
from agentbeat_receipts.domains.market.settings import Setting

__all__ = [
    "DOMAIN",
    "NO_RETRY",
    "ArmPlan",
    "Bonus",
    "BundleStress",
    "Catalogue",
    "Chooser",
    "Endpoint",
    "Enforcer",
    "Enquiry",
    "FixedMenu",
    "Horizon",
    "MarketBatch",
    "MarketDomain",
    "MarketRun",
    "MenuOffer",
    "NoAnswer",
    "Normaliser",
    "Parser",
    "Profile",
    "ProfitMaximum",
    "Prompt",
    "Run",
    "Schema",
    "Scorer",
    "SeededWriter",
    "Seller",
    "Setting",
    "market_manifest",
    "market_report",
    "market_run",
    "market_runs",
    "simulate",
    "write_market",
]
