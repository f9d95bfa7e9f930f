"""Evaluation runs: whether a published rate, such as that of attacks that succeed, can be recomputed.

`DOMAIN` replays; `domain` says what each claim is. The writer's side is in `records` and `batches`.
"""

from agentbeat_receipts.domains.agent_eval.domain import DOMAIN, AgentEval

__all__ = ["DOMAIN", "AgentEval"]
