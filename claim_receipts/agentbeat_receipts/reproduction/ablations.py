"""What each claim needs, found out by taking evidence away from a batch in which all twelve claims pass.

Removed are groups of fields, by the engine, after the checks of bytes. A claim that is no longer determined
needs what was removed. The same with nearly everything removed shows what a poorer kind of record would
determine: stored values count for nothing, as nobody can recompute them.

    outcome scalars              nothing of the 13 groups
    transcript and outcome       T O    what was said and offered
    generic signed receipt       I T O Q    likewise, signed and complete, with what ran, but no promise of it
    opened transaction receipt   P K T O D F G    all of one transaction, nothing of the batch
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_receipts.claims import GROUPS, Domain, Group
from agentbeat_receipts.claims.judging import judge
from agentbeat_receipts.claims.settling import settle
from agentbeat_receipts.claims.verifier import choose_domain
from agentbeat_receipts.reproduction.verifying import Bench, Verified
from agentbeat_receipts.reproduction.wordings import undetermined
from agentbeat_receipts.verification import ChainReport

__all__ = ["ABSTRACTIONS", "SHORT", "Ablation", "abstraction_rows", "matrix_rows"]

#: The paper's short names of the market's claims.
SHORT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "completion": "Cmp",
        "buyer_surplus": "BS",
        "seller_profit": "SP",
        "welfare": "W",
        "first_best": "FB",
        "match_quality": "MQ",
        "information_fidelity": "IG",
        "conduct_fidelity": "CG",
    }
)

#: The groups that each kind of record keeps.
ABSTRACTIONS: Final[Mapping[str, frozenset[Group]]] = MappingProxyType(
    {
        "outcome scalars": frozenset(),
        "transcript and outcome": frozenset({Group.T, Group.O}),
        "generic signed receipt": frozenset({Group.I, Group.T, Group.O, Group.Q}),
        "opened transaction receipt": frozenset(
            {Group.P, Group.K, Group.T, Group.O, Group.D, Group.F, Group.G}
        ),
        "all 13 groups": frozenset(GROUPS),
    }
)


class Ablation:
    """A verified batch from which evidence is taken away.

    Args:
        bench: who verifies.
        control: a batch whose every claim passes.
    """

    def __init__(self, bench: Bench, control: Verified) -> None:
        self._chain: ChainReport = bench.chain(control.deliveries)
        domain = choose_domain(self._chain.manifest, self._chain.opened.values(), bench.domains)
        if domain is None:
            raise ValueError("a control of no known domain")
        self.domain: Domain = domain

    def undetermined(self, removed: frozenset[Group]) -> frozenset[str]:
        """The claims that are neither Pass nor Invalid without these groups."""
        tally = settle(self._chain, self.domain, removed=removed)
        report = judge(self._chain, tally, self.domain, removed=removed)
        return frozenset(verdict.claim for verdict in report.claims if undetermined(verdict.verdict))

    @property
    def claims(self) -> tuple[str, ...]:
        """All claims, in the domain's order, then C1 to C4."""
        return (*self.domain.claims, "C1", "C2", "C3", "C4")


def abstraction_rows(ablation: Ablation) -> Iterator[tuple[str, str]]:
    """How many claims each kind of record determines."""
    for name, kept in ABSTRACTIONS.items():
        left = len(ablation.undetermined(frozenset(GROUPS) - kept))
        yield name, f"{len(ablation.claims) - left}/{len(ablation.claims)}"


def matrix_rows(ablation: Ablation) -> Iterator[tuple[str, str]]:
    """Which claims need each group; how many dots that are, and whether the domain declares the same."""
    needed = {group: ablation.undetermined(frozenset({group})) for group in GROUPS}
    for group, claims in needed.items():
        names = [SHORT.get(claim, claim) for claim in ablation.claims if claim in claims]
        yield f"{group} {group.label}", " ".join(names)
    yield "dots", str(sum(map(len, needed.values())))
    declared = {group: {c for c in ablation.claims if group in ablation.domain.needs[c]} for group in GROUPS}
    agree = sum(needed[group] == declared[group] for group in GROUPS)
    yield "groups as the domain declares them", f"{agree} of {len(GROUPS)}"
    some = sum(bool(claims) for claims in needed.values())
    yield "groups without which some claim is undetermined", f"{some} of {len(GROUPS)}"
