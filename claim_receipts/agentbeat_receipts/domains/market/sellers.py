"""What a seller is: something that answers an enquiry with bytes, or does not answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from agentbeat_receipts.domains.market.settings import Setting

__all__ = ["Enquiry", "NoAnswer", "Seller"]


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
