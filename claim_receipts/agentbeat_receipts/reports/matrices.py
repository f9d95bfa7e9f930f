"""The coverage matrix: profiles by arms, who arrived and who is missing.

A cell counts the replicates that were promised and those whose one sound terminal is held. What is shown is
bounded: of a long matrix the profiles with something missing come first, and what is left out is counted.

Counts are those of the verdict, exact for a batch of any length. The names of what is missing are looked up:
among the terminals, or, where a stream has only counted them, among the findings, which do not name each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from agentbeat_receipts.claims.results import ClaimReport
from agentbeat_receipts.objects import Manifest
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import ChainReport

__all__ = ["Matrix", "MatrixCell", "MatrixRow", "coverage_matrix"]

ROWS: Final = 100
ARMS: Final = 16
MISSING: Final = 50

_NO_TERMINAL: Final = frozenset({Reason.TERMINAL_MISSING, Reason.RIVAL_TERMINALS})


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The runs of one profile under one arm."""

    expected: int
    arrived: int


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One profile; None where an arm was promised no run of it."""

    profile: str
    cells: tuple[MatrixCell | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """What is shown of the assignment matrix.

    Args:
        arms: the columns, in manifest order.
        rows: the profiles in manifest order.
        more_arms, more_rows: how many of each are left out.
        whole_rows: how many profiles lack nothing.
        missing: assignments without one terminal, in manifest order; the first few of those whose names are
            known.
        missing_count: how many there are.
    """

    arms: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    more_arms: int
    more_rows: int
    whole_rows: int
    missing: tuple[str, ...]
    missing_count: int


def coverage_matrix(report: ClaimReport, *, rows: int = ROWS, arms: int = ARMS) -> Matrix | None:
    """The matrix; None without a manifest, for then nobody knows what was promised.

    Args:
        rows: the most profiles that are shown.
        arms: the most arms that are shown.
    """
    manifest, arrived = report.chain.manifest, report.runs
    if manifest is None:
        return None
    expected = Counter(manifest.cells())
    short = {place: count - arrived.get(place, 0) for place, count in expected.items()}
    lacking = {profile for (profile, _), count in short.items() if count}
    names = [arm.arm for arm in manifest.arms]
    shown = _shown(manifest.profiles, lacking, rows)

    def cell(place: tuple[str, str]) -> MatrixCell | None:
        return MatrixCell(expected[place], arrived.get(place, 0)) if expected[place] else None

    return Matrix(
        arms=tuple(names[:arms]),
        rows=tuple(MatrixRow(name, tuple(cell((name, arm)) for arm in names[:arms])) for name in shown),
        more_arms=max(0, len(names) - arms),
        more_rows=len(manifest.profiles) - len(shown),
        whole_rows=len(manifest.profiles) - len(lacking),
        missing=tuple(islice(_missing(report.chain, manifest), MISSING)),
        missing_count=sum(short.values()),
    )


def _missing(chain: ChainReport, manifest: Manifest) -> Iterator[str]:
    """Assignments that are known to be without one sound terminal, in manifest order."""
    names = (entry.assignment for entry in manifest.assignments)
    if len(chain.terminals) == chain.arrived:
        return (name for name in names if name not in chain.terminals)
    found = {finding.subject for finding in chain.findings if finding.reason in _NO_TERMINAL}
    return (name for name in names if name in found)


def _shown(profiles: tuple[str, ...], lacking: set[str], limit: int) -> list[str]:
    """At most `limit` profiles in manifest order; those that lack something are the last to be left out."""
    if len(profiles) <= limit:
        return list(profiles)
    short = set(islice((profile for profile in profiles if profile in lacking), limit))
    room = limit - len(short)
    kept = []
    for profile in profiles:
        if profile in short:
            kept.append(profile)
        elif room > 0:
            kept.append(profile)
            room -= 1
    return kept
