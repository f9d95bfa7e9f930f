"""The report bundle of a batch: every promised cell, and the numbers of each contract, from disclosed values.

A cell is a case under an arm with one disclosed value. It is reported when all its runs are there and their
values are integers and typed nulls; pairs and decimal strings are not summed. The contracts' numbers are
reported once all runs are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agentbeat_receipts.analyses import judge_direction, judge_stability
from agentbeat_receipts.claims import Cell
from agentbeat_receipts.objects import (
    DirectionContract,
    Manifest,
    Receipt,
    ReportBundle,
    ReportedAnalysis,
    ReportedCell,
)

__all__ = ["report_bundle"]


def report_bundle(manifest: Manifest, receipts: Iterable[Receipt]) -> ReportBundle:
    """What is reported of the runs so far.

    Args:
        receipts: one for each assignment that has ended.
    """
    held = {receipt.assignment: receipt for receipt in receipts}
    cells = dict(_cells(manifest, held))
    complete = len(held) == len(manifest.assignments)
    return ReportBundle(
        manifest=manifest.digest(),
        complete=complete,
        cells=tuple(
            ReportedCell(
                profile=profile,
                arm=arm,
                value=value,
                sum=cell.sum,
                count=cell.count,
                nulls=dict(cell.nulls),
            )
            for (profile, arm, value), cell in cells.items()
        ),
        analyses=tuple(_analyses(manifest, cells)) if complete else (),
    )


def _cells(manifest: Manifest, held: Mapping[str, Receipt]) -> Iterator[tuple[tuple[str, str, str], Cell]]:
    """The cells that are whole and can be summed, in the order of the manifest."""
    places: dict[tuple[str, str], list[Receipt | None]] = {}
    for entry in manifest.assignments:
        places.setdefault((entry.profile, entry.arm), []).append(held.get(entry.assignment))
    for (profile, arm), runs in places.items():
        whole = [run for run in runs if run is not None]
        if len(whole) < len(runs):
            continue
        for value in manifest.disclosed:
            cell = Cell()
            for run in whole:
                cell.add(run.values[value])
            if not cell.others:
                yield (profile, arm, value), cell


def _analyses(manifest: Manifest, cells: Mapping[tuple[str, str, str], Cell]) -> Iterator[ReportedAnalysis]:
    for contract in manifest.contracts:
        own = {
            (profile, arm): cell for (profile, arm, value), cell in cells.items() if value == contract.outcome
        }
        if isinstance(contract, DirectionContract):
            _, analysis = judge_direction(contract, manifest, own, None)
        else:
            _, analysis = judge_stability(contract, manifest, own, None)
        yield ReportedAnalysis(
            contract=contract.contract,
            subjects=analysis.subjects,
            seed=contract.seed,
            draws=contract.draws,
            input_order="manifest",
            estimate=analysis.estimate,
            lower=analysis.lower,
            upper=analysis.upper,
        )
