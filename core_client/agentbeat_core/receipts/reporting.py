"""The report bundle of a batch: the sum, count and nulls of every promised cell, from the disclosed values.

A cell is a case under an arm with one disclosed value. It is reported when all its runs are there and their
values are integers and typed nulls; pairs and decimal strings are not summed.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentbeat_receipts.claims import Cell
from agentbeat_receipts.objects import Manifest, Receipt, ReportBundle, ReportedAnalysis, ReportedCell

__all__ = ["report_bundle"]


def report_bundle(manifest: Manifest, receipts: Iterable[Receipt]) -> ReportBundle:
    """What is reported of the runs so far.

    Args:
        receipts: one for each assignment that has ended.
    """
    held = {receipt.assignment: receipt for receipt in receipts}
    places: dict[tuple[str, str], list[Receipt | None]] = {}
    for entry in manifest.assignments:
        places.setdefault((entry.profile, entry.arm), []).append(held.get(entry.assignment))
    cells = []
    for (profile, arm), runs in places.items():
        whole = [run for run in runs if run is not None]
        if len(whole) < len(runs):
            continue
        for value in manifest.disclosed:
            cell = Cell()
            for run in whole:
                cell.add(run.values[value])
            if not cell.others:
                cells.append(
                    ReportedCell(
                        profile=profile,
                        arm=arm,
                        value=value,
                        sum=cell.sum,
                        count=cell.count,
                        nulls=dict(cell.nulls),
                    )
                )
    return ReportBundle(
        manifest=manifest.digest(),
        complete=len(held) == len(manifest.assignments),
        cells=tuple(cells),
        analyses=tuple(
            ReportedAnalysis(
                contract=contract.contract,
                subjects=len(manifest.profiles),
                seed=contract.seed,
                draws=contract.draws,
                input_order="manifest",
                estimate=None,
                lower=None,
                upper=None,
            )
            for contract in manifest.contracts
        ),
    )
