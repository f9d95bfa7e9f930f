"""From an honest bundle: no bit flip changes a value that stays Pass, no deletion creates a Pass.

Bundles are generated: with or without what benign changes add, contracts that pass, that do not, or none;
prospective or made afterwards; a whole report or one that says that it is not. Order and repetition of the
deliveries are nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.claims import ClaimReport
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.objects import Document, ReportBundle
from agentbeat_receipts.streams import verify_stream
from agentbeat_receipts.tampering import BENIGN, FAULTS, FaultCase
from agentbeat_receipts.tampering.cases import as_made
from agentbeat_receipts.tampering.exhibits import Exhibit, changed
from agentbeat_receipts.tampering.makings import DIRECTION, HONEST, STABILITY, Making, make
from agentbeat_receipts.verification import Level, Verdict

#: What may be in how an honest batch is made, by what it is.
FEATURES = {change.name: change.making for change in BENIGN if change.making is not as_made}
CONTRACTS: dict[str, tuple[Any, ...]] = {
    "both": (DIRECTION, STABILITY),
    "none": (),
    "not met": (changed(DIRECTION, threshold=5000), STABILITY),
    "turned round": (changed(DIRECTION, direction="decreasing"),),
    "of profit": (changed(STABILITY, outcome="seller_profit"),),
    "over nulls": (changed(STABILITY, outcome="first_best"),),
}
MODES = ("prospective", "retrospective")
LEVELS = (None, Level.CR_1, Level.CR_2, Level.CR_3)
LICENCES = ("none", "descriptive", "causal")


def _whole(report: ReportBundle) -> ReportBundle:
    return report


def _partial(report: ReportBundle) -> ReportBundle:
    return changed(report, cells=report.cells[1:], complete=False)


#: Each bundle is made once.
_MADE: dict[tuple[Any, ...], Exhibit] = {}


@st.composite
def bundles(draw: st.DrawFn) -> Exhibit:
    """An honest bundle."""
    features = draw(st.sets(st.sampled_from(sorted(FEATURES)), max_size=2))
    contracts = draw(st.sampled_from(sorted(CONTRACTS)))
    mode = draw(st.sampled_from(MODES))
    report = draw(st.sampled_from((_whole, _partial)))
    key = (frozenset(features), contracts, mode, report)
    if key not in _MADE:
        making = HONEST
        for name in sorted(features):
            making = FEATURES[name](making)
        _MADE[key] = make(_promising(making, CONTRACTS[contracts], mode, report))
    return _MADE[key]


def _promising(
    making: Making, contracts: tuple[Any, ...], mode: str, report: Callable[[ReportBundle], ReportBundle]
) -> Making:
    return replace(making, manifest={"contracts": contracts, "mode": mode}, report=report)


def folder_of(delivery: Delivery) -> str:
    """The folder of a file; of a file that is there once its own name."""
    return delivery.path.partition("/")[0]


@cache
def undisturbed(place: int) -> ClaimReport:
    """The report on a bundle as it was made, by its place among those that were."""
    return list(_MADE.values())[place].judged()


def before(exhibit: Exhibit) -> ClaimReport:
    """The same, of one of them."""
    return undisturbed([id(made) for made in _MADE.values()].index(id(exhibit)))


def values(report: ClaimReport) -> dict[str, Any]:
    """What each claim that passes says."""
    return {
        claim.claim: (claim.value, dict(claim.nulls), claim.analyses)
        for claim in report.claims
        if claim.verdict is Verdict.PASS
    }


def passes(report: ClaimReport) -> set[str]:
    """Everything that passes, and the level and licence that are reached, with those below."""
    level, licence = LEVELS.index(report.chain.level), LICENCES.index(report.licences.granted)
    others = {
        "coverage": report.chain.coverage,
        "integrity": report.chain.integrity,
        "openings": report.chain.openings,
        "retries": report.chain.retries,
    }
    return {
        *values(report),
        *(name for name, verdict in others.items() if verdict is Verdict.PASS),
        *(f"level {reached}" for reached in LEVELS[1 : level + 1]),
        *(f"licence {reached}" for reached in LICENCES[1 : licence + 1]),
    }


@given(bundles(), st.data())
def test_no_bit_flip_changes_a_value_that_stays_pass(exhibit: Exhibit, data: st.DataObject) -> None:
    deliveries = exhibit.deliveries()
    # By folder first: the few files that are there once are as likely as the many.
    folder = data.draw(st.sampled_from(sorted({folder_of(delivery) for delivery in deliveries})))
    places = [place for place, delivery in enumerate(deliveries) if folder_of(delivery) == folder]
    place = data.draw(st.sampled_from(places))
    delivery = deliveries[place]
    raw = bytearray(delivery.content)
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[bit // 8] ^= 1 << bit % 8
    deliveries[place] = Delivery(delivery.path, bytes(raw))
    known, after = values(before(exhibit)), values(exhibit.judged(deliveries))
    assert {claim: known.get(claim) for claim in after} == after


@given(bundles(), st.data())
def test_no_deletion_creates_a_pass(exhibit: Exhibit, data: st.DataObject) -> None:
    deliveries = exhibit.deliveries()
    gone = data.draw(st.sets(st.integers(0, len(deliveries) - 1), min_size=1))
    left = [delivery for place, delivery in enumerate(deliveries) if place not in gone]
    after = exhibit.judged(left)
    assert passes(after) <= passes(before(exhibit))
    # Nothing is forged, so nothing becomes Invalid either.
    assert after.chain.integrity is not Verdict.INVALID


@given(bundles(), st.data())
def test_order_and_repetition_of_deliveries_change_nothing(exhibit: Exhibit, data: st.DataObject) -> None:
    deliveries = exhibit.deliveries()
    again = data.draw(st.lists(st.sampled_from(deliveries), max_size=8))
    shuffled = data.draw(st.permutations([*deliveries, *again]))
    assert exhibit.judged(list(shuffled)) == before(exhibit)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_order_and_repetition_change_nothing_about_a_fault(fault: FaultCase) -> None:
    exhibit = fault.make(HONEST)
    deliveries = exhibit.deliveries()
    assert exhibit.judged([*reversed(deliveries), *deliveries[::3]]) == exhibit.judged(deliveries)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_in_a_stream_has_the_report_that_it_has_in_memory(fault: FaultCase) -> None:
    exhibit = fault.make(HONEST)
    deliveries = exhibit.deliveries()[::-1]
    streamed = verify_stream(
        deliveries,
        exhibit.keyring.public,
        domains=(DOMAIN,),
        manifest=exhibit.named,
        trust=exhibit.trust,
        auditor=exhibit.keyring.auditor,
        workers=1,
    )
    report = exhibit.judged(deliveries)
    # A stream holds no bodies.
    assert streamed == replace(report, chain=replace(report.chain, terminals={}, opened={}))


def unticketed(exhibit: Exhibit) -> Document:
    """A receipt that cites no ticket, of an assignment that nobody promised, at the end of the chain."""
    last = exhibit.receipt(exhibit.assignments[-1])
    members = {"ticket": None, "assignment": "p-9.plain.1", "previous": last.digest()}
    return exhibit.signed(changed(last, sequence=last.sequence + 1, **members))


def rival(exhibit: Exhibit) -> Document:
    """Another terminal of the first assignment, at the end of the chain."""
    first, last = (exhibit.receipt(exhibit.assignments[place]) for place in (0, -1))
    members = {"previous": last.digest(), "sequence": last.sequence + 1, "status": "failed"}
    return exhibit.signed(changed(first, **members))


def fork(exhibit: Exhibit) -> Document:
    """Another receipt of the first assignment, at the second place."""
    first, second = (exhibit.receipt(exhibit.assignments[place]) for place in (0, 1))
    return exhibit.signed(changed(first, previous=second.previous, sequence=2))


@pytest.mark.parametrize("surplus", [unticketed, rival, fork], ids=lambda made: made.__name__)
def test_deleting_a_surplus_object_gives_back_what_passed(surplus: Callable[[Exhibit], Document]) -> None:
    exhibit = make(HONEST)
    beside = exhibit.also(surplus(exhibit)).judged()
    assert beside.chain.integrity is Verdict.INVALID
    assert not {claim for claim in beside.claims if claim.verdict is Verdict.PASS}
    assert passes(exhibit.judged()) > passes(beside)
