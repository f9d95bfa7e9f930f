"""The verdict on every claim of a batch in which one thing is wrong, and what may be said of it then."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentbeat_receipts.claims import Licence
from agentbeat_receipts.verification import Verdict
from support.claim_batches import batch, judged, kiosk_manifest, unopened
from support.claim_faults import (
    LAST,
    OTHER,
    RUN,
    SILENT,
    flipped,
    grid,
    no_decision,
    other_profile,
    other_scorer,
    other_trace,
    shadowed,
    values,
    withheld,
)
from support.kiosk import MATERIALS, components
from support.receipt_batches import Parts

#: sale surplus margin ratio capping, C1 C2 C3 C4; coverage; licence.
CASES: dict[str, tuple[Callable[[], Parts], str, Verdict, Licence]] = {
    "an honest batch": (batch, "PPPPP PPPP", Verdict.PASS, Licence.CAUSAL),
    "no contract": (lambda: batch(manifest=SILENT), "PPPPP -P-P", Verdict.PASS, Licence.DESCRIPTIVE),
    "no comparison group": (
        lambda: batch(manifest=kiosk_manifest(comparison_groups=())),
        "PPPPP P-PP",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a terminal withheld": (
        lambda: withheld(batch(), RUN),
        "PPPPP CPCC",
        Verdict.INCONCLUSIVE_COVERAGE,
        Licence.NONE,
    ),
    "the last terminal withheld": (
        lambda: withheld(batch(), LAST),
        "PPPPP CPCC",
        Verdict.INCONCLUSIVE_COVERAGE,
        Licence.NONE,
    ),
    "a terminal withheld, no contract": (
        lambda: withheld(batch(manifest=SILENT), RUN),
        "PPPPP -P-C",
        Verdict.INCONCLUSIVE_COVERAGE,
        Licence.NONE,
    ),
    "an arm withheld": (
        lambda: withheld(batch(), *(name for name in batch().receipts if ".capped." in name)),
        "PPPPP CECC",
        Verdict.INCONCLUSIVE_COVERAGE,
        Licence.NONE,
    ),
    "one opening missing": (lambda: unopened(batch(), RUN), "EEEEE EPEE", Verdict.PASS, Licence.NONE),
    "all openings withheld": (lambda: unopened(batch()), "EEEEE EPEE", Verdict.PASS, Licence.NONE),
    "a disclosed surplus other than replayed": (
        lambda: batch(disclosed=values(surplus=21)),
        "PXPPP XPPX",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a disclosed margin other than replayed": (
        lambda: batch(disclosed=values(margin=41)),
        "PPXPP PPXX",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a reported sale other than replayed": (
        lambda: batch(members={RUN: {"reported": {"sale": 0}}}),
        "XPPPP PPPX",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a surplus other than replayed, no contract": (
        lambda: batch(manifest=SILENT, disclosed=values(surplus=21)),
        "PXPPP -P-X",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a trace that does not come out again": (other_trace, "PPPPP XPXX", Verdict.PASS, Licence.NONE),
    "a flag on without its decision": (no_decision, "PPPPX PPPP", Verdict.PASS, Licence.DESCRIPTIVE),
    "a profile of its own in one run": (other_profile, "PPPPP XPXX", Verdict.PASS, Licence.NONE),
    "a retry shadowed": (shadowed, "PPPPP XPXP", Verdict.PASS, Licence.NONE),
    "a retry shadowed, no contract": (
        lambda: shadowed(manifest=SILENT),
        "PPPPP -PXP",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a component other than the arm's": (
        lambda: batch(disclosed={RUN: {"components": components(model=OTHER)}}),
        "PPPPP PXPP",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a component that is not named": (
        lambda: batch(disclosed={RUN: {"components": components(model=None)}}),
        "PPPPP PEPP",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a scorer off everywhere": (other_scorer, "PPPPP PPPX", Verdict.PASS, Licence.NONE),
    "a material other than the receipt's component": (
        lambda: batch(members={RUN: {"materials": {**MATERIALS, "chooser": {"rule": "never"}}}}),
        "XXXXP XPXX",
        Verdict.PASS,
        Licence.NONE,
    ),
    "an opening of another domain": (
        lambda: batch(members={RUN: {"domain": "market"}}),
        "XXXXX XPXX",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a cell left out of a report that says it is complete": (
        lambda: batch(report=lambda cells: cells[1:]),
        "PPPPP PPPX",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a cell left out of a report that says so": (
        lambda: batch(report=lambda cells: cells[1:], complete=False),
        "PPPPP PPPE",
        Verdict.PASS,
        Licence.NONE,
    ),
    "a terminal withheld, and a cell left out of a report that says so": (
        lambda: withheld(batch(report=lambda cells: cells[1:], complete=False), LAST),
        "PPPPP CPCC",
        Verdict.INCONCLUSIVE_COVERAGE,
        Licence.NONE,
    ),
    "a terminal withheld, and a surplus other than replayed": (
        lambda: withheld(batch(disclosed=values(surplus=21)), LAST),
        "PXPPP XPCX",
        Verdict.INCONCLUSIVE_COVERAGE,
        Licence.NONE,
    ),
    "a byte of a receipt is another": (
        lambda: flipped(batch()),
        "XXXXX XXXX",
        Verdict.INVALID,
        Licence.NONE,
    ),
    "a byte of a receipt is another, no contract": (
        lambda: flipped(batch(manifest=SILENT)),
        "XXXXX XXXX",
        Verdict.INVALID,
        Licence.NONE,
    ),
    "a batch that was put together afterwards": (
        lambda: batch(manifest=kiosk_manifest(mode="retrospective")),
        "PPPPP PPPP",
        Verdict.NOT_CLAIMED,
        Licence.DESCRIPTIVE,
    ),
}


@pytest.mark.parametrize(("make", "expected", "coverage", "licence"), CASES.values(), ids=CASES.keys())
def test_one_thing_is_wrong(
    make: Callable[[], Parts], expected: str, coverage: Verdict, licence: Licence
) -> None:
    report = judged(make())
    assert grid(report) == expected
    assert (report.chain.coverage, report.licences.granted) == (coverage, licence)
    for claim in report.claims:
        assert bool(claim.findings) is (claim.verdict is not Verdict.PASS)
        assert claim.caveats[0] == "verified_only_within_committed_ingress"
