"""A guard that is on decides once at every stage, as its enforcer says; one that is off does nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentbeat_receipts.claims import Case, Fault, Group
from agentbeat_receipts.domains.market import BundleStress, Enforcer, FixedMenu, MenuOffer, ProfitMaximum
from agentbeat_receipts.domains.market.guards import hide_fields, hide_sentences, temper
from support.markets import SELLERS, WRITER, case_of, found, ran, tampered

BOTH = ("info", "conduct")
TREATMENTS = ("attempts", 0, "treatments")


def test_the_information_guard_hides_private_fields_from_the_seller() -> None:
    brief = {"wants": ["room"], "outside": 1, "values": {"room": 9}, "price_cap": None}
    assert hide_fields(brief, Enforcer()) == ({"wants": ["room"]}, 3)
    assert hide_fields(brief, Enforcer(private_fields=())) == (brief, 0)


@pytest.mark.parametrize(
    ("note", "shown", "changes"),
    [
        ("", "", 0),
        ("Welcome. Breakfast is at eight.", "Welcome. Breakfast is at eight.", 0),
        ("Our COST is 80. Welcome!", "[withheld] Welcome!", 1),
        ("The costs are high. The margin is thin. Bye.", "[withheld] [withheld] Bye.", 2),
        ("We have a costume party.", "We have a costume party.", 0),
        ("Our ｃｏｓｔ is 80.", "[withheld]", 1),
    ],
)
def test_the_information_guard_hides_sentences_with_private_words_from_the_buyer(
    note: str, shown: str, changes: int
) -> None:
    assert hide_sentences(note, Enforcer()) == (shown, changes)
    assert hide_sentences(note, Enforcer(private_words=())) == (note, 0)


def test_the_conduct_guard_cuts_surcharges_and_removes_pressure() -> None:
    offer = {"components": ["room"], "price": 9000, "surcharge": 700}
    parsed = {"offers": [offer, {**offer, "surcharge": 0}], "pressure": ["only today"]}
    free = {**offer, "surcharge": 0}
    assert temper(parsed, Enforcer()) == ({"offers": [free, free], "pressure": []}, 2)
    lenient = Enforcer(surcharge_cap=500, keep_pressure=True)
    assert temper(parsed, lenient) == (
        {"offers": [{**offer, "surcharge": 500}, free], "pressure": ["only today"]},
        1,
    )
    assert parsed["offers"][0]["surcharge"] == 700, "what came is not changed"


def test_what_the_seller_cannot_see_it_cannot_price() -> None:
    seen = ran(ProfitMaximum(), flags=())
    unseen = ran(ProfitMaximum(), flags=("info",))
    assert seen.values["buyer_surplus"] == 0, "who sees the buyer's values takes all of the surplus"
    assert isinstance(unseen.values["buyer_surplus"], int)
    assert unseen.values["buyer_surplus"] > 0


def test_a_surcharge_that_is_cut_is_not_paid() -> None:
    free, guarded = ran(BundleStress(surcharge=700)), ran(BundleStress(surcharge=700), flags=("conduct",))
    assert free.values["seller_profit"] == guarded.values["seller_profit"] + 700  # type: ignore[operator]
    assert free.values["welfare"] == guarded.values["welfare"]


@pytest.mark.parametrize("flags", [(), ("info",), ("conduct",), BOTH], ids="+".join)
@pytest.mark.parametrize("seller", SELLERS)
def test_each_guard_that_is_on_decides_once_at_each_of_its_stages(
    seller: str, flags: tuple[str, ...]
) -> None:
    run = ran(SELLERS[seller], flags=flags)
    decided = [(event.flag, event.stage) for event in run.attempts[0].treatments]
    stages = {"info": [("info", "brief"), ("info", "note")], "conduct": [("conduct", "offers")]}
    assert decided == [stage for flag in flags for stage in stages[flag]]


def honest() -> Case:
    """A run in which each guard had something to do at some stage, and the note was left alone."""
    menu = FixedMenu(name="menu", offers=(MenuOffer(components=("room",), price=11000, surcharge=100),))
    return case_of(ran(menu, flags=BOTH), BOTH)


def _arm(case: Case, *flags: str) -> Case:
    assert case.arm is not None
    return replace(case, arm=case.arm.model_copy(update={"treatments": flags}))


def _decision(case: Case, place: int, **changes: Any) -> Case:
    return tampered(case, *TREATMENTS, to=lambda t: [*t[:place], {**t[place], **changes}, *t[place + 1 :]])


#: In `honest`: 0 info at brief (applied), 1 info at note (nothing_to_do), 2 conduct at offers (applied).
UNFAITHFUL: dict[str, tuple[Any, dict[str, Fault]]] = {
    "no decision at all": (
        lambda c: tampered(c, *TREATMENTS, to=[]),
        dict.fromkeys(("information_fidelity", "conduct_fidelity"), Fault.DECISION_MISSING),
    ),
    "no decision at one stage": (
        lambda c: tampered(c, *TREATMENTS, to=lambda t: [t[0], t[2]]),
        {"information_fidelity": Fault.DECISION_MISSING},
    ),
    "a decision twice": (
        lambda c: tampered(c, *TREATMENTS, to=lambda t: [*t, t[2]]),
        {"conduct_fidelity": Fault.DECISION_REPEATED},
    ),
    "applied without a change": (
        lambda c: _decision(c, 1, decision="applied"),
        {"information_fidelity": Fault.ENFORCEMENT_DIFFERS},
    ),
    "a change without applied": (
        lambda c: _decision(c, 2, decision="nothing_to_do"),
        {"conduct_fidelity": Fault.ENFORCEMENT_DIFFERS},
    ),
    "another number of changes": (
        lambda c: _decision(c, 2, data={"changes": 2}),
        {"conduct_fidelity": Fault.ENFORCEMENT_DIFFERS},
    ),
    "a stage that no guard has": (
        lambda c: _decision(c, 1, stage="offers"),
        dict.fromkeys(("information_fidelity", "conduct_fidelity"), Fault.EVIDENCE_MALFORMED),
    ),
    "a guard that the market does not have": (
        lambda c: _decision(c, 1, flag="mood"),
        dict.fromkeys(("information_fidelity", "conduct_fidelity"), Fault.EVIDENCE_MALFORMED),
    ),
    "a private field shown": (
        lambda c: tampered(c, "attempts", 0, "events", 1, "data", "outside", to=1500),
        {"information_fidelity": Fault.ENFORCEMENT_DIFFERS},
    ),
    "flags that were off": (
        lambda c: _arm(c),
        dict.fromkeys(("information_fidelity", "conduct_fidelity"), Fault.APPLIED_WHILE_OFF),
    ),
    "one flag that was off": (
        lambda c: _arm(c, "info"),
        {"conduct_fidelity": Fault.APPLIED_WHILE_OFF},
    ),
    "guarded in silence while off": (
        lambda c: tampered(_arm(c), *TREATMENTS, to=[]),
        dict.fromkeys(("information_fidelity", "conduct_fidelity"), Fault.ENFORCEMENT_DIFFERS),
    ),
    "another enforcer": (
        lambda c: tampered(c, "materials", "enforcer", "surcharge_cap", to=50),
        {"conduct_fidelity": Fault.ENFORCEMENT_DIFFERS},
    ),
    "an enforcer of another shape": (
        lambda c: tampered(c, "materials", "enforcer", "surcharge_cap", to=-1),
        dict.fromkeys(("information_fidelity", "conduct_fidelity"), Fault.EVIDENCE_MALFORMED),
    ),
}


@pytest.mark.parametrize("what", UNFAITHFUL)
def test_what_is_unfaithful_refutes_the_guards_claim_and_no_outcome(what: str) -> None:
    change, expected = UNFAITHFUL[what]
    before, after = found(honest()), found(change(honest()))
    assert before["information_fidelity"] == before["conduct_fidelity"] == 1
    assert {claim: after[claim] for claim in after if after[claim] != before[claim]} == expected


def test_a_guard_that_is_off_may_say_that_it_had_nothing_to_do() -> None:
    run = ran(FixedMenu(name="menu", offers=(MenuOffer(components=("room",), price=11000),)))
    idle = {"flag": "conduct", "stage": "offers", "decision": "nothing_to_do", "data": {"changes": 0}}
    assert found(tampered(case_of(run), *TREATMENTS, to=[idle]))["conduct_fidelity"] == 1


def test_a_decision_at_a_stage_that_was_never_reached_is_no_evidence_of_anything() -> None:
    late = WRITER.model_copy(update={"timeout_per_mille": 1000})
    case = case_of(ran(late, flags=BOTH), BOTH)
    early = {"flag": "info", "stage": "note", "decision": "nothing_to_do", "data": {"changes": 0}}
    outcome = found(tampered(case, *TREATMENTS, to=lambda t: [*t, early]))
    assert outcome["information_fidelity"] is Fault.EVIDENCE_MALFORMED
    assert outcome["conduct_fidelity"] == 1


def test_a_leaked_cost_is_withheld_and_comes_out_again() -> None:
    leaking = WRITER.model_copy(update={"leak_per_mille": 1000})
    for number in range(20):
        run = ran(leaking, flags=("info",), seed=b"%d" % number)
        data = {event.type: event.data for event in run.attempts[0].events}
        assert "cost" in data["seller.answered"]["note"]
        assert "cost" not in data["note.shown"]["text"]
        assert found(case_of(run, ("info",)))["information_fidelity"] == 1


def test_a_treatment_that_the_market_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="mood"):
        ran(flags=("mood",))


def test_a_guard_that_is_not_the_arms_is_unfaithful_and_one_that_was_not_recorded_is_undecided() -> None:
    case = case_of(ran(WRITER, flags=("info", "conduct")), ("info", "conduct"))

    def named(digest: str | None) -> dict[str, Any]:
        ran_with = {**case.receipt.components, "enforcer": digest}
        outcome = found(replace(case, receipt=case.receipt.model_copy(update={"components": ran_with})))
        return {claim: outcome[claim] for claim in ("information_fidelity", "conduct_fidelity", "whole")}

    whole = found(case)["whole"]
    other = dict.fromkeys(("information_fidelity", "conduct_fidelity"), Fault.ENFORCEMENT_DIFFERS)
    assert named("sha256:" + "0" * 64) == {**other, "whole": whole}
    assert named(None) == {**dict.fromkeys(other, Group.Q), "whole": whole}
