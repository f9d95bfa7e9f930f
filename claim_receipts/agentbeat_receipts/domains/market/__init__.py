"""The market: buyers with private values, sellers who offer bundles of hotel components, exact surpluses."""

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
from agentbeat_receipts.domains.market.runs import Run, simulate
from agentbeat_receipts.domains.market.sellers import Enquiry, NoAnswer, Seller
from agentbeat_receipts.domains.market.settings import Setting

__all__ = [
    "DOMAIN",
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
