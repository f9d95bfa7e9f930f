"""What will be checked, decided before the first request.

Every requirement of the plan ends in exactly one outcome. What `--only` or `--skip` left out is part of the
plan too: without it nobody could tell a whole run from a part of one.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from agentbeat_conformance.outcomes import Outcome, Result
from agentbeat_conformance.requirements import (
    SUITE_VERSION,
    Capability,
    Level,
    Requirement,
    Tier,
    catalogue_digest,
)
from agentbeat_protocol import cut

__all__ = ["BY_COMMAND", "Plan", "PlanError", "make_plan", "obstacle", "of_tier"]

#: What takes a command of the user's.
BY_COMMAND: Final = frozenset({Capability.RESTART, Capability.WRITE})

#: The tiers whose requirements are asked of an endpoint of this tier.
_ASKED: Final[Mapping[Tier, frozenset[Tier]]] = {
    "target-L1": frozenset({"target-L1"}),
    "target-L2": frozenset({"target-L1", "target-L2"}),
    "controller": frozenset({"controller"}),
}

#: What the suite itself lacks without an option: then it cannot tell, and the verdict is incomplete. All
#: other capabilities are the endpoint's, and one that it does not declare is out of the count.
_OWN_MEANS: Final[Mapping[Capability, str]] = {
    Capability.WRITE: "it needs a command that writes to the environment (--write-command)",
}

_WANTED: Final[Mapping[Capability, str]] = {
    Capability.AUTH: "no secret was given (--token-env)",
    Capability.SOCKET: "it is about bytes that only a real connection carries",
    Capability.TASK: "no task was given that makes the Agent use tools (--task)",
    Capability.RESTART: "no command was given that restarts the server (--restart-command)",
    Capability.VERIFY_KEY: "no public key was given (--verify-key)",
    Capability.STATIC: "no profile in use offers the binding mode deployment_static",
    Capability.CATALOG: "no profile in use offers the binding mode catalog",
    Capability.INJECTION: "no profile in use has a surface for an injection",
    Capability.EXPIRY: "leases do not end within seconds",
    Capability.UNDECIDED: "every profile decides every dimension",
}


class PlanError(ValueError):
    """The options contradict each other or name something that there is not: a wrong command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be checked.

    Attributes:
        tier: what the endpoint is said to be.
        catalogue: the version of the catalogue.
        catalogue_digest: its digest.
        requirements: what will be checked, in this order.
        left_out: what belongs to the tier and will not be.
        capabilities: what is known of the endpoint and the suite's means; a probe may find out more.
        tasks: how many tasks were given.
        budget: the bound on invocations; None for none.
        safe: whether nothing is sent that a conformant Target would run.
    """

    tier: Tier
    catalogue: str
    catalogue_digest: str
    requirements: tuple[Requirement, ...]
    left_out: tuple[Requirement, ...] = ()
    capabilities: frozenset[Capability] = frozenset()
    tasks: int = 0
    budget: int | None = None
    safe: bool = False

    @property
    def invocations(self) -> int:
        """How many times a conformant Target runs its Agent, at most.

        That is once for the shared control, once for each task, and what the checks need beside these.
        """
        applicable = [made for made in self.requirements if obstacle(made, self.capabilities) is None]
        if self.safe or self.tier == "controller" or not applicable:
            return 0
        shared = 1 + (self.tasks if self.tier == "target-L2" else 0)
        needed = shared + sum(made.invocations for made in applicable)
        return needed if self.budget is None else min(needed, self.budget)

    @property
    def is_whole(self) -> bool:
        """Whether a run of it may show conformance: no MUST is left out, and controls are made."""
        return not self.safe and all(made.level is not Level.MUST for made in self.left_out)


def make_plan(
    tier: Tier,
    *,
    catalogue: Mapping[str, Requirement],
    version: str = SUITE_VERSION,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    capabilities: Collection[Capability] = (),
    tasks: int = 0,
    budget: int | None = None,
    safe: bool = False,
) -> Plan:
    """Choose the requirements.

    Args:
        catalogue: the requirements of the version, in the order of checking.
        only, skip: ids such as `INV-3.b`, rules such as `INV-3` with all parts, families such as `INV`.
        tasks: how many tasks the Target gets.

    Raises:
        PlanError: a name that stands for nothing in this tier, nothing left to check, L2 without a task, or a
            budget below 0.
    """
    if budget is not None and budget < 0:
        raise PlanError(f"got a budget of {budget}, expected 0 or more invocations")
    if tier == "target-L2" and not tasks:
        raise PlanError("target-L2 needs a task that makes the Agent use tools (--task)")
    asked = of_tier(catalogue, tier)
    chosen, skipped = _named(only, asked), _named(skip, asked)
    kept = [made for made in asked if (not chosen or made.id in chosen) and made.id not in skipped]
    if not kept:
        raise PlanError("nothing is left to check")
    return Plan(
        tier=tier,
        catalogue=version,
        catalogue_digest=catalogue_digest(catalogue),
        requirements=tuple(kept),
        left_out=tuple(made for made in asked if made not in kept),
        capabilities=frozenset(capabilities),
        tasks=tasks,
        budget=0 if safe else budget,
        safe=safe,
    )


def of_tier(catalogue: Mapping[str, Requirement], tier: Tier) -> list[Requirement]:
    """What is asked of an endpoint of this tier."""
    return [made for made in catalogue.values() if made.tier in _ASKED[tier]]


def obstacle(made: Requirement, capabilities: Collection[Capability]) -> Result | None:
    """The end of a check that is not even tried, for what is missing; None if nothing is."""
    missing = sorted(made.needs - frozenset(capabilities))
    if not missing:
        return None
    declared = [capability for capability in missing if capability not in _OWN_MEANS]
    if declared:
        reason = "; ".join(_WANTED[capability] for capability in declared)
        return Result(requirement=made, outcome=Outcome.NOT_APPLICABLE, reason=reason)
    reason = "; ".join(_OWN_MEANS[capability] for capability in missing)
    return Result(requirement=made, outcome=Outcome.COULD_NOT_RUN, reason=reason)


def _named(names: Iterable[str], asked: Iterable[Requirement]) -> frozenset[str]:
    """The ids that the names stand for."""
    by_name: dict[str, set[str]] = {}
    for made in asked:
        for name in (made.id, made.rule, made.rule.partition("-")[0]):
            by_name.setdefault(name, set()).add(made.id)
    found: set[str] = set()
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name[:64], by_name, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise PlanError(f"this tier has no requirement {cut(name)}{hint}")
        found |= by_name[name]
    return frozenset(found)
