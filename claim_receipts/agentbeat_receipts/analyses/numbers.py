"""The numbers of an analysis as objects carry them, and whether a report has the same ones.

A reported number is equal to ours when cross-multiplication says so: 77/2 is 154/4. A ratio whose denominator
is not positive is equal to nothing. What was not reported contradicts nothing, and what could not be computed
here contradicts no report; but a bound that the contract has none of is one that nothing can bear out.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from agentbeat_receipts.canonical import MAX_INTEGER
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.results import Analysis, ClaimFinding
from agentbeat_receipts.objects import Contract, Margin, Pair, Quotient, ReportedAnalysis
from agentbeat_receipts.statistics import Bound, Ratio, Resampling, bootstrap_bounds, compare

__all__ = [
    "bounds_of",
    "envelope",
    "exact_pair",
    "margin_ratio",
    "margin_text",
    "report_findings",
    "shown",
    "side",
]


def exact_pair(numerator: int, denominator: int) -> Pair:
    """A ratio as objects carry it: integers beyond ±(2^53-1) as decimal strings."""
    return Pair(pair=(_exact(numerator), _exact(denominator)))


def shown(pair: Pair) -> str:
    """A ratio for a message."""
    return f"{pair.pair[0]}/{pair.pair[1]}"


def bounds_of(contract: Contract, contrasts: Sequence[int], quantiles: Sequence[Ratio]) -> tuple[Bound, ...]:
    """The quantiles of the contract's bootstrap over these contrasts.

    Raises:
        TooMuchWork: it would take more than the limits allow.
    """
    if contract.seed is None or contract.draws is None:
        return bootstrap_bounds(contrasts, quantiles)
    return bootstrap_bounds(contrasts, quantiles, Resampling(base64.b64decode(contract.seed), contract.draws))


def envelope(bound: Bound, denominator: int) -> tuple[Pair, Pair]:
    """The ends of a bound's envelope as ratios."""
    return exact_pair(bound.low, denominator), exact_pair(bound.high, denominator)


def margin_ratio(margin: Margin) -> Ratio:
    """What a contract holds a mean against."""
    return _ratio(margin) if isinstance(margin, Quotient) else Ratio(int(margin), 1)


def margin_text(margin: Margin, *, sign: int = 1) -> str:
    """The same for a message, negated where the sign is -1: an integer as it is, or a ratio."""
    numerator, denominator = margin_ratio(margin)
    return f"{sign * numerator}/{denominator}" if isinstance(margin, Quotient) else f"{sign * numerator}"


def side(bound: Bound, denominator: int, boundary: Ratio) -> int:
    """1 or -1 where the whole envelope, over a denominator, is above or below the boundary.

    0 where the boundary is in the envelope or on its end.
    """
    low, high = (compare(Ratio(end, denominator), boundary) for end in (bound.low, bound.high))
    return (low > 0) - (high < 0)


def report_findings(
    contract: Contract, analysis: Analysis, reported: ReportedAnalysis | None, *, bounds: Sequence[str]
) -> tuple[ClaimFinding, ...]:
    """What a report says of a contract's analysis and does not come out again.

    Args:
        contract: the contract.
        analysis: as computed here.
        reported: as reported; None where nothing was.
        bounds: which of `lower` and `upper` the contract asks for.
    """
    if reported is None:
        return ()
    found = []
    declared = (contract.seed, contract.draws, contract.input_order)
    if (reported.seed, reported.draws, reported.input_order) != declared:
        names = ("seed", "draws", "input order")
        said = (reported.seed, reported.draws, reported.input_order)
        others = [name for name, got, expected in zip(names, said, declared, strict=True) if got != expected]
        found.append((Fault.ANALYSIS_CONTRADICTS_CONTRACT, f"other {' and '.join(others)} than declared"))
    if reported.subjects != analysis.subjects:
        found.append(
            (Fault.SUBJECTS_DIFFER, f"{reported.subjects} subjects, expected {analysis.subjects} profiles")
        )
    numbers = (
        ("estimate", reported.estimate, analysis.estimate),
        ("lower", reported.lower, analysis.lower),
        ("upper", reported.upper, analysis.upper),
    )
    for name, said_of_it, ours in numbers:
        if said_of_it is None:
            continue
        if name not in ("estimate", *bounds):
            found.append((Fault.ANALYSIS_DIFFERS, f"{name} bound {shown(said_of_it)}, expected none"))
        elif ours is not None and not _equal(said_of_it, ours):
            found.append((Fault.ANALYSIS_DIFFERS, f"{name} {shown(said_of_it)}, expected {shown(ours)}"))
    return tuple(ClaimFinding(fault, contract.contract, detail) for fault, detail in found)


def _equal(reported: Pair, ours: Pair) -> bool:
    said = _ratio(reported)
    return said.denominator > 0 and compare(said, _ratio(ours)) == 0


def _ratio(pair: Pair | Quotient) -> Ratio:
    return Ratio(int(pair.pair[0]), int(pair.pair[1]))


def _exact(number: int) -> int | str:
    return number if -MAX_INTEGER <= number <= MAX_INTEGER else str(number)
