"""The 13 groups of evidence fields that claims are made from (spec 4, "Field groups and the matrix").

A domain declares for every claim which groups it needs. To find out whether that is true a group is removed
after the checks of bytes (L1): its fields become absent, and a claim that turns Inconclusive depends on it.
Stored values that were derived from others, such as a chooser's output or a reported scalar, are in no group:
they are no evidence, they are only held against what is replayed.

>>> "".join(Group)
'IAPKTODFGQJRB'
>>> Group.T.label
'ordered trace'
"""

from __future__ import annotations

from enum import StrEnum, unique
from types import MappingProxyType
from typing import Final

__all__ = ["CASE_GROUPS", "EXPERIMENT_CLAIMS", "EXPERIMENT_NEEDS", "GROUPS", "Group"]


@unique
class Group(StrEnum):
    """A group of fields."""

    I = "I"  # noqa: E741 - the paper's letter
    A = "A"
    P = "P"
    K = "K"
    T = "T"
    O = "O"  # noqa: E741 - the paper's letter
    D = "D"
    F = "F"
    G = "G"
    Q = "Q"
    J = "J"
    R = "R"
    B = "B"

    @property
    def label(self) -> str:
        """What the group holds, in a few words."""
        return _TITLES[self]


_TITLES: Final = MappingProxyType(
    {
        Group.I: "ingress and coverage",
        Group.A: "assignment",
        Group.P: "private profile",
        Group.K: "catalogue and costs",
        Group.T: "ordered trace",
        Group.O: "offer stages",
        Group.D: "chooser",
        Group.F: "scoring artifacts",
        Group.G: "guardrail events",
        Group.Q: "protocol",
        Group.J: "objective contract",
        Group.R: "replication contract",
        Group.B: "report bundle",
    }
)

#: All groups, in the paper's order.
GROUPS: Final = tuple(Group)

#: The groups whose fields belong to one transaction. The others belong to the batch.
CASE_GROUPS: Final = frozenset("APKTODFGQ")

#: The claims about a batch, in the order in which they are printed.
EXPERIMENT_CLAIMS: Final = ("C1", "C2", "C3", "C4")

#: What the claims about a batch need in every domain. Exact replay of the transactions, which C1, C3 and C4
#: rest on, brings the domain's own groups with it.
EXPERIMENT_NEEDS: Final = MappingProxyType(
    {
        "C1": frozenset({Group.I, Group.A, Group.J, Group.R}),
        "C2": frozenset({Group.A, Group.Q}),
        "C3": frozenset({Group.I, Group.A, Group.R}),
        "C4": frozenset({Group.I, Group.A, Group.Q, Group.B}),
    }
)
