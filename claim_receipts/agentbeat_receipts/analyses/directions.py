"""C1, direction: the response goes one way over the levels, and from end to end by more than a threshold.

Profiles are the subjects. The mean of a level is the unweighted mean of its profiles' cell means, and the
estimate is the mean of the contrasts strongest minus weakest inside each profile. A contract passes when

- the level means are weakly monotone as declared, from the weakest level to the strongest, and
- the one-sided 95 % bound (the quantile 1/20 of the bootstrap) lies beyond the threshold with its envelope.

A decreasing contract is the mirror image: it passes exactly when the increasing one passes over the negated
values. Its bound is then an upper one, and lies below minus the threshold. A report of an increasing contract
has a lower bound and no upper one, of a decreasing contract the other way round.

    contrasts 36 38 39 41 of 4 profiles: estimate 154/4, lower bound 148/4 (the 13th of 256 resamples)
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

from agentbeat_receipts.analyses.numbers import (
    bounds_of,
    envelope,
    exact_pair,
    margin_ratio,
    margin_text,
    report_findings,
    shown,
    side,
)
from agentbeat_receipts.analyses.samples import Cells, Samples, gather
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.results import Analysis, ClaimFinding
from agentbeat_receipts.objects import DirectionContract, Manifest, ReportedAnalysis
from agentbeat_receipts.statistics import Bound, Ratio, TooMuchWork

__all__ = ["ONE_SIDED", "judge_direction"]

#: The quantile of the one-sided bound.
ONE_SIDED: Final = Ratio(1, 20)


def judge_direction(
    contract: DirectionContract, manifest: Manifest, cells: Cells, reported: ReportedAnalysis | None
) -> tuple[tuple[ClaimFinding, ...], Analysis]:
    """What speaks against one contract of C1, and its exact numbers. No finding means Pass.

    Args:
        contract: one of the manifest's.
        manifest: what was promised.
        cells: the contract's outcome by (profile, arm).
        reported: what the report bundle says of this contract; None where it says nothing.
    """
    # Whether each cell has all its replicates is the completeness of the batch, which C1 rests on anyway.
    gathered = gather(contract, manifest, cells, arms=contract.levels, replicates=1)
    findings = list(gathered.findings)
    analysis = Analysis(contract=contract.contract, outcome=contract.outcome, subjects=gathered.subjects)
    if gathered.samples is not None:
        analysis = _means(contract, gathered.samples, analysis)
        findings += _monotone(contract, gathered.samples, analysis)
        try:
            bound = _bound(contract, gathered.samples)
        except TooMuchWork as error:
            findings.append(ClaimFinding(Fault.TOO_MUCH_WORK, contract.contract, str(error)))
        else:
            analysis = _bounded(contract, gathered.samples, analysis, bound)
            findings += _beyond(contract, gathered.samples, bound)
    bounds = ("lower",) if contract.direction == "increasing" else ("upper",)
    findings += report_findings(contract, analysis, reported, bounds=bounds)
    return tuple(findings), analysis


def _sign(contract: DirectionContract) -> int:
    return 1 if contract.direction == "increasing" else -1


def _means(contract: DirectionContract, samples: Samples, analysis: Analysis) -> Analysis:
    contrasts = samples.contrasts(contract.levels[-1], contract.levels[0])
    return replace(
        analysis,
        estimate=exact_pair(sum(contrasts), samples.denominator),
        levels=tuple(exact_pair(sum(samples.means[arm]), samples.denominator) for arm in contract.levels),
    )


def _monotone(contract: DirectionContract, samples: Samples, analysis: Analysis) -> list[ClaimFinding]:
    sums = [_sign(contract) * sum(samples.means[arm]) for arm in contract.levels]
    for place, (weaker, stronger) in enumerate(pairwise(sums)):
        if stronger < weaker:
            one, other = contract.levels[place], contract.levels[place + 1]
            detail = f"{one} {shown(analysis.levels[place])}, {other} {shown(analysis.levels[place + 1])}"
            return [
                ClaimFinding(
                    Fault.NOT_MONOTONE, contract.contract, f"{detail}, expected {contract.direction}"
                )
            ]
    return []


def _bound(contract: DirectionContract, samples: Samples) -> Bound:
    """The lower bound of the contrasts, of a decreasing contract of the negated ones."""
    contrasts = samples.contrasts(contract.levels[-1], contract.levels[0])
    (bound,) = bounds_of(contract, [_sign(contract) * contrast for contrast in contrasts], [ONE_SIDED])
    return bound


def _bounded(contract: DirectionContract, samples: Samples, analysis: Analysis, bound: Bound) -> Analysis:
    if contract.direction == "increasing":
        return replace(
            analysis,
            lower=exact_pair(bound.value, samples.denominator),
            lower_envelope=envelope(bound, samples.denominator),
        )
    mirrored = Bound(-bound.value, -bound.high, -bound.low)
    return replace(
        analysis,
        upper=exact_pair(mirrored.value, samples.denominator),
        upper_envelope=envelope(mirrored, samples.denominator),
    )


def _beyond(contract: DirectionContract, samples: Samples, bound: Bound) -> list[ClaimFinding]:
    place = side(bound, samples.denominator, margin_ratio(contract.threshold))
    if place > 0:
        return []
    fault = Fault.BOUND_NOT_BEYOND if place < 0 else Fault.BOUNDARY_IN_ENVELOPE
    value = shown(exact_pair(_sign(contract) * bound.value, samples.denominator))
    boundary = margin_text(contract.threshold, sign=_sign(contract))
    where = "above" if contract.direction == "increasing" else "below"
    return [ClaimFinding(fault, contract.contract, f"bound {value}, expected wholly {where} {boundary}")]
