"""The report bundle: what was reported, cell by cell, to be held against what is recomputed.

It carries no signature. Nothing is believed because it stands here: each cell must come out again.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from agentbeat_protocol.models import Array, Digest, Strict, rule_error
from agentbeat_receipts.objects.base import Base64, Body, Counted, ExactInteger, Id, Pair, Positive, type_name

__all__ = ["ReportBundle", "ReportedAnalysis", "ReportedCell"]


class ReportedCell(Strict):
    """The sum and count of one value's integers over one profile-arm cell."""

    profile: Id
    arm: Id
    value: Id
    sum: ExactInteger
    count: Counted
    #: How many runs of the cell had no value, by reason. Count and nulls together are all its runs.
    nulls: dict[Id, Positive]


class ReportedAnalysis(Strict):
    """How a contract's numbers were made, as reported."""

    contract: Id
    #: How many subjects the analysis had.
    subjects: Counted
    seed: Base64 | None
    draws: Positive | None
    input_order: Literal["manifest", "other"]
    #: The numbers that were reported, as ratios; null where none was.
    estimate: Pair | None
    lower: Pair | None
    upper: Pair | None


class ReportBundle(Body):
    """Every cell that the manifest promises, as reported."""

    TYPE: ClassVar[str] = type_name("report-bundle")

    manifest: Digest
    #: Whether the reporter says that no promised cell is missing.
    complete: bool
    cells: Array[ReportedCell]
    analyses: Array[ReportedAnalysis]

    @model_validator(mode="after")
    def _each_cell_once(self) -> Self:
        cells = {(cell.profile, cell.arm, cell.value) for cell in self.cells}
        if len(cells) != len(self.cells):
            raise rule_error("X-REPORT", "each cell once")
        if len({analysis.contract for analysis in self.analyses}) != len(self.analyses):
            raise rule_error("X-REPORT", "each contract once")
        return self
