"""Manifests with a contract, and cells that hold given values, for the analyses of C1 and C3."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentbeat_receipts.analyses import judge_direction, judge_stability
from agentbeat_receipts.claims import Analysis, Cell, ClaimFinding, ClaimValue, Fault
from agentbeat_receipts.objects import (
    Arm,
    Assignment,
    Contract,
    DirectionContract,
    Manifest,
    Pair,
    ReportedAnalysis,
    StabilityContract,
)
from agentbeat_receipts.statistics import Ratio, compare
from support.receipt_batches import COMPONENT_DIGESTS, manifest

__all__ = [
    "SEED",
    "Judged",
    "Rows",
    "cells_of",
    "direction",
    "equal",
    "faults",
    "judged_direction",
    "judged_stability",
    "promised",
    "ratio",
    "reported",
    "stability",
    "steps",
    "switches",
]

SEED = base64.b64encode(b"a seed").decode()

#: One row of values for each profile: by arm, the values of its replicates.
Rows = Sequence[Mapping[str, Sequence[ClaimValue]]]
Judged = tuple[tuple[ClaimFinding, ...], Analysis]


def _shared(changes: Mapping[str, Any]) -> dict[str, Any]:
    drawn = changes.get("estimator") == "mc"
    return {
        "contract": "contract",
        "outcome": "surplus",
        "nesting": "replicates_in_cells_in_profiles",
        "pairing": "within_profile",
        "estimator": "exact",
        "seed": SEED if drawn else None,
        "draws": 2000 if drawn else None,
        "input_order": "manifest",
        "interval": "ceil_rank",
    }


def direction(**changes: Any) -> DirectionContract:
    """C1 over low, middle, high: increasing, threshold 0, exact."""
    own: dict[str, Any] = {
        "claim": "C1",
        "estimand": "strongest_minus_weakest",
        "levels": ("low", "middle", "high"),
        "direction": "increasing",
        "threshold": 0,
    }
    return DirectionContract(**{**_shared(changes), **own, **changes})


def stability(**changes: Any) -> StabilityContract:
    """C3 of on minus off: sign at 0, no limit of the variance, exact."""
    own: dict[str, Any] = {
        "claim": "C3",
        "estimand": "mean_contrast",
        "contrast": {"minuend": "on", "subtrahend": "off"},
        "boundary": {"kind": "sign", "at": 0},
        "max_variance": None,
    }
    return StabilityContract(**{**_shared(changes), **own, **changes})


def promised(contract: Contract, rows: Rows, *, replicates: int | None = None) -> Manifest:
    """The manifest of these rows: a profile under the arms that its row has.

    Args:
        contract: the one contract.
        rows: what each profile is promised under, p-0 first.
        replicates: how many runs a cell has; as many as the first value's where not given.
    """
    count = replicates or max(len(values) for row in rows for values in row.values())
    arms = dict.fromkeys(arm for row in rows for arm in row)
    return manifest(
        profiles=tuple(f"p-{place}" for place in range(len(rows))),
        arms=tuple(Arm(arm=arm, components=COMPONENT_DIGESTS, treatments=()) for arm in arms),
        assignments=tuple(
            Assignment(
                assignment=f"p-{place}.{arm}.{number}", profile=f"p-{place}", arm=arm, replicate=number
            )
            for place, row in enumerate(rows)
            for arm in row
            for number in range(1, count + 1)
        ),
        comparison_groups=(),
        replicates=count,
        contracts=(contract,),
    )


def cells_of(rows: Rows) -> dict[tuple[str, str], Cell]:
    """The cells of these rows."""
    return {
        (f"p-{place}", arm): _filled(values) for place, row in enumerate(rows) for arm, values in row.items()
    }


def reported(subjects: int, **changes: Any) -> ReportedAnalysis:
    """A report of an exact analysis that gives no numbers."""
    members: dict[str, Any] = {
        "contract": "contract",
        "subjects": subjects,
        "seed": None,
        "draws": None,
        "input_order": "manifest",
        "estimate": None,
        "lower": None,
        "upper": None,
    }
    return ReportedAnalysis(**{**members, **changes})


def _filled(values: Iterable[ClaimValue]) -> Cell:
    cell = Cell()
    for value in values:
        cell.add(value)
    return cell


def steps(contrasts: Sequence[int], *, sign: int = 1, base: int = 100) -> Rows:
    """Three levels, once each: a base, half of the contrast above it, all of it above it."""
    return [
        {"low": [base], "middle": [base + sign * (contrast // 2)], "high": [base + sign * contrast]}
        for contrast in contrasts
    ]


def switches(contrasts: Sequence[int], *, replicates: int = 2, spread: int = 0) -> Rows:
    """Two arms with these contrasts; replicates of a cell lie `spread` apart around its mean."""
    around = [spread * (2 * place - replicates + 1) for place in range(replicates)]
    return [
        {"off": [100 + by for by in around], "on": [100 + contrast + by for by in around]}
        for contrast in contrasts
    ]


def judged_direction(rows: Rows, report: ReportedAnalysis | None = None, **changes: Any) -> Judged:
    """C1 of these rows, under the contract with these changes."""
    contract = direction(**changes)
    return judge_direction(contract, promised(contract, rows), cells_of(rows), report)


def judged_stability(rows: Rows, report: ReportedAnalysis | None = None, **changes: Any) -> Judged:
    """C3 of these rows, likewise."""
    contract = stability(**changes)
    return judge_stability(contract, promised(contract, rows), cells_of(rows), report)


def faults(judged: Judged) -> list[Fault]:
    """Why it does not pass."""
    return [finding.fault for finding in judged[0]]


def ratio(pair: Pair | None) -> Ratio:
    """A pair's integers."""
    assert pair is not None
    return Ratio(int(pair.pair[0]), int(pair.pair[1]))


def equal(pair: Pair | None, numerator: int, denominator: int) -> bool:
    """Whether a pair is this number."""
    return compare(ratio(pair), Ratio(numerator, denominator)) == 0
