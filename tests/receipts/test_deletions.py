"""What is withheld of a batch that is wrong: it never makes a claim about the batch pass.

Claims about the batch are coverage, C1, C3, C4 and the licences. Claims about transactions, and C2, are about
what arrived: withholding the one run that refutes them takes it out of what they are about, and *n of N* says
so.

Something can be withheld that is itself what is wrong: a rival, a fork, a false report. The objects that a
fault is in are those that are not as in the honest batch; what else is withheld is not at fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agentbeat_receipts.claims import ClaimReport, Licence
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.envelopes import unseal
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import Receipt
from agentbeat_receipts.tampering import FAULTS, FaultCase
from agentbeat_receipts.tampering.exhibits import Exhibit, changed
from agentbeat_receipts.tampering.makings import HONEST, make
from agentbeat_receipts.verification import Reason, Verdict, sorting, unsealing

#: A run of the honest market that is done again.
RUN = "p-2.guarded.1"
MAKINGS = {mode: replace(HONEST, manifest={"mode": mode}) for mode in ("prospective", "retrospective")}


@pytest.fixture(scope="module", autouse=True)
def remembered() -> Iterator[None]:
    """Pure functions of bytes and keys, which meet the same documents over and over."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (sorting, unsealing):
            patch.setattr(module, "read_whole", lru_cache(maxsize=8192)(module.read_whole))
        patch.setattr(unsealing, "unseal", lru_cache(maxsize=8192)(unseal))
        patch.setattr(PublicKeyring, "verifies", lru_cache(maxsize=16384)(PublicKeyring.verifies))
        yield


def passing(report: ClaimReport) -> set[str]:
    """What is said of the batch as a whole and holds."""
    found = {claim for claim in ("C1", "C3", "C4") if report.claim(claim).verdict is Verdict.PASS}
    found |= {"coverage"} if report.chain.coverage is Verdict.PASS else set()
    granted = {
        Licence.NONE: (),
        Licence.DESCRIPTIVE: ("descriptive",),
        Licence.CAUSAL: ("descriptive", "causal"),
    }
    return found.union(granted[report.licences.granted])


def left_of(exhibit: Exhibit, gone: set[str]) -> list[Delivery]:
    """What arrives when these paths are withheld."""
    return [delivery for delivery in exhibit.deliveries() if delivery.path not in gone]


@st.composite
def withheld(draw: st.DrawFn, paths: list[str]) -> set[str]:
    """Some paths: of each folder none, some, or all."""
    gone: set[str] = set()
    for folder in sorted({path.partition("/")[0] for path in paths}):
        held = [path for path in paths if path.partition("/")[0] == folder]
        how = draw(st.sampled_from(("none", "some", "all")))
        if how != "none":
            gone |= set(held) if how == "all" else draw(st.sets(st.sampled_from(held), max_size=3))
    return gone


# Beside a fault.


@cache
def tampered(name: str) -> tuple[Exhibit, list[str], set[str]]:
    """A batch with a fault, the paths of what is as in the honest batch, and what passes of it."""
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    exhibit = fault.make(HONEST)
    honest = {delivery.path: delivery.content for delivery in make(HONEST).deliveries()}
    untouched = [d.path for d in exhibit.deliveries() if honest.get(d.path) == d.content]
    return exhibit, untouched, passing(exhibit.judged())


#: Those with a claim that does not pass, and something in the batch that is not at fault.
WRONG = [fault for fault in FAULTS if fault.layer != "L4" and tampered(fault.name)[1]]

LATE = "ticket not in the checkpoint"
#: Either of them shows that a ticket is none of the checkpoint's; nothing else does.
SHOW_LATE = {"checkpoint.json", "tickets/p-4.guarded.2.json"}


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(WRONG), st.data())
def test_what_is_withheld_beside_a_fault_makes_nothing_about_the_batch_pass(
    fault: FaultCase, data: st.DataObject
) -> None:
    exhibit, untouched, before = tampered(fault.name)
    gone = data.draw(withheld(untouched))
    assume(not (fault.name == LATE and gone >= SHOW_LATE))
    assert passing(exhibit.judged(left_of(exhibit, gone))) <= before


