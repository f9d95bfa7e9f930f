"""The evidence of one transaction, split into groups of fields, any of which may be absent.

A domain replays a `Case` and sees nothing else. Each accessor belongs to one group; where the group is absent
it raises `Absent`, so what a claim depends on is what its computation touched. What the evidence holds that
does not fit is raised as `Contradiction`.

    case.profile                      P
    case.material("catalogue")        the group that the domain declares for this material
    case.events                       T   one tuple of events per attempt
    case.offers                       O   likewise
    case.choice_inputs                D   one per attempt, None where there was no choice
    case.treatments                   G   one tuple of decisions per attempt
    case.flags                        A   the treatment flags that are on
    case.components                   Q   the digests of what ran
    case.promised_components          Q   what the arm promises; which arm, A says

`case.stored` is in no group: what was recorded of statuses, choices and values is held against the replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.objects import (
    Arm,
    Assignment,
    Choice,
    ComponentName,
    Null,
    OfferStages,
    Opening,
    Pair,
    Receipt,
    TraceEvent,
    TreatmentEvent,
)

__all__ = ["Absent", "Case", "ClaimValue", "Contradiction", "Stored", "Unreplayed"]

#: A claimed value: an integer, a decimal string, an exact pair, or a typed null.
ClaimValue = int | str | Pair | Null


class Unreplayed(Exception):  # noqa: N818 - what happened
    """A claim of a transaction has no value.

    Args:
        fault: why.
        detail: got and expected, short.
    """

    def __init__(self, fault: Fault, detail: str = "") -> None:
        super().__init__(f"{fault}: {detail}" if detail else str(fault))
        self.fault = fault
        self.detail = detail


class Absent(Unreplayed):
    """The evidence is not there: the claim is Inconclusive."""

    def __init__(self, group: Group, detail: str = "", *, fault: Fault = Fault.EVIDENCE_ABSENT) -> None:
        super().__init__(fault, detail or f"{group}, {group.label}")
        self.group = group


class Contradiction(Unreplayed):
    """The evidence contradicts itself: the claim is Invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was recorded and can be derived: no evidence, but it must come out again.

    Args:
        statuses: how each attempt ended.
        failures: why it failed; None where it did not.
        outputs: what each attempt's chooser chose; None where there was no choice.
        reported: the opening's scalars.
        disclosed: the receipt's values.
    """

    statuses: tuple[str, ...]
    failures: tuple[str | None, ...]
    outputs: tuple[Any, ...]
    reported: Mapping[str, ClaimValue]
    disclosed: Mapping[str, ClaimValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One transaction's evidence.

    Args:
        subject: the assignment's id, for messages.
        receipt: the public receipt.
        opening: its opening; None where it was not opened, and then P, K, T, O, D, F, G are absent.
        assignment: what the manifest says of it; None without a manifest, and then A is absent.
        arm: likewise; without it Q is absent too.
        groups: the domain's group of each material.
        removed: groups that are to be absent.
        money_exponent: the manifest's; None without a manifest, or where Q is removed. It is in Q, but no
            claim needs it: what money is stated in must be this where it is known.
        promised_materials: the names of the materials whose digest the manifest lists; None without one.
    """

    subject: str
    receipt: Receipt
    opening: Opening | None
    assignment: Assignment | None
    arm: Arm | None
    groups: Mapping[str, Group]
    removed: frozenset[Group] = field(default=frozenset())
    money_exponent: int | None = None
    promised_materials: frozenset[str] | None = None

    @property
    def profile(self) -> Any:
        """The private profile (P)."""
        return self._opened(Group.P).profile

    def material(self, name: str) -> Any:
        """What a run was made with, such as the chooser, in the group of its domain.

        Raises:
            Contradiction: evidence_malformed, when the opening has none of this name.
        """
        group = self.groups[name]
        materials = self._opened(group).materials
        if name not in materials:
            raise Contradiction(Fault.EVIDENCE_MALFORMED, f"no material {name}")
        return materials[name]

    def promised_material(self, name: str) -> Any:
        """A material that is the same in every run, such as the catalogue: the manifest must list it.

        One that is not listed is bound to nothing that was promised, and could be chosen for each run when
        that has ended. Without a manifest (CR-1) nothing was promised, and it is taken as it stands.

        Raises:
            Absent: the manifest does not list it.
            Contradiction: as `material`.
        """
        content = self.material(name)
        if self.promised_materials is not None and name not in self.promised_materials:
            raise Absent(self.groups[name], f"{name}: the manifest does not list it")
        return content

    @property
    def events(self) -> tuple[tuple[TraceEvent, ...], ...]:
        """The ordered events of each attempt (T)."""
        return tuple(attempt.events for attempt in self._opened(Group.T).attempts)

    @property
    def offers(self) -> tuple[tuple[OfferStages, ...], ...]:
        """The offers of each attempt, raw, parsed and enforced (O)."""
        return tuple(attempt.offers for attempt in self._opened(Group.O).attempts)

    @property
    def choice_inputs(self) -> tuple[Any, ...]:
        """What each attempt's chooser was given; None where there was no choice (D)."""
        return tuple(_input(attempt.choice) for attempt in self._opened(Group.D).attempts)

    @property
    def treatments(self) -> tuple[tuple[TreatmentEvent, ...], ...]:
        """The guardrails' decisions in each attempt (G)."""
        return tuple(attempt.treatments for attempt in self._opened(Group.G).attempts)

    @property
    def flags(self) -> frozenset[str]:
        """The treatment flags that are on (A)."""
        if self.arm is None or Group.A in self.removed:
            raise Absent(Group.A)
        return frozenset(self.arm.treatments)

    @property
    def components(self) -> Mapping[ComponentName, str | None]:
        """The digests of the components that ran (Q)."""
        if self.arm is None or Group.Q in self.removed:
            raise Absent(Group.Q)
        return self.receipt.components

    @property
    def promised_components(self) -> Mapping[ComponentName, str]:
        """The digests of the arm's components (Q); whose arm's, the assignment says (A)."""
        if Group.A in self.removed:
            raise Absent(Group.A)
        if self.arm is None or Group.Q in self.removed:
            raise Absent(Group.Q)
        return self.arm.components

    @property
    def stored(self) -> Stored:
        """What was recorded beside the evidence.

        Raises:
            Absent: there is no opening.
        """
        if self.opening is None:
            raise Absent(Group.O, "no opening")
        attempts = self.opening.attempts
        return Stored(
            statuses=tuple(attempt.status for attempt in attempts),
            failures=tuple(attempt.failure for attempt in attempts),
            outputs=tuple(None if a.choice is None else a.choice.output for a in attempts),
            reported=self.opening.reported,
            disclosed=self.receipt.values,
        )

    def _opened(self, group: Group) -> Opening:
        if self.opening is None:
            raise Absent(group, "no opening")
        if group in self.removed:
            raise Absent(group)
        return self.opening


def _input(choice: Choice | None) -> Any:
    return None if choice is None else choice.input
