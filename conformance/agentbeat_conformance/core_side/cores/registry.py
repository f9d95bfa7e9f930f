"""The register of Cores with one flaw each, and of the scenarios that must catch them.

    @core_mutant("reads-without-end", flaw="reads evidence without a limit", caught_by=["delivery.too-large"])
    class ReadsWithoutEnd(SmallCore):
        def evidence_limit(self) -> int: ...

A mutant is the small Core with one method replaced. One that a scenario of `caught_by` lets pass shows a hole
in the suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from agentbeat_conformance.core_side.cores.small import SmallCore

__all__ = ["MUTANTS", "CoreMutant", "core_mutant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreMutant:
    """A Core with one flaw.

    Attributes:
        flaw: what it does wrong, in a few words.
        caught_by: the ids of the scenarios that must not pass.
        make: a new one.
    """

    name: str
    flaw: str
    caught_by: tuple[str, ...]
    make: Callable[[], SmallCore]


CoreT = TypeVar("CoreT", bound=type[SmallCore])

#: Every mutant by its name.
MUTANTS: Final[dict[str, CoreMutant]] = {}


def core_mutant(name: str, *, flaw: str, caught_by: Iterable[str]) -> Callable[[CoreT], CoreT]:
    """Register the decorated class; `caught_by` leaves the `core.` of the ids out.

    Raises:
        ValueError: the name is taken, or a part is missing.
    """
    scenarios = tuple(f"core.{each}" for each in caught_by)
    if name in MUTANTS or not flaw or not scenarios:
        raise ValueError(f"mutant {name}: expected a name that is not taken, a flaw, and who catches it")

    def register(core: CoreT) -> CoreT:
        MUTANTS[name] = CoreMutant(name=name, flaw=flaw, caught_by=scenarios, make=core)
        return core

    return register
