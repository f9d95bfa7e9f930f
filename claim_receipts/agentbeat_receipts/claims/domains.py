"""What a domain is: typed evidence, a replay of it, and which groups of fields each claim needs.

The engine knows no domain. It hands a domain one transaction's `Case` at a time and asks the `Replay` for
each claim by name; whatever the replay touches and is absent makes that claim Inconclusive, whatever does not
come out again makes it Invalid. A domain is pure: no clock, no network, no randomness but from its evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from agentbeat_receipts.claims.cases import Case, ClaimValue
from agentbeat_receipts.claims.groups import Group

__all__ = ["Domain", "Replay"]


class Replay(Protocol):
    """One transaction, computed again from its evidence. Each method raises `Unreplayed` where it cannot."""

    def value(self, claim: str) -> ClaimValue:
        """The value of one of the domain's claims, from evidence alone.

        Raises:
            Absent: a group that it needs is not there.
            Contradiction: the evidence that it needs contradicts itself.
        """
        ...

    def weaknesses(self, claim: str) -> tuple[str, ...]:
        """What a value that came out does without although it was promised, such as `native_missing`.

        A domain that falls back on less where evidence is missing names here what is missing, so that nobody
        takes the number for one with all of its evidence. Most domains never do.
        """
        ...

    def whole(self) -> tuple[str, ...]:
        """Everything that C1, C3 and C4 rest on beyond the values: each stage from the committed boundary on.

        Returns:
            the names of the stages that came out again, such as `("policy", "choice", "metrics")`.
        """
        ...


class Domain(Protocol):
    """A kind of transaction."""

    @property
    def name(self) -> str:
        """The name that manifests and openings give."""
        ...

    @property
    def claims(self) -> tuple[str, ...]:
        """The transaction claims, in the order in which they are printed; fidelity claims among them."""
        ...

    @property
    def fidelity(self) -> frozenset[str]:
        """The claims about guardrails and injections. They feed the causal licence, not C4."""
        ...

    @property
    def materials(self) -> Mapping[str, Group]:
        """The materials of an opening by name, with the group of each.

        One that has a component's name must have the digest of that component in the receipt; one that the
        manifest lists must have the digest there.
        """
        ...

    @property
    def needs(self) -> Mapping[str, frozenset[Group]]:
        """The groups that each claim needs, C1 to C4 included; held against ablation by the tests."""
        ...

    def replay(self, case: Case) -> Replay:
        """The replay of one transaction. Nothing is computed before it is asked for."""
        ...

    def identity(self, values: Mapping[str, ClaimValue]) -> str | None:
        """What is wrong with the values of one transaction as an account, such as W other than BS + SP."""
        ...
