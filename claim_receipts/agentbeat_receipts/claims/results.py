"""What a verification says of each claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final, Literal

from agentbeat_protocol import Instant
from agentbeat_receipts.claims.faults import FAULT_RULES, Fault, FaultRule
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.objects import Pair
from agentbeat_receipts.verification.reasons import Verdict
from agentbeat_receipts.verification.results import ChainReport, Level

__all__ = [
    "WEAKER_CAVEAT",
    "Analysis",
    "Blocker",
    "ClaimFinding",
    "ClaimReport",
    "ClaimVerdict",
    "Licence",
    "Licences",
]

#: What even a Pass does not say where values were made from less evidence than was promised.
WEAKER_CAVEAT: Final = "some_values_rest_on_weaker_evidence"


@dataclass(frozen=True, slots=True, order=True)
class ClaimFinding:
    """One reason, at one place.

    Args:
        fault: the code.
        subject: the assignment, cell, group or contract that it is about; empty for the whole batch.
        detail: got and expected, short.
        count: how many places it stands for; more than 1 where the others of its fault are examples only.
        more: there are more places than that, which were not kept one by one.
    """

    fault: Fault
    subject: str = ""
    detail: str = ""
    count: int = 1
    more: bool = False

    @property
    def rule(self) -> FaultRule:
        """The rule that the code stands for."""
        return FAULT_RULES[self.fault]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The exact numbers of one contract. Means are unreduced pairs of integers (sum, count).

    Args:
        contract: its id.
        outcome: the value that was analysed.
        subjects: how many profiles.
        estimate: the mean contrast; None where it could not be made.
        lower, upper: the quantiles of the bootstrap; None where the contract asks for none.
        lower_envelope, upper_envelope: the least and the greatest draw that the quantile may be; with the
            exact distribution both are the quantile.
        levels: the mean of each level (C1).
        variance: the mean variance inside cells; None where the contract sets it no limit (C3).
        weaker: of the outcome's integers how many rest on less evidence than was promised, by what is
            missing.
    """

    contract: str
    outcome: str
    subjects: int
    estimate: Pair | None = None
    lower: Pair | None = None
    upper: Pair | None = None
    lower_envelope: tuple[Pair, Pair] | None = None
    upper_envelope: tuple[Pair, Pair] | None = None
    levels: tuple[Pair, ...] = ()
    variance: Pair | None = None
    weaker: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """The verdict on one claim.

    Args:
        claim: its name.
        kind: about each transaction, or about the batch.
        level: how much was committed when.
        verdict: Pass, Invalid, or why there is none.
        findings: why; the first few of each fault, sorted. Empty for a Pass.
        received, expected: how many receipts the verdict is about, and how many were promised; None without a
            manifest.
        value: of a transaction claim (sum, count) over its integers; of an experiment claim None.
        nulls: typed nulls of a transaction claim by reason.
        weaker: how many of its integers rest on less evidence than was promised, by what is missing.
        analyses: the numbers of C1's or C3's contracts.
        depends_on: the groups of fields that the claim needs, in their order.
        evidence: digests of the objects that it was made from: manifest, checkpoint, closing record, report
            and, for a batch too long to list, the chain's head in place of the receipts.
        caveats: what even a Pass does not say.
    """

    claim: str
    kind: Literal["transaction", "experiment"]
    level: Level | None
    verdict: Verdict
    findings: tuple[ClaimFinding, ...]
    received: int
    expected: int | None
    value: Pair | None = None
    nulls: Mapping[str, int]
    weaker: Mapping[str, int] = field(default_factory=dict)
    analyses: tuple[Analysis, ...] = ()
    depends_on: tuple[Group, ...]
    evidence: tuple[str, ...]
    caveats: tuple[str, ...]


@unique
class Licence(StrEnum):
    """What may be said of the batch."""

    CAUSAL = "causal"
    DESCRIPTIVE = "descriptive"
    NONE = "none"


@dataclass(frozen=True, slots=True, order=True)
class Blocker:
    """What stands against a licence.

    Args:
        licence: the licence.
        claim: the claim, or `coverage`.
        verdict: its verdict.
    """

    licence: Licence
    claim: str
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Licences:
    """The highest licence, and what stands against the higher ones."""

    granted: Licence
    blockers: tuple[Blocker, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReport:
    """Everything that a verification says.

    Args:
        chain: bytes, chain, openings and coverage (layers 1 and 3).
        domain: the domain's name; None when it is not known.
        title: the manifest's.
        claims: transaction claims in the domain's order, then C1 to C4.
        licences: what may be said.
        stages: how many transactions had each stage come out again.
        settled: how many transactions were opened and replayed.
        statuses: terminals by status.
        runs: terminals by profile and arm.
        anchored_at: the anchor's time.
    """

    chain: ChainReport
    domain: str | None
    title: str | None
    claims: tuple[ClaimVerdict, ...]
    licences: Licences
    stages: Mapping[str, int]
    settled: int
    statuses: Mapping[str, int]
    runs: Mapping[tuple[str, str], int]
    anchored_at: Instant | None

    @property
    def caveats(self) -> tuple[str, ...]:
        """What even a Pass does not say: those of the chain, and of any claim."""
        return tuple(
            dict.fromkeys([*self.chain.caveats, *(c for claim in self.claims for c in claim.caveats)])
        )

    def claim(self, name: str) -> ClaimVerdict:
        """The verdict on one claim.

        Raises:
            KeyError: there is no such claim.
        """
        return {verdict.claim: verdict for verdict in self.claims}[name]
