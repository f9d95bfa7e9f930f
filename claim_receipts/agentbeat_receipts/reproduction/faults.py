"""Every fault and every benign change of the catalogue, one at a time, on the small honest market it brings.

A fault is as expected when every verdict and every reason is what the catalogue says; a benign change is a
false alarm when anything at all does not pass. Together with each other they are tried by the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from agentbeat_receipts.tampering import CatalogueResults, Trial
from agentbeat_receipts.tampering.cases import Layer

__all__ = ["fault_rows"]


def fault_rows(results: CatalogueResults) -> Iterator[tuple[str, str]]:
    """All faults, those of each layer, and all benign changes; those that are not as expected by name."""
    met, tried = results.faults_as_expected, len(results.faults)
    yield "faults", f"{met}/{tried} as expected"
    for layer in get_args(Layer):
        of_layer = [trial for trial in results.faults if trial.fault and trial.fault.layer == layer]
        yield f"faults of {layer}", _as_expected(of_layer)
    alarms = [trial.benign.name for trial in results.benign if trial.benign and not trial.as_expected]
    counted = f"{len(alarms)}/{len(results.benign)} false alarms"
    yield "benign changes", f"{counted}: {', '.join(alarms)}" if alarms else counted


def _as_expected(trials: Sequence[Trial]) -> str:
    if not trials:
        return "none was tried"
    others = [trial.fault.name for trial in trials if trial.fault and not trial.as_expected]
    return f"not as expected: {', '.join(others)}" if others else "all as expected"
