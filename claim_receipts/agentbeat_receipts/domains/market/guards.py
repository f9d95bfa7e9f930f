"""The two guards: what they do where their flag is on.

Information guard, stage `brief`: the seller sees the brief without the private fields. Stage `note`: the
buyer sees the seller's note without sentences that have a private word.
Conduct guard, stage `offers`: a surcharge is cut to its cap, and pressure is removed.

Each returns what is let through and how many things it changed; the decision is `applied` where it changed
something, else `nothing_to_do`.

>>> guard = Enforcer()
>>> hide_fields({"outside": 500, "wants": ["room"]}, guard)
({'wants': ['room']}, 1)
>>> hide_sentences("Welcome. It costs us 80.", guard)
('Welcome. [withheld]', 1)
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from agentbeat_receipts.domains.market.materials import Enforcer
from agentbeat_receipts.domains.market.money import folded_text

__all__ = ["CONDUCT", "INFO", "STAGES", "hide_fields", "hide_sentences", "temper"]

#: The treatment flags.
INFO: Final = "info"
CONDUCT: Final = "conduct"

#: Where each guard decides.
STAGES: Final = {INFO: ("brief", "note"), CONDUCT: ("offers",)}

_SENTENCES: Final = re.compile(r"(?<=[.!?]) ")


def hide_fields(brief: dict[str, Any], enforcer: Enforcer) -> tuple[dict[str, Any], int]:
    """The brief that the seller sees."""
    seen = {name: value for name, value in brief.items() if name not in enforcer.private_fields}
    return seen, len(brief) - len(seen)


def hide_sentences(note: str, enforcer: Enforcer) -> tuple[str, int]:
    """The note that the buyer sees."""
    private = _private(enforcer.private_words)
    sentences = _SENTENCES.split(note)
    shown = ["[withheld]" if private.search(folded_text(said)) else said for said in sentences]
    return " ".join(shown), sum(said != before for said, before in zip(shown, sentences, strict=True))


def temper(parsed: dict[str, Any], enforcer: Enforcer) -> tuple[dict[str, Any], int]:
    """The offers that the buyer sees, as exact JSON."""
    offers = [
        {**offer, "surcharge": min(offer["surcharge"], enforcer.surcharge_cap)} for offer in parsed["offers"]
    ]
    pressure = parsed["pressure"] if enforcer.keep_pressure else []
    cut = sum(offer != before for offer, before in zip(offers, parsed["offers"], strict=True))
    return {"offers": offers, "pressure": pressure}, cut + (pressure != parsed["pressure"])


@lru_cache(maxsize=64)
def _private(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b" if words else r"(?!)")
