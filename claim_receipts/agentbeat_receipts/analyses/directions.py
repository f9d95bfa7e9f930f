"""C1: the signature that the engine codes against; the analysis follows."""

from __future__ import annotations

from collections.abc import Mapping

from agentbeat_receipts.claims.results import Analysis, ClaimFinding
from agentbeat_receipts.claims.tallies import Cell
from agentbeat_receipts.objects import DirectionContract, Manifest, ReportedAnalysis

__all__ = ["judge_direction"]


def judge_direction(
    contract: DirectionContract,
    manifest: Manifest,
    cells: Mapping[tuple[str, str], Cell],
    reported: ReportedAnalysis | None,
) -> tuple[tuple[ClaimFinding, ...], Analysis]:
    """What speaks against one contract of C1, and its exact numbers. No finding means Pass."""
    raise NotImplementedError
