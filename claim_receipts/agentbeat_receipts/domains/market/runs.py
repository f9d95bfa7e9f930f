"""One run of the market: a seller answers, guards look, a parser reads, a buyer chooses, all of it on record.

    run = simulate(setting, profile, flags={"info"}, retry=policy, seed=b"corpus-1/p-1.info")
    opening = run.opening(manifest=digest, assignment="p-1.info", ticket=None, nonce=nonce)
    facts = run.facts(disclosed=manifest.disclosed)

The same arguments make the same run, byte for byte, unless the seller is an endpoint.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_receipts.batches import Facts
from agentbeat_receipts.claims.cases import ClaimValue
from agentbeat_receipts.domains.market.choosers import Deal
from agentbeat_receipts.domains.market.dealing_rooms import DealingRoom
from agentbeat_receipts.domains.market.evidence import known_valuation
from agentbeat_receipts.domains.market.materials import (
    BundleStress,
    FixedMenu,
    Model,
    ProfitMaximum,
    SeededWriter,
)
from agentbeat_receipts.domains.market.profiles import Profile
from agentbeat_receipts.domains.market.replays import ECONOMIC
from agentbeat_receipts.domains.market.scoring import (
    buyer_surplus,
    first_best_value,
    match_quality_value,
    seller_profit,
    stated,
    welfare,
)
from agentbeat_receipts.domains.market.sellers import PolicySeller, Seller
from agentbeat_receipts.domains.market.settings import Setting
from agentbeat_receipts.domains.market.streams import derived_seed
from agentbeat_receipts.domains.market.valuations import Valuation, first_best
from agentbeat_receipts.domains.market.writers import WriterSeller
from agentbeat_receipts.objects import INITIAL, Attempt, ComponentName, Opening, RetryPolicy

__all__ = ["NO_RETRY", "Run", "simulate"]

#: One attempt and no more.
NO_RETRY: Final = RetryPolicy(max_attempts=1, retry_on=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything of one run, before it is committed to.

    Args:
        profile: the buyer, as exact JSON.
        materials: what the run is replayed with, as exact JSON by name.
        components: the digest of each of the nine components.
        attempts: what happened, the terminal attempt last.
        values: all eight transaction claims.
    """

    profile: Any
    materials: Mapping[str, Any]
    components: Mapping[ComponentName, str]
    attempts: tuple[Attempt, ...]
    values: Mapping[str, ClaimValue]

    @property
    def status(self) -> str:
        """How the run ended: `accepted`, `rejected` or `failed`."""
        return self.attempts[-1].status

    def opening(self, *, manifest: str, assignment: str, ticket: str | None, nonce: bytes) -> Opening:
        """The private opening of this run; the economic values are reported in it."""
        return Opening(
            manifest=manifest,
            assignment=assignment,
            ticket=ticket,
            nonce=base64.b64encode(nonce).decode(),
            domain="market",
            profile=self.profile,
            materials=dict(self.materials),
            attempts=self.attempts,
            reported={name: self.values[name] for name in ECONOMIC},
        )

    def facts(self, disclosed: Iterable[str]) -> Facts:
        """What the receipt discloses: of the values those that are named.

        Raises:
            KeyError: a value that the market does not have.
        """
        values = {name: self.values[name] for name in disclosed}
        return Facts(components=dict(self.components), values=values)


def simulate(
    setting: Setting,
    profile: Profile,
    *,
    flags: Set[str],
    retry: RetryPolicy,
    seed: bytes,
    seller: Seller | None = None,
) -> Run:
    """Run one assignment to its terminal attempt.

    Args:
        setting: what the arm runs with.
        profile: the buyer.
        flags: the treatments that are on: `info`, `conduct`.
        retry: how many attempts there are, and after which failures: `timeout`, `empty`, `refusal`,
            `unparseable`, and whatever else a seller gives as its reason.
        seed: of this run; two runs with one seed and equal settings are the same run.
        seller: who answers; without one the seller that `setting.model` describes.

    Raises:
        ValueError: the model is an endpoint, whose address is no part of it, and no seller was given.
    """
    content = profile.model_dump(mode="json")
    valuation = known_valuation(content)
    room = DealingRoom(setting, valuation, frozenset(flags), seller or _seller_of(setting.model))
    attempts: list[Attempt] = []
    cause, deal = INITIAL, None
    for number in range(1, retry.max_attempts + 1):
        attempt, deal = room.attempt(number, cause, derived_seed(seed, f"attempt {number}"))
        attempts.append(attempt)
        if attempt.failure is None or attempt.failure not in retry.retry_on:
            break
        cause = attempt.failure
    return Run(
        profile=content,
        materials=setting.opened,
        components=setting.components,
        attempts=tuple(attempts),
        values={**_values(setting, valuation, deal), "information_fidelity": 1, "conduct_fidelity": 1},
    )


def _values(setting: Setting, valuation: Valuation, deal: Deal | None) -> dict[str, ClaimValue]:
    """The economic values of what was bought, or of nothing."""
    scale, costs = setting.scorer.scale, setting.catalogue.costs
    outside = valuation.profile.outside
    cost = 0 if deal is None else sum(costs[name] for name in deal.components)
    reached = welfare(deal, cost, outside)
    worth = 0 if deal is None else deal.worth
    return {
        "completion": int(deal is not None),
        "buyer_surplus": stated(scale * buyer_surplus(deal, outside)),
        "seller_profit": stated(scale * seller_profit(deal, cost)),
        "welfare": stated(scale * reached),
        "first_best": first_best_value(scale * reached, scale * first_best(valuation, costs)),
        "match_quality": match_quality_value(scale * worth, scale * valuation.best),
    }


def _seller_of(model: Model) -> Seller:
    match model:
        case FixedMenu() | ProfitMaximum() | BundleStress():
            return PolicySeller(model)
        case SeededWriter():
            return WriterSeller(model)
    raise ValueError(f"a seller for the endpoint's model {model.model[:40]}, expected one")
