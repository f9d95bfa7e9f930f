"""What is reported otherwise than promised or recomputed, and contracts that are absent or not met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from agentbeat_receipts.claims.results import Licence
from agentbeat_receipts.objects import (
    ComparisonGroup,
    Contract,
    Document,
    ReportBundle,
    ReportedCell,
)
from agentbeat_receipts.tampering.cases import Expected, FaultCase, Party, Timing
from agentbeat_receipts.tampering.exhibits import Exhibit, changed
from agentbeat_receipts.tampering.makings import DIRECTION, STABILITY, Making, make
from agentbeat_receipts.verification.reasons import Verdict

__all__ = ["REPORTED"]

_CELL: Final = ("p-1", "guarded", "buyer_surplus")
_ANALYSED: Final = Expected.but(Verdict.INVALID, "C1", "C3")


def _reported(making: Making, change: Callable[[ReportBundle], ReportBundle]) -> Exhibit:
    """The same batch with another report, which nobody signs."""
    exhibit = make(making)
    return replace(exhibit, report=Document(body=change(exhibit.reported())))


def _analyses(making: Making, **members: Any) -> Exhibit:
    """Each analysis is reported with other members."""
    return _reported(
        making,
        lambda report: changed(report, analyses=tuple(changed(made, **members) for made in report.analyses)),
    )


def _is_the_cell(cell: ReportedCell) -> bool:
    return (cell.profile, cell.arm, cell.value) == _CELL


def _favourable(report: ReportBundle) -> ReportBundle:
    """One cell over one of its two runs only."""
    cells = tuple(
        cell.model_copy(update={"sum": int(cell.sum) // 2, "count": 1}) if _is_the_cell(cell) else cell
        for cell in report.cells
    )
    return changed(report, cells=cells)


def _left_out(report: ReportBundle, *, complete: bool) -> ReportBundle:
    cells = tuple(cell for cell in report.cells if not _is_the_cell(cell))
    return changed(report, cells=cells, complete=complete)


def _contracts(making: Making, *contracts: Contract) -> Exhibit:
    return make(replace(making, manifest={**making.manifest, "contracts": contracts}))


def _apart(making: Making) -> Exhibit:
    """No contract, and no two arms in one comparison group."""
    groups = tuple(ComparisonGroup(group=arm, arms=(arm,), may_differ=()) for arm in making.promised)
    return make(replace(making, manifest={**making.manifest, "contracts": (), "comparison_groups": groups}))


REPORTED: Final = (
    FaultCase(
        name="replicates counted as subjects",
        layer="L2",
        timing=Timing.POST,
        by=Party.REPORTER,
        done="the report's analyses have 8 subjects: 4 profiles, twice each",
        rule="subjects are profiles; replicates average inside their cell",
        expected=replace(_ANALYSED, codes=("subjects_differ",)),
        make=lambda making: _analyses(making, subjects=8),
    ),
    FaultCase(
        name="another seed",
        layer="L2",
        timing=Timing.POST,
        by=Party.REPORTER,
        done="the report's analyses were made with another seed than their contracts'",
        rule="seed, draws and order are the contract's",
        expected=replace(_ANALYSED, codes=("analysis_contradicts_contract",)),
        make=lambda making: _analyses(making, seed="bHVja3k="),
    ),
    FaultCase(
        name="other draws",
        layer="L2",
        timing=Timing.POST,
        by=Party.REPORTER,
        done="the report's analyses were made with 201 draws",
        rule="seed, draws and order are the contract's",
        expected=replace(_ANALYSED, codes=("analysis_contradicts_contract",)),
        make=lambda making: _analyses(making, draws=201),
    ),
    FaultCase(
        name="another order",
        layer="L2",
        timing=Timing.POST,
        by=Party.REPORTER,
        done="the report's analyses took profiles in another order than the manifest's",
        rule="seed, draws and order are the contract's",
        expected=replace(_ANALYSED, codes=("analysis_contradicts_contract",)),
        make=lambda making: _analyses(making, input_order="other"),
    ),
    FaultCase(
        name="selective reporting",
        layer="L2",
        timing=Timing.POST,
        by=Party.REPORTER,
        done="one cell is reported over one of its two runs",
        rule="a cell's sum and count are recomputed over the whole cell",
        expected=Expected.but(Verdict.INVALID, "C4", codes=("cell_differs",)),
        make=lambda making: _reported(making, _favourable),
    ),
    FaultCase(
        name="cell left out",
        layer="L3",
        timing=Timing.POST,
        by=Party.REPORTER,
        done="one cell is not reported, in a report that says that it is complete",
        rule="a report that says it is complete has every promised cell",
        expected=Expected.but(Verdict.INVALID, "C4", codes=("cell_missing",)),
        make=lambda making: _reported(making, lambda report: _left_out(report, complete=True)),
    ),
    FaultCase(
        name="incomplete report that says so",
        layer="L3",
        timing=Timing.POST,
        by=Party.REPORTER,
        done="one cell is not reported, in a report that says that it is not complete",
        rule="what is missing, and said to be, is not claimed",
        expected=Expected.but(Verdict.NO_EVIDENCE, "C4", codes=("cell_missing_as_said",)),
        make=lambda making: _reported(making, lambda report: _left_out(report, complete=False)),
    ),
    FaultCase(
        name="contract absent",
        layer="L2",
        timing=Timing.PRE,
        by=Party.MANIFEST,
        done="the manifest has no contract",
        rule="what was never asserted is not judged: I_C",
        expected=Expected.but(
            Verdict.NO_CONTRACT, "C1", "C3", licence=Licence.DESCRIPTIVE, codes=("contract_absent",)
        ),
        make=_contracts,
    ),
    FaultCase(
        name="nothing compared",
        layer="L2",
        timing=Timing.PRE,
        by=Party.MANIFEST,
        done="each arm has a comparison group to itself, and the manifest has no contract",
        rule="it takes two arms to compare; what was never asserted is not judged: I_C",
        expected=Expected.but(Verdict.NO_CONTRACT, "C1", "C2", "C3", codes=("contract_absent",)),
        make=_apart,
    ),
    FaultCase(
        name="boundary inside the envelope, C1",
        layer="L2",
        timing=Timing.PRE,
        by=Party.MANIFEST,
        done="the threshold of C1 is what its bound may be, as far as the draws can tell",
        rule="a boundary inside or on the envelope of its quantile decides nothing: I_E",
        expected=Expected.but(
            Verdict.NO_EVIDENCE, "C1", licence=Licence.DESCRIPTIVE, codes=("boundary_in_envelope",)
        ),
        make=lambda making: _contracts(making, changed(DIRECTION, threshold=200), STABILITY),
    ),
    FaultCase(
        name="boundary inside the envelope, C3",
        layer="L2",
        timing=Timing.PRE,
        by=Party.MANIFEST,
        done="the contract asks welfare to stay inside \u00b10, and the interval is 0 to 0",
        rule="the interval lies strictly inside its boundaries: I_E",
        expected=Expected.but(
            Verdict.NO_EVIDENCE, "C3", licence=Licence.DESCRIPTIVE, codes=("boundary_in_envelope",)
        ),
        make=lambda making: _contracts(
            making, DIRECTION, changed(STABILITY, boundary={"kind": "equivalence", "delta": 0})
        ),
    ),
)
