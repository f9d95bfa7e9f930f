"""What was changed in an opening refutes exactly the claims that rest on it."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest

from agentbeat_receipts.claims import Case, Fault
from support.market_cases import (
    ATTEMPT,
    ECONOMIC,
    OFFER,
    menu_case,
    refuted,
    writer_case,
)
from support.markets import tampered

STAGE = Fault.STAGE_CONTRADICTS_REPLAY
VALUE = Fault.VALUE_CONTRADICTS_REPLAY
OF_OFFERS = dict.fromkeys((*ECONOMIC, "conduct_fidelity", "whole"), STAGE)


def _raw(case: Case, old: bytes, new: bytes) -> Case:
    assert case.opening is not None
    raw = base64.b64decode(case.opening.attempts[0].offers[0].raw)
    assert old in raw
    changed = base64.b64encode(raw.replace(old, new)).decode()
    return tampered(case, "attempts", 0, "offers", 0, "raw", to=changed)


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


def test_money_in_other_units_than_the_manifests_is_no_money_of_it() -> None:
    case = menu_case()
    assert refuted(replace(case, money_exponent=-2)) == {}
    assert refuted(replace(case, money_exponent=-4)) == OF_OFFERS
