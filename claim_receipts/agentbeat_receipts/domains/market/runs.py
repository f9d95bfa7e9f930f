"""One run of the market: a seller answers, guards look, a parser reads, a buyer chooses, all of it on record.

    run = simulate(setting, profile, flags={"info"}, retry=policy, seed=b"corpus-1/p-1.info")
    opening = run.opening(manifest=digest, assignment="p-1.info", ticket=None, nonce=nonce)
    facts = run.facts(disclosed=manifest.disclosed)

The same arguments make the same run, byte for byte, unless the seller is an endpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from agentbeat_receipts.batches import Facts
from agentbeat_receipts.claims.cases import ClaimValue
from agentbeat_receipts.domains.market.profiles import Profile
from agentbeat_receipts.domains.market.sellers import Seller
from agentbeat_receipts.domains.market.settings import Setting
from agentbeat_receipts.objects import Attempt, ComponentName, Opening, RetryPolicy

__all__ = ["Run", "simulate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything of one run, before it is committed to.

    Args:
        profile: the buyer, as exact JSON.
        materials: what the run was made with, as exact JSON by name.
        components: the digest of each of the nine components.
        attempts: what happened, the terminal attempt last.
        values: all eight transaction claims.
        evidence: how many attempts, events, offers and decisions there are.
    """

    profile: Any
    materials: Mapping[str, Any]
    components: Mapping[ComponentName, str]
    attempts: tuple[Attempt, ...]
    values: Mapping[str, ClaimValue]
    evidence: Mapping[str, int]

    @property
    def status(self) -> str:
        """How the run ended: `accepted`, `rejected` or `failed`."""
        return self.attempts[-1].status

    def opening(self, *, manifest: str, assignment: str, ticket: str | None, nonce: bytes) -> Opening:
        """The private opening of this run; the economic values are reported in it."""
        raise NotImplementedError

    def facts(self, disclosed: Iterable[str]) -> Facts:
        """What the receipt discloses: of the values those that are named."""
        raise NotImplementedError


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
            `unparseable`.
        seed: of this run; two runs with one seed and equal settings are the same run.
        seller: who answers; without one the seller that `setting.model` describes.
    """
    raise NotImplementedError
