"""Step 3: a verdict on each claim, from the chain's report and the tally.

Each claim collects everything that speaks against it; the gravest finding is its verdict:

    Invalid, I_C (no contract), INCONCLUSIVE_COVERAGE, I_E (evidence does not cross the boundary), Pass

A finding reaches a claim along its declared dependencies only, so a missing terminal leaves C2 as it is:

    integrity               every claim
    a terminal missing      C1 C3 C4
    a retry shadowed        C3, and C1 where contracted
    a transaction claim     C4 unless it is one of fidelity, and the C1 and C3 whose outcome it is
    the whole replay        C1 C3 C4
    a profile that differs  C4, and C1 and C3 where contracted
    report, scorers         C4

Ablation: `removed` names groups that are absent after the checks of bytes. The tally must have been settled
without them too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from agentbeat_receipts.canonical import MAX_INTEGER
from agentbeat_receipts.claims.accounting import accounting_findings
from agentbeat_receipts.claims.contracting import contract_findings
from agentbeat_receipts.claims.domains import Domain
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import EXPERIMENT_NEEDS, GROUPS, Group
from agentbeat_receipts.claims.isolation import compared_arms, isolation_findings
from agentbeat_receipts.claims.licences import licences
from agentbeat_receipts.claims.readings import completeness_findings, evidence_of, integrity_findings
from agentbeat_receipts.claims.results import (
    WEAKER_CAVEAT,
    Analysis,
    ClaimFinding,
    ClaimReport,
    ClaimVerdict,
)
from agentbeat_receipts.claims.tallies import ClaimTally, Tally
from agentbeat_receipts.claims.tallying import EXAMPLES
from agentbeat_receipts.claims.transactions import claim_findings
from agentbeat_receipts.objects import Pair
from agentbeat_receipts.verification.reasons import Verdict
from agentbeat_receipts.verification.results import ChainReport

__all__ = ["PRECEDENCE", "judge", "precedence"]

#: Which verdict stands when several could be given.
PRECEDENCE: Final = (
    Verdict.INVALID,
    Verdict.NO_CONTRACT,
    Verdict.INCONCLUSIVE_COVERAGE,
    Verdict.NO_EVIDENCE,
)


def precedence(findings: Iterable[ClaimFinding]) -> Verdict:
    """The verdict of a claim with these findings; Pass with none.

    >>> precedence([ClaimFinding(Fault.EVIDENCE_ABSENT), ClaimFinding(Fault.TERMINALS_MISSING)])
    <Verdict.INCONCLUSIVE_COVERAGE: 'INCONCLUSIVE_COVERAGE'>
    """
    verdicts = {finding.rule.verdict for finding in findings}
    return next((verdict for verdict in PRECEDENCE if verdict in verdicts), Verdict.PASS)


def judge(
    chain: ChainReport, tally: Tally, domain: Domain | None, *, removed: frozenset[Group] = frozenset()
) -> ClaimReport:
    """The verdict on every claim of the domain and on C1 to C4, and what may be said of the batch.

    Args:
        chain: what layers 1 and 3 said. Its terminals and openings are not looked at.
        tally: settled from that chain's terminals, by the same domain and without the same groups.
        domain: None where it is not known: then only C2 can be determined.
        removed: groups that are to be absent.

    Raises:
        ValueError: the tally is not of this chain.
    """
    if tally.received != chain.arrived:
        raise ValueError(f"a tally of {tally.received} receipts, expected {chain.arrived} of the chain")
    bench = _Bench(chain, tally, domain, removed)
    claims = [bench.transaction(claim) for claim in (() if domain is None else domain.claims)]
    claims += [bench.contracted("C1"), bench.isolation(), bench.contracted("C3"), bench.accounting()]
    verdicts = {verdict.claim: verdict.verdict for verdict in claims}
    fidelity = frozenset[str]() if domain is None else domain.fidelity
    return ClaimReport(
        chain=chain,
        domain=None if domain is None else domain.name,
        title=None if chain.manifest is None else chain.manifest.title,
        claims=tuple(claims),
        licences=licences(verdicts, chain.coverage, fidelity),
        stages=dict(tally.stages),
        settled=tally.opened,
        statuses=dict(tally.statuses),
        runs=dict(tally.runs),
        anchored_at=chain.anchored_at,
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    """What every verdict is made from."""

    chain: ChainReport
    tally: Tally
    domain: Domain | None
    removed: frozenset[Group]

    def transaction(self, claim: str) -> ClaimVerdict:
        """One claim about each transaction; the batch's holds when each one's does."""
        counted = self.tally.claims.get(claim, ClaimTally())
        findings = claim_findings(counted, self.tally.received)
        return self._verdict(claim, "transaction", findings, counted=counted)

    def contracted(self, claim: Literal["C1", "C3"]) -> ClaimVerdict:
        """C1 or C3."""
        findings, analyses = contract_findings(
            claim, self.chain, self.tally, self.domain, removed=self.removed
        )
        weak = any(analysis.weaker for analysis in analyses)
        return self._verdict(claim, "experiment", findings, analyses=analyses, weak=weak)

    def isolation(self) -> ClaimVerdict:
        """C2, about the arms that are compared."""
        manifest = self.chain.manifest
        findings = isolation_findings(manifest, self.tally, removed=self.removed)
        if manifest is None or not manifest.comparison_groups:
            return self._verdict("C2", "experiment", findings)
        compared = compared_arms(manifest)
        received = sum(count for (_, arm), count in self.tally.runs.items() if arm in compared)
        expected = sum(count for (_, arm), count in manifest.cells().items() if arm in compared)
        return self._verdict("C2", "experiment", findings, counts=(received, expected))

    def accounting(self) -> ClaimVerdict:
        """C4."""
        chain = self.chain
        findings = list(
            accounting_findings(chain.manifest, chain.report, self.tally, self.domain, removed=self.removed)
        )
        if chain.manifest is not None:
            findings += completeness_findings(chain, removed=self.removed)
        weak = any(counted.weaker for counted in self.tally.claims.values())
        return self._verdict("C4", "experiment", findings, weak=weak)

    def _verdict(
        self,
        claim: str,
        kind: Literal["transaction", "experiment"],
        findings: Iterable[ClaimFinding],
        *,
        counted: ClaimTally | None = None,
        analyses: tuple[Analysis, ...] = (),
        counts: tuple[int, int] | None = None,
        weak: bool = False,
    ) -> ClaimVerdict:
        found = [*integrity_findings(self.chain), *findings]
        received, expected = counts or (self.tally.received, self.chain.expected)
        total = None if counted is None else counted.total
        weaker = {} if counted is None else dict(sorted(counted.weaker.items()))
        return ClaimVerdict(
            claim=claim,
            kind=kind,
            level=self.chain.level,
            verdict=precedence(found),
            findings=tuple(_first_few(found)),
            received=received,
            expected=expected,
            value=None if total is None or not total.count else _exact(total.sum, total.count),
            nulls={} if total is None else dict(sorted(total.nulls.items())),
            weaker=weaker,
            analyses=analyses,
            depends_on=self._depends_on(claim),
            evidence=evidence_of(claim, self.chain),
            caveats=(*self.chain.caveats, *([WEAKER_CAVEAT] if weaker or weak else [])),
        )

    def _depends_on(self, claim: str) -> tuple[Group, ...]:
        declared = {} if self.domain is None else self.domain.needs
        needed = declared.get(claim, EXPERIMENT_NEEDS.get(claim, frozenset()))
        return tuple(group for group in GROUPS if group in needed)


def _first_few(findings: Iterable[ClaimFinding]) -> Iterator[ClaimFinding]:
    """Sorted, the first few of each fault, and how many there are where those are not all."""
    counted: Counter[Fault] = Counter()
    unique = sorted(set(findings))
    uncounted = {finding.fault for finding in unique if finding.more}
    summed_up = {finding.fault for finding in unique if not (finding.subject or finding.more)}
    for finding in unique:
        if finding.more:
            continue
        counted[finding.fault] += bool(finding.subject)
        if not finding.subject or counted[finding.fault] <= EXAMPLES:
            yield finding
    for fault, count in counted.items():
        if fault in uncounted:
            yield ClaimFinding(fault, "", f"more than {count}", count, more=True)
        elif count > EXAMPLES and fault not in summed_up:
            yield ClaimFinding(fault, "", f"{count} in all", count)


def _exact(total: int, count: int) -> Pair:
    return Pair(pair=(total if -MAX_INTEGER <= total <= MAX_INTEGER else str(total), count))
