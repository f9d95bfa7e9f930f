"""One receipt with its opening becomes sums: what comes out again, and what of it is not as recorded."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.claims import CASE_GROUPS, Case, Fault, Group
from agentbeat_receipts.claims.bindings import _LONGEST, _REMEMBERED, ContentDigests
from agentbeat_receipts.claims.settling import Settler, settle
from agentbeat_receipts.claims.tallies import ClaimTally, Tally
from agentbeat_receipts.claims.tallying import EXAMPLES, merge, merged, note
from agentbeat_receipts.objects import COMPONENTS, Null, Pair, material_digest
from agentbeat_receipts.verification import ChainReport, Verdict
from support.claim_batches import batch, kiosk_manifest, unopened
from support.kiosk import ARMS, KIOSK, MATERIALS, WORTH, Kiosk, Sale, components, run
from support.receipt_batches import Parts, verified

#: One run of the batch: a sale under the cap.
RUN = "v-1.capped.1"


def chain_of(parts: Parts, **options: Any) -> ChainReport:
    report = verified(parts, **options)
    assert report.integrity is not Verdict.INVALID, report.findings
    return report


def settled(parts: Parts, *, domain: Any = KIOSK, removed: str = "", **options: Any) -> Tally:
    return settle(chain_of(parts, **options), domain, removed=frozenset(map(Group, removed)))


def faults(tally: Tally) -> dict[str, set[Fault]]:
    """The faults of each claim that has some; the whole replay as `whole`."""
    counted = {**tally.claims, "whole": tally.whole}
    return {name: set(claim.faults) for name, claim in counted.items() if claim.faults}


def each(names: Iterable[str], fault: Fault) -> dict[str, set[Fault]]:
    return {name: {fault} for name in names}


def test_an_honest_batch_comes_out_whole() -> None:
    tally = settled(batch())
    assert faults(tally) == {}
    assert (tally.received, tally.opened, tally.whole.determined) == (20, 20, 20)
    assert all(claim.determined == 20 for claim in tally.claims.values())
    assert dict(tally.stages) == {"trace": 20, "choice": 20}
    assert dict(tally.statuses) == {"accepted": 16, "rejected": 4}
    surplus = tally.claims["surplus"].total
    assert (surplus.sum, surplus.count) == (2 * sum(2 * WORTH[f"v-{n}"] - 170 for n in range(1, 5)), 20)


def test_cells_are_of_disclosed_values_under_profile_and_arm() -> None:
    tally = settled(batch())
    assert len(tally.cells) == 5 * 2 * 4
    cell = tally.cells["v-1", "capped", "surplus"]
    assert (cell.sum, cell.count, cell.squares, cell.others) == (40, 2, 800, 0)
    assert tally.cells["v-1", "free", "ratio"].others == 2
    assert dict(tally.cells["v-5", "free", "ratio"].nulls) == {"unsold": 2}
    assert tally.runs["v-1", "free"] == 2


def test_components_are_counted_by_arm_in_their_order() -> None:
    tally = settled(batch())
    ran = tuple(components()[name] for name in COMPONENTS)
    assert tally.components == {"free": {ran: 10}, "capped": {ran: 10}}


def test_a_disclosed_value_other_than_replayed_refutes_its_claim_only_and_the_cell_is_recomputed() -> None:
    values = {"sale": 1, "surplus": 99, "margin": 40, "ratio": Pair(pair=(40, 80))}
    tally = settled(batch(disclosed={RUN: {"values": values}}))
    assert faults(tally) == {"surplus": {Fault.VALUE_CONTRADICTS_REPLAY}}
    detail = "got 99 disclosed, expected 20"
    assert tally.claims["surplus"].examples == [(Fault.VALUE_CONTRADICTS_REPLAY, RUN, detail)]
    assert tally.claims["surplus"].determined == 19
    assert tally.cells["v-1", "capped", "surplus"].sum == 40


@pytest.mark.parametrize(
    "reported",
    [{"ratio": Pair(pair=(1, 2))}, {"ratio": Null(null="unsold")}, {"ratio": 0}],
    ids=["an equal ratio of other numbers", "a null", "an integer"],
)
def test_a_reported_scalar_must_be_the_very_value(reported: dict[str, Any]) -> None:
    tally = settled(batch(members={RUN: {"reported": reported}}))
    assert faults(tally) == {"ratio": {Fault.VALUE_CONTRADICTS_REPLAY}}
    assert "reported, expected (40, 80)" in tally.claims["ratio"].examples[0][2]


def test_a_reported_scalar_that_is_no_claim_is_not_asked_about() -> None:
    assert faults(settled(batch(members={RUN: {"reported": {"mood": 3}}}))) == {}


def test_a_missing_opening_leaves_every_claim_of_its_run_undetermined() -> None:
    tally = settled(unopened(batch(), RUN))
    assert faults(tally) == each([*KIOSK.claims, "whole"], Fault.EVIDENCE_ABSENT)
    assert all(claim.determined == 19 for claim in tally.claims.values())
    assert (tally.received, tally.opened) == (20, 19)
    assert tally.cells["v-1", "capped", "surplus"].count == 1


def test_an_opening_of_another_domain_refutes_everything() -> None:
    tally = settled(batch(members={RUN: {"domain": "market"}}))
    assert faults(tally) == each([*KIOSK.claims, "whole"], Fault.DOMAIN_DIFFERS)


def other_chooser(**every: Any) -> Parts:
    return batch(members={RUN: {"materials": {**MATERIALS, "chooser": {"rule": "never"}}}}, every=every)


def test_a_material_other_than_the_receipts_component_refutes_what_needs_its_group() -> None:
    tally = settled(other_chooser())
    needing = [claim for claim in KIOSK.claims if Group.D in KIOSK.needs[claim]]
    assert needing == ["sale", "surplus", "margin", "ratio"]
    assert faults(tally) == each([*needing, "whole"], Fault.MATERIAL_CONTRADICTS_COMPONENT)
    # With another chooser there is no value at all, not even a wrong one.
    assert tally.cells["v-1", "capped", "sale"].count == 1


def test_a_material_other_than_the_manifests_refutes_what_needs_its_group() -> None:
    dearer = {**MATERIALS, "catalogue": {"cost": 41}}
    tally = settled(batch(members={RUN: {"materials": dearer}}))
    assert faults(tally) == each(["margin", "ratio", "whole"], Fault.MATERIAL_CONTRADICTS_MANIFEST)


def test_a_component_that_the_receipt_does_not_name_contradicts_nothing() -> None:
    unnamed = {"components": components(chooser=None)}
    assert faults(settled(batch(disclosed={RUN: unnamed}))) == {}


def test_without_the_protocol_group_no_material_is_held_against_a_component() -> None:
    kept = settled(other_chooser(), removed="Q")
    assert Fault.MATERIAL_CONTRADICTS_COMPONENT not in faults(kept).get("sale", set())
    assert kept.components == {}


@pytest.mark.parametrize("group", sorted(CASE_GROUPS))
def test_removing_a_group_leaves_undetermined_what_declares_to_need_it(group: str) -> None:
    tally = settled(batch(), removed=group)
    needing = {claim for claim in KIOSK.claims if Group(group) in KIOSK.needs[claim]}
    found = faults(tally)
    assert found.keys() - {"whole"} == needing
    assert all(set(claim) == {Fault.EVIDENCE_ABSENT} for claim in found.values())
    # What C1 and C3 rest on touches neither guardrails nor the protocol.
    assert ("whole" in found) is (group in "PKTODF")


def test_without_the_assignments_nothing_is_counted_under_arm_or_profile() -> None:
    tally = settled(batch(), removed="A")
    assert [len(held) for held in (tally.cells, tally.runs, tally.components, tally.profiles)] == [0] * 4
    assert tally.received == 20


def test_a_profile_that_differs_between_its_runs_is_kept_twice_and_no_more() -> None:
    others = {f"v-1.{arm}.{n}": {"profile": {"worth": 100 + n, "of": arm}} for arm in ARMS for n in (1, 2)}
    tally = settled(batch(members=others))
    assert {name: len(digests) for name, digests in tally.profiles.items() if len(digests) > 1} == {"v-1": 2}


def test_a_receipt_discloses_what_the_manifest_says() -> None:
    tally = settled(batch(disclosed={RUN: {"values": {"sale": 1, "surplus": 20, "margin": 40, "mood": 1}}}))
    assert tally.disclosures.examples == [
        (Fault.DISCLOSURE_DIFFERS, RUN, "disclosed or promised only: mood, ratio")
    ]
    assert faults(tally) == {}


def test_the_domains_identity_is_asked_of_each_transaction_that_is_determined() -> None:
    tally = settled(unopened(batch(), RUN), domain=Kiosk(unsound="it does not add up"))
    assert tally.identity.faults == {Fault.IDENTITY_BROKEN: 19}
    assert len(tally.identity.examples) == EXAMPLES


def test_details_are_cut() -> None:
    tally = settled(batch(), domain=Kiosk(unsound="x" * 10_000))
    assert all(len(detail) <= 200 for _, _, detail in tally.identity.examples)


def test_a_domain_that_trips_is_a_defect_and_no_verdict() -> None:
    malformed = {RUN: {"profile": {}}}
    with pytest.raises(KeyError, match="worth"):
        settled(batch(members=malformed))


def test_without_a_domain_terminals_and_components_are_counted_all_the_same() -> None:
    tally = settled(batch(), domain=None)
    assert (tally.received, tally.opened, len(tally.components)) == (20, 20, 2)
    assert (tally.claims, tally.cells, tally.whole.determined) == ({}, {}, 0)


@pytest.mark.parametrize(
    ("removed", "known"), [("", (-2, {"catalogue"})), ("Q", (None, {"catalogue"}))], ids=["all", "without-q"]
)
def test_a_case_knows_in_what_money_it_is_and_what_the_manifest_lists(removed: str, known: Any) -> None:
    cases: list[Case] = []

    class Watched(Kiosk):
        def replay(self, case: Case) -> Sale:
            cases.append(case)
            return super().replay(case)

    settled(batch(), domain=Watched(), removed=removed)
    assert len(cases) == 20
    assert all((case.money_exponent, case.promised_materials) == known for case in cases)


def test_without_a_manifest_values_come_out_and_nothing_is_placed() -> None:
    parts = batch()
    lone = [parts.receipts[RUN], parts.envelopes[RUN]]
    tally = settled(Parts(lone[0], {}, None, {}, {RUN: lone[1]}, {}, None, lone[1]))
    assert faults(tally) == {"capping": {Fault.EVIDENCE_ABSENT}}
    assert tally.claims["surplus"].total.sum == 20
    assert (tally.cells, tally.disclosures.faults) == ({}, {})


def test_parts_in_any_order_add_up_to_the_whole() -> None:
    odd = {
        name: {"reported": {"sale": 7}} for name in ("v-1.free.1", "v-2.free.2", "v-3.capped.1", "v-4.free.1")
    }
    odd |= {"v-1.free.2": {"profile": {"worth": 500}}, "v-2.capped.1": {"profile": {"worth": 1}}}
    chain = chain_of(unopened(batch(members=odd), "v-5.free.1"))
    whole = settle(chain, KIOSK)
    runs = list(chain.terminals.items())
    for seed in range(5):
        random.Random(seed).shuffle(runs)
        settlers = [Settler(KIOSK, chain.manifest) for _ in range(3)]
        for place, (assignment, receipt) in enumerate(runs):
            settlers[place % 3].add(receipt, chain.opened.get(assignment))
        parts = [settler.tally for settler in settlers]
        before = merged(parts)
        assert before == whole
        assert merged(parts) == before, "merging leaves the parts as they are"


def test_merging_into_an_empty_tally_copies() -> None:
    part, into = settled(batch()), Tally()
    merge(into, part)
    merge(into, part)
    assert part.received == 20
    assert (into.received, into.components["free"].total(), part.components["free"].total()) == (40, 20, 10)


@given(
    st.permutations([(fault, f"a-{n}") for fault in (Fault.NOT_OBSERVED, Fault.CELL_EMPTY) for n in range(6)])
)
def test_the_first_places_of_each_fault_are_kept_in_whatever_order_they_come(found: list[Any]) -> None:
    tally = ClaimTally()
    for fault, subject in found:
        note(tally, fault, subject, "")
    assert tally.faults == {Fault.NOT_OBSERVED: 6, Fault.CELL_EMPTY: 6}
    kept = [
        (fault, f"a-{n}", "") for fault in (Fault.CELL_EMPTY, Fault.NOT_OBSERVED) for n in range(EXAMPLES)
    ]
    assert tally.examples == sorted(kept)


@pytest.mark.parametrize("name", ["cafe", "caf\u00e9", "\U0001f600 \uff21"], ids=["ascii", "latin", "beyond"])
def test_a_digest_of_a_material_is_its_own_remembered_or_not(name: str) -> None:
    digests = ContentDigests()
    for place in [*range(_REMEMBERED + 2), 0, 1]:
        content = {name: place, "\uffff": name, "cost": True}
        turned = dict(reversed(content.items()))
        made = digests.materials(
            {"catalogue": content, "chooser": turned, "scorer": {**content, name: place < 9}}
        )
        assert made["catalogue"] == material_digest("catalogue", content)
        assert made["chooser"] == material_digest("chooser", content)
        assert made["scorer"] == material_digest("scorer", {**content, name: place < 9})
    long = {"catalogue": {name: "x" * (_LONGEST + 1)}}
    assert digests.materials(long) == {"catalogue": material_digest("catalogue", long["catalogue"])}


def test_a_domain_that_forgets_to_say_what_a_claim_needs_is_refused() -> None:
    with pytest.raises(ValueError, match="kiosk declares no needs of mood"):
        Settler(Kiosk(claims=("sale", "mood")), None)


def test_a_tally_goes_from_one_process_to_another() -> None:
    tally = settled(unopened(batch(), RUN))
    assert pickle.loads(pickle.dumps(tally)) == tally


def test_a_run_is_as_the_helper_says() -> None:
    # The helper of these tests is a small seller of its own: what it calls honest must be so.
    sold = run(worth=100, capped=True)["attempts"][0]
    assert (sold.offers[0].enforced, sold.choice.output) == ({"price": 80}, {"buy": True})
    assert kiosk_manifest().replicates == 2
