"""The coverage matrix: profiles by arms, who arrived and who is missing.

A cell counts the replicates that were promised and those whose one sound terminal is held. What is shown is
bounded: of a long matrix the profiles with something missing come first, and what is left out is counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

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
        missing: assignments without a terminal, in manifest order; the first few.
        missing_count: how many there are.
    """

    arms: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    more_arms: int
    more_rows: int
    whole_rows: int
    missing: tuple[str, ...]
    missing_count: int


def coverage_matrix(chain: ChainReport, *, rows: int = ROWS, arms: int = ARMS) -> Matrix | None:
    """The matrix; None without a manifest, for then nobody knows what was promised.

    Args:
        rows: the most profiles that are shown.
        arms: the most arms that are shown.
    """
    manifest = chain.manifest
    if manifest is None:
        return None
    absent = _absent(chain)
    expected: Counter[tuple[str, str]] = Counter()
    arrived: Counter[tuple[str, str]] = Counter()
    missing = []
    for entry in manifest.assignments:
        expected[entry.profile, entry.arm] += 1
        if entry.assignment in absent:
            missing.append(entry.assignment)
        else:
            arrived[entry.profile, entry.arm] += 1
    names = [arm.arm for arm in manifest.arms]
    lacking = [
        profile
        for profile in manifest.profiles
        if any(arrived[profile, arm] < expected[profile, arm] for arm in names)
    ]
    shown = _shown(manifest.profiles, lacking, rows)
    return Matrix(
        arms=tuple(names[:arms]),
        rows=tuple(
            MatrixRow(
                profile,
                tuple(
                    MatrixCell(expected[profile, arm], arrived[profile, arm])
                    if expected[profile, arm]
                    else None
                    for arm in names[:arms]
                ),
            )
            for profile in shown
        ),
        more_arms=max(0, len(names) - arms),
        more_rows=len(manifest.profiles) - len(shown),
        whole_rows=len(manifest.profiles) - len(lacking),
        missing=tuple(missing[:MISSING]),
        missing_count=len(missing),
    )


def _absent(chain: ChainReport) -> set[str]:
    """Assignments without one sound terminal."""
    if chain.manifest is None or len(chain.terminals) < chain.arrived:
        # Terminals of a stream are counted and not kept; the findings name those that are missing.
        return {finding.subject for finding in chain.findings if finding.reason in _NO_TERMINAL}
    return {entry.assignment for entry in chain.manifest.assignments} - chain.terminals.keys()


def _shown(profiles: tuple[str, ...], lacking: list[str], limit: int) -> list[str]:
    """At most `limit` profiles in manifest order; those that lack something are the last to be left out."""
    if len(profiles) <= limit:
        return list(profiles)
    short = set(lacking[:limit])
    room = limit - len(short)
    kept = []
    for profile in profiles:
        if profile in short:
            kept.append(profile)
        elif room > 0:
            kept.append(profile)
            room -= 1
    return kept
