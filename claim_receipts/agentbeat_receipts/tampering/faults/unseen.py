"""What no receipt can show (L4): everything passes, under caveats that say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from agentbeat_receipts.objects import INITIAL, Opening
from agentbeat_receipts.tampering.benign import LateSeller
from agentbeat_receipts.tampering.cases import Expected, FaultCase, Party, Timing
from agentbeat_receipts.tampering.exhibits import Exhibit, changed
from agentbeat_receipts.tampering.makings import Making, make

__all__ = ["UNSEEN"]

_RUN: Final = "p-1.guarded.1"


def _unlisted(making: Making) -> Exhibit:
    """A run's first attempt was forgotten, and the second one listed as the first."""
    late = replace(making, sellers={**making.sellers, _RUN: LateSeller(_RUN)})

    def only_last(opening: Opening) -> Opening:
        last = opening.attempts[-1].model_copy(update={"number": 1, "cause": INITIAL})
        return changed(opening, attempts=(last,))

    return make(replace(late, openings={**making.openings, _RUN: only_last}))


def _replaced(making: Making) -> Exhibit:
    """The whole chain after the checkpoint was written a second time, with other runs."""
    return make(replace(making, sellers={**making.sellers, _RUN: LateSeller(_RUN)}))


UNSEEN: Final = (
    FaultCase(
        name="a run never ticketed",
        layer="L4",
        timing=Timing.PRE,
        by=Party.ANYBODY,
        done="a run is made outside of the committed ingress; its outcome is told nowhere",
        rule="Pass is about what was ticketed: verified_only_within_committed_ingress",
        expected=Expected(),
        make=make,
    ),
    FaultCase(
        name="an attempt never listed",
        layer="L4",
        timing=Timing.PRE,
        by=Party.RUNNER,
        done="a run's first attempt is forgotten, and its second one listed as the first",
        rule="Pass is about what was listed: verified_only_within_committed_ingress",
        expected=Expected(),
        make=_unlisted,
    ),
    FaultCase(
        name="full replacement before closing",
        layer="L4",
        timing=Timing.PRE,
        by=Party.INGRESS,
        done="before the closing record is known outside, all receipts are signed anew over other runs",
        rule="until it is published nobody can tell: "
        "full_replacement_undetectable_before_closing_is_published",
        expected=Expected(),
        make=_replaced,
    ),
)
