"""Manifests with a contract, and cells that hold given values, for the analyses of C1 and C3."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentbeat_receipts.claims import Cell, ClaimValue
from agentbeat_receipts.objects import (
    Arm,
    Assignment,
    Contract,
    DirectionContract,
    Manifest,
    ReportedAnalysis,
    StabilityContract,
)
from support.receipt_batches import COMPONENT_DIGESTS, manifest

__all__ = ["SEED", "Rows", "cells_of", "direction", "promised", "reported", "stability"]

SEED = base64.b64encode(b"a seed").decode()

#: One row of values for each profile: by arm, the values of its replicates.
Rows = Sequence[Mapping[str, Sequence[ClaimValue]]]


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
