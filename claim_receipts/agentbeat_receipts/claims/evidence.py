"""The evidence of one verified execution, cut into the 13 groups of fields.

To show that a claim needs a group, two executions are put side by side that differ in the claim, agree on all
other groups, and differ in this one. So each part holds what its group says and nothing that follows from
another: no status, no chooser's output, no reported or disclosed value, no commitment, signature or digest
of content that stands in full elsewhere. Where a component's digest is that of a material, its part in Q says
only which digests are the same, and whether they are the material's.

    I  mode, retry policy, which terminals arrived in which order, what of coverage is broken
    A  profiles, arms with their treatment flags, assignments
    P  the private profile of each run
    T  numbers, causes and events of its attempts        O  their offers     D  the inputs of their choices
    G  their treatments
    Q  components promised and run, comparison groups, money exponent
    J  the direction contracts but for their replication part
    R  replicates, the stability contracts, and the replication part of the others
    B  the disclosed values' names, and the report
    and each material in the group of its domain
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from agentbeat_receipts.claims.domains import Domain
from agentbeat_receipts.claims.groups import GROUPS, Group
from agentbeat_receipts.objects import (
    COMPONENTS,
    DirectionContract,
    Manifest,
    Opening,
    material_digest,
)
from agentbeat_receipts.verification.reasons import Scope
from agentbeat_receipts.verification.results import ChainReport

__all__ = ["evidence_parts"]

#: How a contract's numbers are made, whatever it asserts.
_REPLICATION: Final = frozenset(
    {"contract", "nesting", "pairing", "estimator", "seed", "draws", "input_order", "interval"}
)

_OPENED: Final[Mapping[Group, Callable[[Opening], Any]]] = {
    Group.P: lambda opening: opening.profile,
    Group.T: lambda opening: [
        {"number": a.number, "cause": a.cause, "events": [e.model_dump(mode="json") for e in a.events]}
        for a in opening.attempts
    ],
    Group.O: lambda opening: [[o.model_dump(mode="json") for o in a.offers] for a in opening.attempts],
    Group.D: lambda opening: [None if a.choice is None else a.choice.input for a in opening.attempts],
    Group.G: lambda opening: [[t.model_dump(mode="json") for t in a.treatments] for a in opening.attempts],
}


def evidence_parts(chain: ChainReport, domain: Domain) -> dict[Group, Any]:
    """Each group's content as exact JSON.

    Args:
        chain: a verified batch with its manifest.
        domain: says in which group each material is.

    Raises:
        ValueError: there is no manifest.
    """
    manifest = chain.manifest
    if manifest is None:
        raise ValueError("no manifest, expected a batch with one")
    parts: dict[Group, Any] = {group: {} for group in GROUPS}
    for assignment, opening in sorted(chain.opened.items()):
        for group, content in _OPENED.items():
            parts[group].setdefault("runs", {})[assignment] = content(opening)
        for name, group in domain.materials.items():
            if name in opening.materials:
                materials = parts[group].setdefault("materials", {})
                materials.setdefault(name, {})[assignment] = opening.materials[name]
    for group, members in (
        (Group.I, _ingress(chain, manifest)),
        (Group.A, _assignment(manifest)),
        (Group.Q, _protocol(chain, manifest, domain)),
        (Group.J, {"contracts": _objectives(manifest)}),
        (Group.R, _replication(manifest)),
        (Group.B, _report(chain, manifest)),
    ):
        parts[group].update(members)
    return parts


def _ingress(chain: ChainReport, manifest: Manifest) -> dict[str, Any]:
    order = sorted(chain.terminals.values(), key=lambda receipt: (receipt.sequence, receipt.assignment))
    broken = {str(found.reason) for found in chain.findings if found.rule.scope is Scope.COVERAGE}
    return {
        "mode": manifest.mode,
        "retry": manifest.retry.model_dump(mode="json"),
        "terminals": [receipt.assignment for receipt in order],
        "broken": sorted(broken),
    }


def _assignment(manifest: Manifest) -> dict[str, Any]:
    return {
        "profiles": list(manifest.profiles),
        "arms": [{"arm": arm.arm, "treatments": list(arm.treatments)} for arm in manifest.arms],
        "assignments": [entry.model_dump(mode="json") for entry in manifest.assignments],
        "treatment_flags": list(manifest.treatment_flags),
    }


def _protocol(chain: ChainReport, manifest: Manifest, domain: Domain) -> dict[str, Any]:
    labels = _Labels(frozenset(domain.materials))
    promised = {
        arm.arm: {name: labels.of(name, arm.components[name]) for name in COMPONENTS} for arm in manifest.arms
    }
    # A digest that was not recorded is left out, and so is a run without any: whether a receipt arrived that
    # says nothing here is a matter of I alone.
    named = {
        assignment: {
            name: labels.of(name, digest)
            for name in COMPONENTS
            if (digest := receipt.components[name]) is not None
        }
        for assignment, receipt in sorted(chain.terminals.items())
    }
    ran = {assignment: digests for assignment, digests in named.items() if digests}
    return {
        "promised": promised,
        "ran": ran,
        "bound": _bound(chain, manifest, domain),
        "comparison_groups": [group.model_dump(mode="json") for group in manifest.comparison_groups],
        "money_exponent": manifest.money_exponent,
    }


def _bound(chain: ChainReport, manifest: Manifest, domain: Domain) -> dict[str, dict[str, bool]]:
    """Of each run, whether its materials have the digests that the receipt and the manifest name."""
    bound: dict[str, dict[str, bool]] = {}
    for assignment, opening in sorted(chain.opened.items()):
        named = {str(name): ran for name, ran in chain.terminals[assignment].components.items()}
        found = bound[assignment] = {}
        for name, content in sorted(opening.materials.items()):
            if name in domain.materials:
                digests = (named.get(name), manifest.materials.get(name))
                made = material_digest(name, content)
                found[name] = all(digest in (None, made) for digest in digests)
    return bound


class _Labels:
    """Stand for digests of materials: the same label for the same digest, in order of appearance."""

    def __init__(self, materials: frozenset[str]) -> None:
        self._materials = materials
        self._seen: dict[str, dict[str, str]] = {}

    def of(self, component: str, digest: str) -> str:
        """The digest itself, or its label where its content stands in a material."""
        if component not in self._materials:
            return digest
        seen = self._seen.setdefault(component, {})
        return seen.setdefault(digest, f"{component} {len(seen) + 1}")


def _objectives(manifest: Manifest) -> list[dict[str, Any]]:
    keep = _REPLICATION - {"contract"}
    return [
        contract.model_dump(mode="json", exclude=set(keep))
        for contract in manifest.contracts
        if isinstance(contract, DirectionContract)
    ]


def _replication(manifest: Manifest) -> dict[str, Any]:
    return {
        "replicates": manifest.replicates,
        "contracts": [
            contract.model_dump(
                mode="json",
                include=set(_REPLICATION) if isinstance(contract, DirectionContract) else None,
            )
            for contract in manifest.contracts
        ],
    }


def _report(chain: ChainReport, manifest: Manifest) -> dict[str, Any]:
    report = None if chain.report is None else chain.report.model_dump(mode="json", exclude={"manifest"})
    return {"disclosed": list(manifest.disclosed), "report": report}
