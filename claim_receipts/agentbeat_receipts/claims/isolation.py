"""C2, isolation: what ran under each arm is what was promised, and arms differ only where they may.

Per comparison group: the receipts of each arm name the arm's components, and the arms promise the same
components outside `may_differ`. A scorer that is off everywhere is not C2's: where every receipt of the batch
names one scorer and no arm promises it, the arms still compare like with like, and C4 says what is wrong.

It takes two arms to compare: where no group has two, C2 is I_C. What its arms ran with is held against their
promise all the same.

A contract compares arms too: where no comparison group holds all of a contract's arms, nothing was promised
of what they share, and C2 is I_C.

It rests on assignments and digests only (A, Q), so it survives missing terminals and withheld openings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.claims.results import ClaimFinding
from agentbeat_receipts.claims.tallies import Tally
from agentbeat_receipts.objects import COMPONENTS, Arm, ComparisonGroup, ComponentName, Manifest
from agentbeat_receipts.objects.manifests import contract_arms

__all__ = ["compared_arms", "compares_arms", "isolation_findings", "off_everywhere"]


def compared_arms(manifest: Manifest) -> frozenset[str]:
    """The arms that some comparison group names."""
    return frozenset(arm for group in manifest.comparison_groups for arm in group.arms)


def compares_arms(manifest: Manifest) -> bool:
    """Whether some comparison group has arms to compare with each other."""
    return any(len(group.arms) > 1 for group in manifest.comparison_groups)


def isolation_findings(
    manifest: Manifest | None, tally: Tally, *, removed: frozenset[Group] = frozenset()
) -> Iterator[ClaimFinding]:
    """Everything that speaks against C2.

    Args:
        manifest: None at CR-1.
        removed: groups that are to be absent.
    """
    absent = [group for group in (Group.A, Group.Q) if manifest is None or group in removed]
    if manifest is None or absent:
        yield from (ClaimFinding(Fault.EVIDENCE_ABSENT, "", f"{group}, {group.label}") for group in absent)
        return
    compared = compared_arms(manifest)
    if not compared:
        yield ClaimFinding(Fault.CONTRACT_ABSENT, "", "no comparison group")
        return
    if not compares_arms(manifest):
        yield ClaimFinding(Fault.CONTRACT_ABSENT, "", "no comparison group of two arms")
    yield from _ungrouped(manifest)
    arms = {arm.arm: arm for arm in manifest.arms}
    ignored: frozenset[ComponentName] = (
        frozenset({"scorer"}) if off_everywhere("scorer", manifest, tally.components) else frozenset()
    )
    for name in sorted(compared):
        yield from _ran(arms[name], tally.components.get(name, Counter()), ignored)
    for group in manifest.comparison_groups:
        if group.arms:
            yield from _agree(group, arms)


def _ungrouped(manifest: Manifest) -> Iterator[ClaimFinding]:
    """Contracts whose arms no comparison group holds together."""
    groups = [frozenset(group.arms) for group in manifest.comparison_groups]
    for contract in manifest.contracts:
        if not any(group.issuperset(contract_arms(contract)) for group in groups):
            yield ClaimFinding(Fault.CONTRACT_ABSENT, contract.contract, "no comparison group with its arms")


def off_everywhere(
    component: ComponentName, manifest: Manifest, ran: Mapping[str, Counter[tuple[str | None, ...]]]
) -> bool:
    """Whether every receipt names one and the same digest, and none of their arms promises it."""
    place = COMPONENTS.index(component)
    named = {digests[place] for counted in ran.values() for digests in counted}
    promised = {arm.components[component] for arm in manifest.arms if arm.arm in ran}
    return len(named) == 1 and None not in named and named.isdisjoint(promised)


def _ran(
    arm: Arm, counted: Mapping[tuple[str | None, ...], int], ignored: frozenset[ComponentName]
) -> Iterator[ClaimFinding]:
    """The receipts of one arm against its promise."""
    total = sum(counted.values())
    if not total:
        yield ClaimFinding(Fault.ARM_EMPTY, arm.arm, "no receipt")
    for place, component in enumerate(COMPONENTS):
        if component in ignored:
            continue
        named: Counter[str | None] = Counter()
        for digests, count in counted.items():
            named[digests[place]] += count
        missing = named.pop(None, 0)
        other = total - missing - named.pop(arm.components[component], 0)
        if missing:
            yield ClaimFinding(
                Fault.COMPONENT_MISSING, arm.arm, f"{component}: {missing} of {total} receipts"
            )
        if other:
            yield ClaimFinding(Fault.COMPONENT_DIFFERS, arm.arm, f"{component}: {other} of {total} receipts")


def _agree(group: ComparisonGroup, arms: Mapping[str, Arm]) -> Iterator[ClaimFinding]:
    """The promises of a group's arms against each other; of each component the first two arms that differ."""
    for component in COMPONENTS:
        if component in group.may_differ:
            continue
        # Where any two differ, one differs from the first; so a look at each arm is enough.
        first = group.arms[0]
        for other in group.arms[1:]:
            if arms[first].components[component] != arms[other].components[component]:
                yield ClaimFinding(Fault.ARMS_DIFFER, group.group, f"{component}: {first} and {other}")
                break