def test_a_late_ticket_shows_by_the_checkpoint_or_by_the_ticket_that_is_not_cited() -> None:
    exhibit, _, _ = tampered(LATE)
    for path in SHOW_LATE:
        assert exhibit.judged(left_of(exhibit, {path})).chain.integrity is Verdict.INVALID
    # Without both, nothing that is held says that there is another ticket: C4 asks for none, coverage does.
    without = exhibit.judged(left_of(exhibit, SHOW_LATE))
    assert without.claim("C4").verdict is Verdict.PASS
    assert without.chain.coverage is Verdict.INCONCLUSIVE_COVERAGE
    assert without.chain.reasons >= {Reason.CHECKPOINT_MISSING, Reason.TICKET_MISSING}


# A run that was done again.

AGAIN = "beside/0.json"
FIRST = f"receipts/{RUN}.json"


@cache
def done_again(mode: str, place: int) -> Exhibit:
    """A second receipt of one run was signed at a place of the chain; the others moved up."""
    exhibit = make(MAKINGS[mode])
    bodies: list[Receipt] = [exhibit.receipt(name) for name in exhibit.assignments]
    again = changed(exhibit.receipt(RUN), status="failed")
    bodies.insert(place, again)
    head = bodies[1 if place == 0 else 0].previous
    documents = []
    for sequence, body in enumerate(bodies, 1):
        linked = changed(body, previous=head, sequence=sequence)
        head = linked.digest()
        documents.append(exhibit.signed(linked))
    rival = documents.pop(place)
    closing = exhibit.signed(changed(exhibit.closed(), count=len(bodies), head=head))
    receipts = dict(zip(exhibit.assignments, documents, strict=True))
    return replace(exhibit, receipts=receipts, closing=closing).also(rival)


PLACES = range(len(make(HONEST).assignments) + 1)
LAST = PLACES[-1]


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(MAKINGS)), st.sampled_from(PLACES), st.data())
def test_a_run_that_was_done_again_is_not_hidden_by_withholding_a_receipt(
    mode: str, place: int, data: st.DataObject
) -> None:
    exhibit = done_again(mode, place)
    assert not passing(exhibit.judged())
    gone = data.draw(withheld([delivery.path for delivery in exhibit.deliveries()]))
    after = exhibit.judged(left_of(exhibit, gone))
    if passing(after):
        # What is left is the honest chain: the rival was the last, and is what was taken away.
        assert place == LAST
        assert gone >= {AGAIN, "closing-record.json"}


@pytest.mark.parametrize("mode", MAKINGS)
@pytest.mark.parametrize("place", [place for place in PLACES if place != LAST])
def test_of_a_run_that_was_done_again_either_receipt_shows_it(mode: str, place: int) -> None:
    exhibit = done_again(mode, place)
    for receipt in (AGAIN, FIRST):
        after = exhibit.judged(left_of(exhibit, {receipt, "closing-record.json"}))
        assert after.chain.arrived == after.chain.expected
        assert Reason.CHAIN_SURPLUS in after.chain.reasons
        assert {claim.verdict for claim in after.claims} == {Verdict.INVALID}


def test_a_chain_that_is_held_up_to_the_last_but_one_cannot_know_of_another_receipt() -> None:
    """A chain may be cut off at its end as long as its closing record is not known."""
    exhibit = done_again("prospective", LAST)
    shown = exhibit.judged(left_of(exhibit, {AGAIN}))
    assert Reason.CLOSING_CONTRADICTS in shown.chain.reasons
    cut = exhibit.judged(left_of(exhibit, {AGAIN, "closing-record.json"}))
    assert (cut.chain.coverage, cut.claim("C4").verdict) == (Verdict.INCONCLUSIVE_COVERAGE, Verdict.PASS)
    assert cut.chain.reasons - {Reason.ANCHOR_UNUSED} == {Reason.CLOSING_MISSING}
