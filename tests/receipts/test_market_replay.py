"""A replay gives back what an honest run disclosed; what was changed refutes the claims that rest on it."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest

from agentbeat_receipts.claims import CASE_GROUPS, Absent, Case, Contradiction, Fault, Group
from agentbeat_receipts.domains import known_domains
from agentbeat_receipts.domains.market import DOMAIN, FixedMenu, MenuOffer, SeededWriter
from agentbeat_receipts.objects import Null, Pair, RetryPolicy
from support.markets import CLAIMS, SELLERS, WRITER, case_of, found, ran, tampered

BOTH = ("info", "conduct")
ECONOMIC = ("completion", "buyer_surplus", "seller_profit", "welfare", "first_best", "match_quality")


def refuted(case: Case) -> dict[str, Fault]:
    """The claims whose replay contradicts itself, or gives another value than the receipt discloses."""
    faults = {}
    for claim, outcome in found(case).items():
        if isinstance(outcome, Fault):
            faults[claim] = outcome
        elif claim != "whole" and outcome != case.receipt.values[claim]:
            faults[claim] = Fault.VALUE_CONTRADICTS_REPLAY
    return faults


def menu_case() -> Case:
    """A scripted run under both guards: two offers, a surcharge, pressure; the second offer is taken."""
    menu = FixedMenu(
        name="menu",
        offers=(
            MenuOffer(components=("room",), price=12000),
            MenuOffer(components=("breakfast", "room"), price=12500, surcharge=300),
        ),
        pressure=("only today",),
    )
    return case_of(ran(menu, flags=BOTH), BOTH)


def writer_case() -> Case:
    return case_of(ran(WRITER, flags=BOTH, seed=b"writer"), BOTH)


@pytest.mark.parametrize("form", ["bundle", "itemised"])
@pytest.mark.parametrize("chooser", ["whole_bundle", "subset"])
@pytest.mark.parametrize("flags", [(), ("info",), ("conduct",), BOTH], ids="+".join)
@pytest.mark.parametrize("seller", SELLERS)
def test_every_seller_is_replayed_from_where_it_should_be(
    seller: str, flags: tuple[str, ...], chooser: str, form: str
) -> None:
    run = ran(SELLERS[seller], flags=flags, chooser=chooser, form=form)
    outcome = found(case_of(run, flags))
    scripted = ("policy",) if seller != "writer" else ()
    assert outcome.pop("whole") == (*scripted, "parser", "trace", "choice", "metrics")
    assert outcome == run.values


def _raw(case: Case, old: bytes, new: bytes) -> Case:
    assert case.opening is not None
    raw = base64.b64decode(case.opening.attempts[0].offers[0].raw)
    assert old in raw
    changed = base64.b64encode(raw.replace(old, new)).decode()
    return tampered(case, "attempts", 0, "offers", 0, "raw", to=changed)


ATTEMPT = ("attempts", 0)
OFFER = (*ATTEMPT, "offers", 0)
STAGE = Fault.STAGE_CONTRADICTS_REPLAY
VALUE = Fault.VALUE_CONTRADICTS_REPLAY
OF_OFFERS = dict.fromkeys((*ECONOMIC, "conduct_fidelity", "whole"), STAGE)

#: What is changed in the scripted run, and which claims that refutes.
CHANGED: dict[str, tuple[Any, dict[str, Fault]]] = {
    "a price in the raw output": (lambda c: _raw(c, b"125.00", b"124.00"), OF_OFFERS),
    "raw output that reads the same": (
        lambda c: _raw(c, b'"125.00"', b'"125,00"'),
        {"whole": STAGE},
    ),
    "a price among the parsed": (
        lambda c: tampered(c, *OFFER, "parsed", "offers", 1, "price", to=12400),
        OF_OFFERS,
    ),
    "a truth value for a number": (
        lambda c: tampered(c, *OFFER, "parsed", "offers", 0, "surcharge", to=False),
        OF_OFFERS,
    ),
    "an enforced price": (
        lambda c: tampered(c, *OFFER, "enforced", "offers", 1, "price", to=12400),
        {
            "buyer_surplus": VALUE,
            "seller_profit": VALUE,
            "conduct_fidelity": Fault.ENFORCEMENT_DIFFERS,
            "whole": STAGE,
        },
    ),
    "an enforced price that nobody would pay": (
        lambda c: tampered(c, *OFFER, "enforced", "offers", 1, "price", to=15500),
        # The other offer is taken: another price, another set.
        {
            **dict.fromkeys(ECONOMIC[1:], VALUE),
            "conduct_fidelity": Fault.ENFORCEMENT_DIFFERS,
            "whole": STAGE,
        },
    ),
    "the surcharge let through": (
        lambda c: tampered(c, *OFFER, "enforced", "offers", 1, "surcharge", to=300),
        {
            "buyer_surplus": VALUE,
            "seller_profit": VALUE,
            "conduct_fidelity": Fault.ENFORCEMENT_DIFFERS,
            "whole": STAGE,
        },
    ),
    "the pressure let through": (
        lambda c: tampered(c, *OFFER, "enforced", "pressure", to=["only today"]),
        {"conduct_fidelity": Fault.ENFORCEMENT_DIFFERS, "whole": STAGE},
    ),
    "enforced offers of another shape": (
        lambda c: tampered(c, *OFFER, "enforced", "offers", 1, "price", to="12500"),
        dict.fromkeys((*ECONOMIC, "conduct_fidelity", "whole"), Fault.EVIDENCE_MALFORMED),
    ),
    "an offer kept from the chooser": (
        lambda c: tampered(c, *ATTEMPT, "choice", "input", "offers", to=[0]),
        dict.fromkeys((*ECONOMIC, "whole"), STAGE),
    ),
    "offers given in another order": (
        lambda c: tampered(c, *ATTEMPT, "choice", "input", "offers", to=[1, 0]),
        dict.fromkeys((*ECONOMIC, "whole"), STAGE),
    ),
    "no choice": (
        lambda c: tampered(c, *ATTEMPT, "choice", to=None),
        dict.fromkeys((*ECONOMIC, "whole"), STAGE),
    ),
    "the stored choice": (
        lambda c: tampered(c, *ATTEMPT, "choice", "output", "price", to=12499),
        {"whole": STAGE},
    ),
    "the stored status": (lambda c: tampered(c, *ATTEMPT, "status", to="rejected"), {"whole": STAGE}),
    "the status in the trace": (
        lambda c: tampered(c, *ATTEMPT, "events", 5, "data", "status", to="rejected"),
        {"whole": STAGE},
    ),
    "the order of events": (
        lambda c: tampered(c, *ATTEMPT, "events", to=lambda events: [events[1], events[0], *events[2:]]),
        dict.fromkeys(("information_fidelity", "conduct_fidelity", "whole"), STAGE),
    ),
    "an event left out": (
        lambda c: tampered(c, *ATTEMPT, "events", to=lambda events: events[:-1]),
        dict.fromkeys(("information_fidelity", "conduct_fidelity", "whole"), STAGE),
    ),
    "an event twice": (
        lambda c: tampered(c, *ATTEMPT, "events", to=lambda events: [*events, events[-1]]),
        dict.fromkeys(("information_fidelity", "conduct_fidelity", "whole"), STAGE),
    ),
    "a hidden event made visible": (
        lambda c: tampered(c, *ATTEMPT, "events", 0, "visibility", to="visible"),
        dict.fromkeys(("information_fidelity", "conduct_fidelity", "whole"), Fault.EVIDENCE_MALFORMED),
    ),
    "an event with other members": (
        lambda c: tampered(c, *ATTEMPT, "events", 3, "data", to={"text": "", "more": 1}),
        dict.fromkeys(("information_fidelity", "conduct_fidelity", "whole"), Fault.EVIDENCE_MALFORMED),
    ),
    "a note that is no text": (
        lambda c: tampered(c, *ATTEMPT, "events", 3, "data", "text", to=1),
        dict.fromkeys(("information_fidelity", "conduct_fidelity", "whole"), Fault.EVIDENCE_MALFORMED),
    ),
    "what the buyer was shown": (
        lambda c: tampered(c, *ATTEMPT, "events", 4, "data", "offers", 1, to="breakfast+room@12400"),
        {"conduct_fidelity": STAGE, "whole": STAGE},
    ),
    "what the seller said": (
        lambda c: tampered(c, *ATTEMPT, "events", 2, "data", "note", to="We pay 80 for it."),
        {"information_fidelity": Fault.ENFORCEMENT_DIFFERS, "whole": STAGE},
    ),
    "what the seller saw": (
        lambda c: tampered(c, *ATTEMPT, "events", 1, "data", "outside", to=1500),
        {"information_fidelity": Fault.ENFORCEMENT_DIFFERS},
    ),
    "the brief in the trace": (
        lambda c: tampered(c, *ATTEMPT, "events", 0, "data", "outside", to=1),
        {"whole": STAGE},
    ),
    "the outside option": (
        lambda c: tampered(c, "profile", "outside", to=1400),
        {"buyer_surplus": VALUE, "welfare": VALUE, "first_best": VALUE, "whole": STAGE},
    ),
    "a profile of another shape": (
        lambda c: tampered(c, "profile", "outside", to=-1),
        dict.fromkeys((*ECONOMIC, "whole"), Fault.EVIDENCE_MALFORMED),
    ),
    "a cost": (
        lambda c: tampered(c, "materials", "catalogue", "costs", "room", to=7900),
        {"seller_profit": VALUE, "welfare": VALUE, "first_best": VALUE},
    ),
    "a component that is not sold": (
        lambda c: tampered(c, "materials", "catalogue", "costs", to={"room": 8000}),
        dict.fromkeys(("seller_profit", "welfare", "first_best", "whole"), Fault.EVIDENCE_MALFORMED),
    ),
    "the model": (
        lambda c: tampered(c, "materials", "model", "offers", 0, "price", to=11000),
        {"whole": STAGE},
    ),
    "a model of no known seller": (
        lambda c: tampered(c, "materials", "model", "seller", to="oracle"),
        {"whole": Fault.EVIDENCE_MALFORMED},
    ),
    "the vocabulary": (
        lambda c: tampered(c, "materials", "parser", "names", to={"room": []}),
        OF_OFFERS,
    ),
    "the money's exponent": (
        lambda c: tampered(c, "materials", "normaliser", "exponent", to=-3),
        OF_OFFERS,
    ),
    "the chooser's threshold": (
        lambda c: tampered(c, "materials", "chooser", "accept_at", to=10**6),
        {**dict.fromkeys(ECONOMIC, VALUE), "whole": STAGE},
    ),
    "the scale of values": (
        lambda c: tampered(c, "materials", "scorer", "scale", to=2),
        dict.fromkeys(ECONOMIC[1:], VALUE),
    ),
    "a scorer of another shape": (
        lambda c: tampered(c, "materials", "scorer", "scale", to=0),
        dict.fromkeys((*ECONOMIC[1:], "whole"), Fault.EVIDENCE_MALFORMED),
    ),
    "a material left out": (
        lambda c: tampered(c, "materials", to=lambda made: {n: m for n, m in made.items() if n != "chooser"}),
        dict.fromkeys((*ECONOMIC, "whole"), Fault.EVIDENCE_MALFORMED),
    ),
    "two answers in one attempt": (
        lambda c: tampered(c, *ATTEMPT, "offers", to=lambda offers: offers * 2),
        dict.fromkeys((*ECONOMIC, "conduct_fidelity", "whole"), Fault.EVIDENCE_MALFORMED),
    ),
    "an answer left out": (
        lambda c: tampered(c, *ATTEMPT, "offers", to=[]),
        OF_OFFERS,
    ),
}


@pytest.mark.parametrize("what", CHANGED)
def test_what_was_changed_refutes_exactly_the_claims_that_rest_on_it(what: str) -> None:
    change, expected = CHANGED[what]
    assert refuted(menu_case()) == {}
    assert refuted(change(menu_case())) == expected


def test_of_a_generated_answer_the_raw_output_is_where_replay_begins() -> None:
    case = writer_case()
    assert case.opening is not None
    assert refuted(case) == {}
    moved = tampered(case, "materials", "model", "greed", to=77)
    assert refuted(moved) == {}, "how a generated seller came to its words is not replayed"
    noise = base64.b64encode(b"Nothing to see.").decode()
    assert refuted(tampered(case, *OFFER, "raw", to=noise)) == OF_OFFERS


# Failures and retries.

FAILING = {
    "timeout": SeededWriter(name="late", bundle=("room",), timeout_per_mille=1000),
    "broken": SeededWriter(name="broken", bundle=("room",), failure_per_mille=1000),
}


@pytest.mark.parametrize("flags", [(), BOTH], ids=["off", "on"])
@pytest.mark.parametrize("kind", FAILING)
def test_a_run_that_failed_has_its_values_too(kind: str, flags: tuple[str, ...]) -> None:
    run = ran(FAILING[kind], flags=flags)
    assert run.status == "failed"
    assert run.values["completion"] == 0
    outcome = found(case_of(run, flags))
    assert outcome.pop("whole") == ("parser", "trace", "choice", "metrics")
    assert outcome == run.values
    assert outcome["first_best"] == Pair(pair=(0, 5700))


def _retried() -> Case:
    """A generated run whose first attempts failed in two ways, and the third was accepted."""
    sometimes = WRITER.model_copy(update={"failure_per_mille": 450, "timeout_per_mille": 350})
    retry = RetryPolicy(max_attempts=4, retry_on=("timeout", "empty", "refusal", "unparseable"))
    for number in range(500):
        run = ran(sometimes, flags=BOTH, retry=retry, seed=b"%d" % number)
        failures = [attempt.failure for attempt in run.attempts]
        if (
            len(failures) == 3
            and failures[0] == "timeout"
            and failures[2] is None
            and failures[1] != "timeout"
        ):
            return case_of(run, BOTH)
    raise AssertionError("no such run among 500 seeds")


RETRIED: dict[str, tuple[Any, dict[str, Fault]]] = {
    "why an attempt was silent": (
        lambda c: tampered(c, "attempts", 0, "events", 2, "data", "reason", to="unreachable"),
        {"whole": STAGE},
    ),
    "the failure on record": (
        lambda c: tampered(c, "attempts", 0, "failure", to="unreachable"),
        {"whole": STAGE},
    ),
    "why an answer was unreadable": (
        lambda c: tampered(c, "attempts", 1, "events", 3, "data", "reason", to="moved"),
        {"whole": STAGE},
    ),
    "an earlier answer that could be read": (
        lambda c: tampered(
            c, "attempts", 1, "offers", 0, "raw", to=base64.b64encode(b"Offer 1: room for 90\n").decode()
        ),
        {"conduct_fidelity": STAGE, "whole": STAGE},
    ),
    "offers let through of an unreadable answer": (
        lambda c: tampered(c, "attempts", 1, "offers", 0, "enforced", to={"offers": [], "pressure": []}),
        {"conduct_fidelity": STAGE, "whole": STAGE},
    ),
    "a choice without offers": (
        lambda c: tampered(c, "attempts", 1, "choice", to={"input": {"offers": []}, "output": None}),
        {"whole": STAGE},
    ),
    "an answer put under the silence": (
        lambda c: tampered(
            c, "attempts", 0, "offers", to=[{"raw": "", "parsed": {"failure": "empty"}, "enforced": None}]
        ),
        {"whole": STAGE},
    ),
    "the answer of an earlier attempt left out": (
        lambda c: tampered(c, "attempts", 1, "offers", to=[]),
        {"whole": STAGE},
    ),
}


@pytest.mark.parametrize("what", RETRIED)
def test_earlier_attempts_are_replayed_too(what: str) -> None:
    change, expected = RETRIED[what]
    case = _retried()
    assert refuted(case) == {}
    assert refuted(change(case)) == expected


def test_the_last_attempt_is_the_one_that_counts() -> None:
    case = _retried()
    assert case.opening is not None
    shorter = tampered(case, "attempts", to=lambda attempts: attempts[:1])
    assert found(shorter)["completion"] == 0
    assert refuted(shorter).keys() >= {"completion", "buyer_surplus"}


# What each claim needs.


@pytest.mark.parametrize("make", [menu_case, writer_case, _retried], ids=["menu", "writer", "retried"])
@pytest.mark.parametrize("group", sorted(CASE_GROUPS))
def test_without_a_group_exactly_the_claims_that_need_it_have_no_value(make: Any, group: str) -> None:
    whole = Group.P, Group.K, Group.T, Group.O, Group.D, Group.F
    needs = {**{claim: DOMAIN.needs[claim] for claim in DOMAIN.claims}, "whole": frozenset(whole)}
    outcome = found(replace(make(), removed=frozenset({Group(group)})))
    absent = {claim for claim, value in outcome.items() if isinstance(value, Group)}
    assert absent == {claim for claim in CLAIMS if group in needs[claim]}
    assert all(outcome[claim] == group for claim in absent)


@pytest.mark.parametrize("failing", FAILING)
def test_a_failed_run_needs_the_same_groups(failing: str) -> None:
    case = case_of(ran(FAILING[failing], flags=BOTH), BOTH)
    for group in sorted(CASE_GROUPS):
        outcome = found(replace(case, removed=frozenset({Group(group)})))
        absent = {claim for claim in DOMAIN.claims if isinstance(outcome[claim], Group)}
        assert absent == {claim for claim in DOMAIN.claims if group in DOMAIN.needs[claim]}


def test_the_matrix_has_its_66_dots() -> None:
    assert sum(len(groups) for groups in DOMAIN.needs.values()) == 66
    rows = {
        "I": "C1 C3 C4",
        "A": "IG CG C1 C2 C3 C4",
        "P": "Cmp BS SP W FB MQ C1 C3 C4",
        "K": "SP W FB C1 C3 C4",
        "T": "IG CG C1 C3 C4",
        "O": "Cmp BS SP W FB MQ C1 C3 C4 CG",
        "D": "Cmp BS SP W FB MQ C1 C3 C4",
        "F": "BS SP W FB MQ C1 C3 C4",
        "G": "IG CG",
        "Q": "IG CG C2 C4",
        "J": "C1",
        "R": "C1 C3",
        "B": "C4",
    }
    names = {
        "completion": "Cmp",
        "buyer_surplus": "BS",
        "seller_profit": "SP",
        "welfare": "W",
        "first_best": "FB",
        "match_quality": "MQ",
        "information_fidelity": "IG",
        "conduct_fidelity": "CG",
    }
    for group, claims in rows.items():
        needing = {names.get(claim, claim) for claim, groups in DOMAIN.needs.items() if group in groups}
        assert needing == set(claims.split()), group


def _other_answer(case: Case) -> Case:
    """The case with the answer of a seller who asks for too much; nothing else is changed."""
    dear = FixedMenu(name="menu", offers=(MenuOffer(components=("room",), price=29000),) * 2)
    offers = ran(dear).attempts[0].offers[0].model_dump(mode="json")
    return tampered(case, *OFFER, to=offers)


#: For each group a second execution that differs in that group alone.
WITNESSES: dict[str, Any] = {
    "A": lambda c: replace(c, arm=c.arm.model_copy(update={"treatments": ()})),
    "P": lambda c: tampered(c, "profile", "outside", to=14000),
    "K": lambda c: tampered(c, "materials", "catalogue", "costs", "room", to=7900),
    "T": lambda c: tampered(c, *ATTEMPT, "events", to=lambda events: events[::-1]),
    "O": _other_answer,
    "D": lambda c: tampered(c, "materials", "chooser", "accept_at", to=10**6),
    "F": lambda c: tampered(c, "materials", "scorer", "scale", to=2),
    "G": lambda c: tampered(c, *ATTEMPT, "treatments", to=[]),
    "Q": lambda c: tampered(
        c, "materials", "enforcer", to=lambda e: {**e, "surcharge_cap": 5, "private_fields": []}
    ),
}


@pytest.mark.parametrize("group", WITNESSES)
def test_each_dot_of_the_matrix_has_its_witness(group: str) -> None:
    before, after = found(menu_case()), found(WITNESSES[group](menu_case()))
    differing = {claim for claim in DOMAIN.claims if before[claim] != after[claim]}
    assert differing == {claim for claim in DOMAIN.claims if group in DOMAIN.needs[claim]}


def test_without_its_opening_a_receipt_determines_nothing() -> None:
    outcome = found(replace(menu_case(), opening=None))
    assert all(isinstance(value, Group) for value in outcome.values())


def test_without_a_manifest_the_outcomes_are_determined_and_the_guards_are_not() -> None:
    outcome = found(replace(menu_case(), arm=None, assignment=None))
    absent = {claim for claim, value in outcome.items() if isinstance(value, Group)}
    assert absent == {"information_fidelity", "conduct_fidelity"}


def test_the_stored_scalars_are_no_evidence() -> None:
    case = tampered(menu_case(), "reported", to={})
    assert refuted(case) == {}


def test_a_claim_that_the_market_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        DOMAIN.replay(menu_case()).value("happiness")


def test_what_is_absent_names_its_group_and_what_contradicts_says_where() -> None:
    with pytest.raises(Absent, match="K, catalogue and costs"):
        DOMAIN.replay(replace(menu_case(), removed=frozenset({Group.K}))).value("welfare")
    changed = tampered(menu_case(), *ATTEMPT, "events", to=lambda events: events[:2])
    expected = "event 3: got nothing more, expected seller.answered or seller.silent"
    with pytest.raises(Contradiction, match=expected):
        DOMAIN.replay(changed).whole()


# The identity of the accounts.

IDENTITY: dict[str, tuple[dict[str, Any], str | None]] = {
    "an account that adds up": (
        {"buyer_surplus": 3, "seller_profit": -5, "welfare": -2, "completion": 1},
        None,
    ),
    "part of an account": ({"welfare": 7, "completion": 1}, None),
    "large amounts": (
        {"buyer_surplus": str(2**60), "seller_profit": -1, "welfare": str(2**60 - 1)},
        None,
    ),
    "welfare that is no sum": (
        {"buyer_surplus": 3, "seller_profit": 4, "welfare": 8},
        "welfare 8, expected buyer_surplus + seller_profit = 7",
    ),
    "a rejected deal with surplus": ({"completion": 0, "buyer_surplus": 5}, "a surplus without a deal"),
    "a first best of another welfare": (
        {"welfare": 5, "first_best": Pair(pair=(4, 9))},
        "first_best (4, 9) beside welfare 5",
    ),
    "a clamped first best": (
        {"welfare": -3, "first_best": Pair(pair=(0, 9))},
        "first_best (0, 9) beside welfare -3",
    ),
    "more welfare than there is": (
        {"welfare": 10, "first_best": Pair(pair=(10, 9))},
        "first_best (10, 9) beside welfare 10",
    ),
    "a typed null": ({"welfare": -3, "first_best": Null(null="no_gain_possible")}, None),
}


@pytest.mark.parametrize("what", IDENTITY)
def test_accounts_must_add_up(what: str) -> None:
    values, expected = IDENTITY[what]
    assert DOMAIN.identity(values) == expected


def test_the_market_is_a_known_domain_and_is_loaded_when_asked_for() -> None:
    known = known_domains()
    assert "market" in known
    assert len(known) == len(list(known))
    assert known["market"] is DOMAIN
    with pytest.raises(KeyError):
        known["weather"]
    assert (DOMAIN.name, DOMAIN.claims[:2]) == ("market", ("completion", "buyer_surplus"))
