"""Claims: what each needs, what a domain replays, what is summed, and what is said of it (L2)."""

from agentbeat_receipts.claims.cases import Absent, Case, ClaimValue, Contradiction, Stored, Unreplayed
from agentbeat_receipts.claims.domains import Domain, Replay
from agentbeat_receipts.claims.faults import FAULT_RULES, Fault, FaultRule
from agentbeat_receipts.claims.groups import CASE_GROUPS, EXPERIMENT_CLAIMS, EXPERIMENT_NEEDS, GROUPS, Group
from agentbeat_receipts.claims.results import (
    Analysis,
    Blocker,
    ClaimFinding,
    ClaimReport,
    ClaimVerdict,
    Licence,
    Licences,
)
from agentbeat_receipts.claims.tallies import Cell, ClaimTally, Tally

__all__ = [
    "CASE_GROUPS",
    "EXPERIMENT_CLAIMS",
    "EXPERIMENT_NEEDS",
    "FAULT_RULES",
    "GROUPS",
    "Absent",
    "Analysis",
    "Blocker",
    "Case",
    "Cell",
    "ClaimFinding",
    "ClaimReport",
    "ClaimTally",
    "ClaimValue",
    "ClaimVerdict",
    "Contradiction",
    "Domain",
    "Fault",
    "FaultRule",
    "Group",
    "Licence",
    "Licences",
    "Replay",
    "Stored",
    "Tally",
    "Unreplayed",
]
