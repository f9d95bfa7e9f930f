"""What is promised run by run: one assignment, and what is asked of a long list of them.

>>> promised_cells([Assignment(assignment=f"a-{n}", profile="p", arm="x", replicate=n) for n in (1, 2)])
{('p', 'x'): Replicates(runs=2, different=2, greatest=2)}
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from agentbeat_protocol.models import Strict
from agentbeat_receipts.objects.base import Id, Positive
from agentbeat_receipts.objects.kept_lists import KeptList

__all__ = ["Assignment", "AssignmentTable", "Replicates", "promised_cells"]


class Assignment(Strict):
    """One promised run: a profile under an arm, for the n-th time."""

    assignment: Id
    profile: Id
    arm: Id
    replicate: Positive


class Replicates(NamedTuple):
    """The replicates of one profile under one arm: how many, how many different ones, and the greatest."""

    runs: int
    different: int
    greatest: int


class AssignmentTable(KeptList[Assignment]):
    """Assignments that are kept outside of memory; no two of one name."""

    @property
    @abstractmethod
    def names(self) -> Collection[str]:
        """Their names; whether one is among them is quickly told."""

    @abstractmethod
    def cells(self) -> Mapping[tuple[str, str], Replicates]:
        """What `promised_cells` is to say of them."""


def promised_cells(entries: Iterable[Assignment]) -> Mapping[tuple[str, str], Replicates]:
    """The replicates by profile and arm."""
    if isinstance(entries, AssignmentTable):
        return entries.cells()
    found: dict[tuple[str, str], list[int]] = {}
    for entry in entries:
        found.setdefault((entry.profile, entry.arm), []).append(entry.replicate)
    return {cell: Replicates(len(held), len(set(held)), max(held)) for cell, held in found.items()}
