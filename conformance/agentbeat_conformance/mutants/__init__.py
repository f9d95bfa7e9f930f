"""Small servers, each with one rule broken, and legal but odd ones: the suite is measured with them.

`load()` imports every module of this package, so that a new module of mutants needs no list to be put on.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from agentbeat_conformance.mutants.registry import MUTANTS, Mutant

__all__ = ["MUTANTS", "load"]


def load() -> Mapping[str, Mutant]:
    """Every mutant, by its name."""
    for module in sorted(found.name for found in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return MUTANTS
