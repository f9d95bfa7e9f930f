"""Each claim needs the groups of the matrix, and its accounts add up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentbeat_receipts.claims import CASE_GROUPS, Absent, Case, Contradiction, Group
from agentbeat_receipts.domains import known_domains
from agentbeat_receipts.domains.market import DOMAIN, FixedMenu, MenuOffer
from agentbeat_receipts.objects import Null, Pair
from support.market_cases import (
    ATTEMPT,
    BOTH,
    FAILING,
    OFFER,
    menu_case,
    refuted,
    retried_case,
    writer_case,
)
from support.markets import CLAIMS, case_of, found, ran, tampered


@pytest.mark.parametrize("make", [menu_case, writer_case, retried_case], ids=["menu", "writer", "retried"])
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
