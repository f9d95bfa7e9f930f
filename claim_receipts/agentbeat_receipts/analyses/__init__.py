"""The analyses of contracts: C1, the direction of a response, and C3, the stability of a contrast."""

from agentbeat_receipts.analyses.directions import judge_direction
from agentbeat_receipts.analyses.stabilities import judge_stability

__all__ = ["judge_direction", "judge_stability"]
