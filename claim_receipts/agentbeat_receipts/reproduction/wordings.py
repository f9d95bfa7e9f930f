"""Verdicts and numbers as the tables write them.

>>> amount_text(Pair(pair=(46200, 12))), amount_text(Pair(pair=(-1, 3)))
('38.50', '-1/300')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from agentbeat_receipts.claims import ClaimReport, ClaimVerdict
from agentbeat_receipts.objects import Pair
from agentbeat_receipts.verification import Verdict

__all__ = ["amount_text", "letters", "reasons_text", "undetermined", "verdict_letter"]

_LETTERS: Final[Mapping[Verdict, str]] = MappingProxyType(
    {Verdict.PASS: "P", Verdict.INVALID: "X", Verdict.INCONCLUSIVE_COVERAGE: "I_cov"}
)


def verdict_letter(verdict: Verdict) -> str:
    """A verdict as in the paper's grid: P, X, I_C, I_E; I_cov where coverage is inconclusive."""
    return _LETTERS.get(verdict, str(verdict))


def letters(report: ClaimReport, claims: Iterable[str]) -> str:
    """The verdicts of some claims, one after the other."""
    return " ".join(verdict_letter(report.claim(claim).verdict) for claim in claims)


def undetermined(verdict: Verdict) -> bool:
    """Whether a verdict is neither Pass nor Invalid."""
    return verdict not in (Verdict.PASS, Verdict.INVALID)


def reasons_text(verdict: ClaimVerdict) -> str:
    """Why a claim does not pass: its faults, sorted, each once."""
    return ", ".join(sorted({str(finding.fault) for finding in verdict.findings}))


def amount_text(mean: Pair | None) -> str:
    """A mean in hundredths as an amount: decimal where two places are exact, else a ratio."""
    if mean is None:
        return "none"
    total, count = (int(number) for number in mean.pair)
    hundredths = Fraction(total, count)
    if hundredths.denominator != 1:
        return str(hundredths / 100)
    sign = "-" if hundredths < 0 else ""
    whole, rest = divmod(abs(hundredths.numerator), 100)
    return f"{sign}{whole}.{rest:02}"
