"""From cells to integers that can be compared: who takes part, what stands against it, and the common scale.

Replicates average inside their profile-arm cell. A cell of c integers with the sum s has the mean s/c; with L
the least common multiple of all counts it is the integer s·L/c, over L. In a whole batch every count is the
number of replicates, and L too. Everything after that is a sum of integers over one denominator.

Profiles take part that the manifest promises under every arm that is compared. One that it promises under
some of them only has nothing to be contrasted with; but its cells must be there all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from math import lcm
from typing import Final

from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.results import ClaimFinding
from agentbeat_receipts.claims.tallies import Cell
from agentbeat_receipts.objects import Contract, Manifest
from agentbeat_receipts.statistics import LIMITS

__all__ = ["MIN_PROFILES", "Cells", "Gathered", "Samples", "gather"]

#: Fewer profiles show nothing (C1, C3).
MIN_PROFILES: Final = 4
#: How many cells are named for one fault.
_NAMED: Final = 3

#: The cells of the analysed value by (profile, arm).
Cells = Mapping[tuple[str, str], Cell]

_NOTHING: Final = Cell()


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The cell means of the profiles that take part, as integers over one scale.

    Args:
        scale: L, what each number is to be divided by.
        means: by arm, one scaled cell mean for each profile in the manifest's order.
        cells: every cell that takes part.
    """

    scale: int
    means: Mapping[str, tuple[int, ...]]
    cells: tuple[Cell, ...]

    @property
    def size(self) -> int:
        """How many profiles take part."""
        return len(next(iter(self.means.values())))

    @property
    def denominator(self) -> int:
        """What a sum of one number for each profile is to be divided by to give a mean."""
        return self.size * self.scale

    @property
    def longest(self) -> int:
        """No sum that an analysis makes of these is greater, either way."""
        return self.size * max(self.scale, *(2 * abs(mean) for row in self.means.values() for mean in row))

    def contrasts(self, minuend: str, subtrahend: str) -> tuple[int, ...]:
        """One arm minus another inside each profile, scaled."""
        pairs = zip(self.means[minuend], self.means[subtrahend], strict=True)
        return tuple(one - other for one, other in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What an analysis begins with.

    Args:
        subjects: how many profiles are promised under every arm that is compared.
        findings: what stands against the analysis before it is made.
        samples: its numbers; None where a cell has no mean or no profile takes part.
    """

    subjects: int
    findings: tuple[ClaimFinding, ...]
    samples: Samples | None


def gather(
    contract: Contract, manifest: Manifest, cells: Cells, *, arms: tuple[str, ...], replicates: int
) -> Gathered:
    """The cells of the arms that a contract compares, looked at and scaled.

    Args:
        contract: the contract.
        manifest: what is promised.
        cells: of the contract's outcome.
        arms: those that are compared.
        replicates: how many runs each cell must have at least.
    """
    promised = manifest.cells()
    keys = [(profile, arm) for profile in manifest.profiles for arm in dict.fromkeys(arms)]
    unpaired = {profile for profile, arm in keys if (profile, arm) not in promised}
    paired = tuple(profile for profile in manifest.profiles if profile not in unpaired)
    present = {key: cells.get(key, _NOTHING) for key in keys if key in promised}
    analysed = {key: cell for key, cell in present.items() if key[0] not in unpaired}

    bare = _named(Fault.CELL_EMPTY, {key: "no run" for key, cell in present.items() if not _runs(cell)})
    bare += _named(
        Fault.VALUE_IS_NULL, {key: _nulls(cell) for key, cell in analysed.items() if cell.nulls.total()}
    )
    bare += _named(
        Fault.VALUE_IS_NO_INTEGER,
        {key: f"{cell.others} pairs or decimals" for key, cell in analysed.items() if cell.others},
    )
    findings = bare + _named(
        Fault.TOO_FEW_REPLICATES,
        {
            key: f"{_runs(cell)} runs, expected {replicates}"
            for key, cell in analysed.items()
            if 0 < _runs(cell) < replicates
        },
    )
    if len(paired) < MIN_PROFILES:
        few = f"{len(paired)} under every arm, expected {MIN_PROFILES}"
        findings.append(ClaimFinding(Fault.TOO_FEW_PROFILES, contract.contract, few))
    samples = _scaled(paired, arms, analysed) if paired and not bare else None
    if samples is not None and samples.longest >= 10**LIMITS.digits:
        long = f"numbers of more than {LIMITS.digits} digits"
        findings.append(ClaimFinding(Fault.TOO_MUCH_WORK, contract.contract, long))
        samples = None
    return Gathered(subjects=len(paired), findings=tuple(findings), samples=samples)


def _named(fault: Fault, found: Mapping[tuple[str, str], str]) -> list[ClaimFinding]:
    """The first few cells with a fault, in the manifest's order."""
    return [
        ClaimFinding(fault, f"{profile}/{arm}", f"{detail}; one of {len(found)} such cells")
        for (profile, arm), detail in islice(found.items(), _NAMED)
    ]


def _scaled(paired: tuple[str, ...], arms: tuple[str, ...], cells: Cells) -> Samples:
    scale = lcm(*{cell.count for cell in cells.values()})
    means = {
        arm: tuple(cells[profile, arm].sum * (scale // cells[profile, arm].count) for profile in paired)
        for arm in arms
    }
    return Samples(scale=scale, means=means, cells=tuple(cells.values()))


def _runs(cell: Cell) -> int:
    return cell.count + cell.nulls.total() + cell.others


def _nulls(cell: Cell) -> str:
    reason, _ = min(cell.nulls.items(), key=lambda item: (-item[1], item[0]))
    return f"{cell.nulls.total()} of {_runs(cell)} runs null, {reason} first"
