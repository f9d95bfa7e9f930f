"""The positive controls: an honest run at each tier. Without them a refusal shows nothing."""

from __future__ import annotations

from typing import Final

from agentbeat_conformance.core_side.expectations import complete
from agentbeat_conformance.core_side.scenarios import Scenario
from agentbeat_protocol.evaluation import TIER_CHANNELS

__all__ = ["SCENARIOS"]

SCENARIOS: Final = tuple(
    Scenario(
        id=f"core.control.{tier.lower()}",
        rule="Projection",
        tier=tier,
        served=f"an honest Target{' and State Controller' if tier == 'L3' else ''}, asked for {tier}",
        expects=complete(tier),
        control=True,
    )
    for tier in TIER_CHANNELS
)
