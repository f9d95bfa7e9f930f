"""Verification, layer by layer. Here: bytes (L1) and coverage (L3)."""

from agentbeat_receipts.verification.reasons import RULES, Reason, Rule, Scope, Verdict
from agentbeat_receipts.verification.results import (
    CAVEAT,
    REPLACEMENT_CAVEAT,
    ChainReport,
    Finding,
    Level,
    ProvenAnchor,
)
from agentbeat_receipts.verification.verifier import verify_chain

__all__ = [
    "CAVEAT",
    "REPLACEMENT_CAVEAT",
    "RULES",
    "ChainReport",
    "Finding",
    "Level",
    "ProvenAnchor",
    "Reason",
    "Rule",
    "Scope",
    "Verdict",
    "verify_chain",
]
