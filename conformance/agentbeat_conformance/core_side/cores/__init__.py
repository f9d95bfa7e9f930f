"""A small Core of our own and its mutants, by which the suite is itself measured.

python -m agentbeat_conformance.core_side.cores small              a Core, as a command
python -m agentbeat_conformance.core_side.cores follows-redirects  one with a flaw
"""

from __future__ import annotations

from agentbeat_conformance.core_side.cores import (
    mutants_documents,
    mutants_scores,
    mutants_states,
    mutants_wires,
)
from agentbeat_conformance.core_side.cores.registry import MUTANTS, CoreMutant
from agentbeat_conformance.core_side.cores.small import SmallCore

__all__ = ["MUTANTS", "CoreMutant", "SmallCore"]

# Importing them registers them.
_ = (mutants_documents, mutants_scores, mutants_states, mutants_wires)
