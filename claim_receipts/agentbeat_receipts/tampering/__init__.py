"""Tampering: the catalogue of faults and benign changes, made from an honest market and verified.

`run_catalogue()` makes and verifies them all; `FAULTS` and `BENIGN` are what it runs. Each fault says its
layer, its time relative to the commitment, who could do it, the rule, and the verdicts and reasons to expect.
"""

from agentbeat_receipts.tampering.benign import BENIGN
from agentbeat_receipts.tampering.cases import CLAIMS, BenignCase, Expected, FaultCase, Party, Timing
from agentbeat_receipts.tampering.catalogue import (
    FAULTS,
    CatalogueResults,
    Trial,
    combined_trials,
    run_catalogue,
    trial,
)

__all__ = [
    "BENIGN",
    "CLAIMS",
    "FAULTS",
    "BenignCase",
    "CatalogueResults",
    "Expected",
    "FaultCase",
    "Party",
    "Timing",
    "Trial",
    "combined_trials",
    "run_catalogue",
    "trial",
]
