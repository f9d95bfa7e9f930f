"""C3, stability: a contrast that stays where the contract says when profiles are drawn again.

Profiles are the subjects, never replicates: these average inside their profile-arm cell first, then each
profile has its contrast, and the estimate is the unweighted mean of the contrasts. A contract passes when

- each cell has the declared replicates, at least 2,
- the 95 % interval (the quantiles 1/40 and 39/40 of the bootstrap), each bound with its envelope, lies
  strictly beyond the boundary on one side (`sign`), or strictly inside ±delta (`equivalence`), and
- the mean variance inside cells is at most the contract's, where it has a limit.

The variance inside a cell of c values is the unbiased one, Σ(x - mean)² / (c - 1), computed in integers as
(c·Σx² - (Σx)²) / (c·(c - 1)); its mean is over the cells of both arms of every profile that takes part.

    contrasts -1 1 1 1 of 4 profiles: 13 of the 256 resamples sum to 0 or less, so the bound 1/40, the 7th of
    them, is no greater than 0, and the sign of the contrast is not shown
"""

from __future__ import annotations

from dataclasses import replace
from math import lcm
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
from agentbeat_receipts.claims.tallies import Cell
from agentbeat_receipts.objects import Manifest, ReportedAnalysis, Sign, StabilityContract, Variance
from agentbeat_receipts.statistics import LIMITS, Bound, Ratio, TooMuchWork, compare

__all__ = ["MIN_REPLICATES", "TWO_SIDED", "judge_stability"]

#: The quantiles of the interval.
TWO_SIDED: Final = (Ratio(1, 40), Ratio(39, 40))
#: One run shows nothing about its repetition.
MIN_REPLICATES: Final = 2


def judge_stability(
    contract: StabilityContract, manifest: Manifest, cells: Cells, reported: ReportedAnalysis | None
) -> tuple[tuple[ClaimFinding, ...], Analysis]:
    """What speaks against one contract of C3, and its exact numbers. No finding means Pass.

    Args:
        contract: one of the manifest's.
        manifest: what was promised.
        cells: the contract's outcome by (profile, arm).
        reported: what the report bundle says of this contract; None where it says nothing.
    """
    arms = (contract.contrast.minuend, contract.contrast.subtrahend)
    replicates = max(MIN_REPLICATES, manifest.replicates)
    gathered = gather(contract, manifest, cells, arms=arms, replicates=replicates)
    findings = list(gathered.findings)
    analysis = Analysis(contract=contract.contract, outcome=contract.outcome, subjects=gathered.subjects)
    if gathered.samples is not None:
        samples = gathered.samples
        contrasts = samples.contrasts(*arms)
        analysis = replace(analysis, estimate=exact_pair(sum(contrasts), samples.denominator))
        try:
            lower, upper = bounds_of(contract, contrasts, TWO_SIDED)
        except TooMuchWork as error:
            findings.append(ClaimFinding(Fault.TOO_MUCH_WORK, contract.contract, str(error)))
        else:
            analysis = _bounded(analysis, samples.denominator, lower, upper)
            findings += _inside(contract, samples, lower, upper)
        if contract.max_variance is not None:
            more, analysis = _variance(contract, contract.max_variance, samples, analysis)
            findings += more
    findings += report_findings(contract, analysis, reported, bounds=("lower", "upper"))
    return tuple(findings), analysis


def _bounded(analysis: Analysis, denominator: int, lower: Bound, upper: Bound) -> Analysis:
    return replace(
        analysis,
        lower=exact_pair(lower.value, denominator),
        upper=exact_pair(upper.value, denominator),
        lower_envelope=envelope(lower, denominator),
        upper_envelope=envelope(upper, denominator),
    )


def _inside(contract: StabilityContract, samples: Samples, lower: Bound, upper: Bound) -> list[ClaimFinding]:
    """Where the interval does not lie as the contract says.

    A bound that lies on the wrong side with its whole envelope makes the interval cross; else a boundary
    stands in an envelope.
    """
    if isinstance(contract.boundary, Sign):
        at = margin_ratio(contract.boundary.at)
        below, above = side(lower, samples.denominator, at), side(upper, samples.denominator, at)
        if below > 0 or above < 0:
            return []
        crosses = below < 0 < above
        expected = f"strictly on one side of {margin_text(contract.boundary.at)}"
    else:
        delta = margin_ratio(contract.boundary.delta)
        below = side(lower, samples.denominator, Ratio(-delta.numerator, delta.denominator))
        above = side(upper, samples.denominator, delta)
        if below > 0 > above:
            return []
        crosses = below < 0 or above > 0
        expected = f"strictly inside ±{margin_text(contract.boundary.delta)}"
    fault = Fault.INTERVAL_CROSSES if crosses else Fault.BOUNDARY_IN_ENVELOPE
    ends = [shown(exact_pair(bound.value, samples.denominator)) for bound in (lower, upper)]
    return [ClaimFinding(fault, contract.contract, f"interval {ends[0]} to {ends[1]}, expected {expected}")]


def _variance(
    contract: StabilityContract, limit: Variance, samples: Samples, analysis: Analysis
) -> tuple[list[ClaimFinding], Analysis]:
    """The mean variance inside cells, held against its limit. Cells of one run have none (too few)."""
    if any(cell.count < MIN_REPLICATES for cell in samples.cells):
        return [], analysis
    mean = _mean_variance(samples.cells)
    if max(mean) >= 10**LIMITS.digits:
        long = f"a variance of more than {LIMITS.digits} digits"
        return [ClaimFinding(Fault.TOO_MUCH_WORK, contract.contract, long)], analysis
    analysis = replace(analysis, variance=exact_pair(*mean))
    if compare(mean, Ratio(int(limit.numerator), limit.denominator)) <= 0:
        return [], analysis
    got = f"mean variance {mean.numerator}/{mean.denominator}"
    detail = f"{got}, expected at most {limit.numerator}/{limit.denominator}"
    return [ClaimFinding(Fault.VARIANCE_ABOVE, contract.contract, detail)], analysis


def _mean_variance(cells: tuple[Cell, ...]) -> Ratio:
    scale = lcm(*{cell.count * (cell.count - 1) for cell in cells})
    total = sum(
        (cell.count * cell.squares - cell.sum**2) * (scale // (cell.count * (cell.count - 1)))
        for cell in cells
    )
    return Ratio(total, scale * len(cells))
