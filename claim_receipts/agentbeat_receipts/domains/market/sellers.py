"""What a seller is: something that answers an enquiry with bytes, or does not answer.

Deterministic sellers are here (`policies`); a seeded writer is in `writers`, an endpoint in `endpoints`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from agentbeat_receipts.domains.market.briefs import Brief
from agentbeat_receipts.domains.market.materials import BundleStress, FixedMenu, ProfitMaximum
from agentbeat_receipts.domains.market.policies import policy_answer
from agentbeat_receipts.domains.market.settings import Setting

__all__ = ["Enquiry", "NoAnswer", "PolicySeller", "Seller"]


class NoAnswer(Exception):  # noqa: N818 - what happened
    """The seller did not answer.

    Args:
        reason: an id, such as `timeout`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Enquiry:
    """What a seller is asked with.

    Args:
        setting: what the arm runs with.
        brief: what of the buyer's brief the seller sees, as exact JSON.
        seed: of this attempt.
    """

    setting: Setting
    brief: Any
    seed: bytes


class Seller(Protocol):
    """Whoever makes the offers."""

    def answer(self, enquiry: Enquiry) -> bytes:
        """The raw output.

        Raises:
            NoAnswer: there is none.
        """
        ...


class PolicySeller:
    """A deterministic seller.

    Args:
        model: its policy.
    """

    def __init__(self, model: FixedMenu | ProfitMaximum | BundleStress) -> None:
        self._model = model

    def answer(self, enquiry: Enquiry) -> bytes:
        """What the policy answers; the seed plays no part."""
        setting, brief = enquiry.setting, Brief.model_validate(enquiry.brief)
        return policy_answer(self._model, setting.catalogue, setting.schema, setting.normaliser, brief)
