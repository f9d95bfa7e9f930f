"""Whatever an opening holds, a replay ends with a value, an absent group or a contradiction."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from agentbeat_receipts.claims import Fault
from agentbeat_receipts.domains.market import MenuOffer, Parser, Profile, ProfitMaximum, SeededWriter
from agentbeat_receipts.domains.market.answers import Answer
from agentbeat_receipts.domains.market.exact_values import Remembered
from agentbeat_receipts.domains.market.materials import MAX_COMPONENTS
from support.markets import CLAIMS, SELLERS, case_of, found, ran, setting, tampered

BOTH = ("info", "conduct")
CASES = {name: case_of(ran(model, flags=BOTH, form="itemised"), BOTH) for name, model in SELLERS.items()}

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from([-1, 0, 1, 2**53 - 1, -(2**53) + 1]),
        st.sampled_from(["", "room", "spa", "bundle", "1,200", "fixed_menu", "endpoint", "timeout", "é"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["room", "offers"]), inner)
    ),
    max_leaves=4,
)


def _paths(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found_here = [at] if at else []
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return found_here + [path for name, member in members for path in _paths(member, (*at, name))]


@settings(max_examples=400)
@given(seller=st.sampled_from(sorted(SELLERS)), to=VALUES, data=st.data())
def test_no_change_to_an_opening_makes_a_replay_fail(seller: str, to: Any, data: st.DataObject) -> None:
    case = CASES[seller]
    assert case.opening is not None
    body = case.opening.model_dump(mode="json")
    parts = {name: body[name] for name in ("profile", "materials", "attempts")}
    path = data.draw(st.sampled_from(_paths(parts)))
    try:
        changed = tampered(case, *path, to=to)
    except ValidationError:
        return
    assert set(found(changed)) == set(CLAIMS)


@pytest.mark.parametrize(
    "text",
    [
        "Offer 1: room for " + "9" * 5000 + "\n",
        "Offer 1: room for " + "1,000" * 1000 + "\n",
        "Offer 1: room for " + "one " * 5000 + "\n",
        "Offer 1: " + "room " * 5000 + "for 5\n",
        '{"offers": [{"components": ["room"], "price": ' + "9" * 5000 + "}]}",
        '{"offers": [{"components": ["room"], "price": 1e' + "9" * 5000 + "}]}",
        '{"offers": [{"components": ["room"], "price": "' + "9" * 5000 + '"}]}',
        '{"offers": [{"components": ["room"], "price": 9007199254740990e-2, "surcharge": 9e13}]}',
        "```json\n{" + "} " * 20000 + "```",
        "- " * 20000,
        "." * 60000,
    ],
    ids=range(11),
)
def test_an_answer_that_is_made_to_hurt_is_unparseable(text: str) -> None:
    assert setting().reader.read(text.encode()).failure == "unparseable"


def test_offers_that_do_not_add_up_are_no_offers() -> None:
    case = CASES["fixed_menu"]
    for member, to in (("price", 1), ("prices", [1]), ("components", ["room", "breakfast"])):
        changed = tampered(case, "attempts", 0, "offers", 0, "enforced", "offers", 1, member, to=to)
        assert found(changed)["completion"] is Fault.EVIDENCE_MALFORMED


def test_a_policy_whose_price_is_beyond_exact_integers_is_no_evidence() -> None:
    huge = Profile(values={"room": 2**53 - 1, "spa": 2**53 - 1})
    with pytest.raises(ValidationError):
        ran(ProfitMaximum(), profile=huge)
    case = case_of(ran(ProfitMaximum()))
    changed = tampered(case, "profile", "values", "room", to=2**53 - 1)
    for event in (0, 1):
        path = ("attempts", 0, "events", event, "data", "values")
        changed = tampered(changed, *path, to={"breakfast": 2**53 - 1, "room": 2**53 - 1, "spa": 2500})
    changed = tampered(changed, "profile", "values", "breakfast", to=2**53 - 1)
    changed = tampered(changed, "attempts", 0, "events", 0, "data", "price_cap", to=None)
    changed = tampered(changed, "attempts", 0, "events", 1, "data", "price_cap", to=None)
    changed = tampered(changed, "profile", "price_cap", to=None)
    assert found(changed)["whole"] is Fault.EVIDENCE_MALFORMED


def test_values_beyond_exact_integers_are_decimal_strings_that_come_out_again() -> None:
    # What the buyer would pay is not what is asked for, so that the price stays small.
    rich = Profile(values={"room": 2**53 - 1, "breakfast": 2**53 - 1})
    run = ran(profile=rich)
    assert run.values["buyer_surplus"] == str(2 * (2**53 - 1) - 12800)
    outcome = found(case_of(run))
    assert outcome.pop("whole")
    assert outcome == run.values


def test_components_are_few_enough_to_try_every_set() -> None:
    many = {f"c-{place}": 1 for place in range(MAX_COMPONENTS + 1)}
    with pytest.raises(ValidationError):
        Profile(values=many)
    with pytest.raises(ValidationError):
        MenuOffer(components=tuple(many), price=1)


def test_what_is_remembered_is_bounded_in_number_and_size() -> None:
    calls: list[int] = []

    def measured(content: Any) -> int:
        calls.append(len(content))
        return len(content)

    remembered = Remembered(measured, most=2)
    assert [remembered([1]), remembered([1]), remembered([True])] == [1, 1, 1]
    assert len(calls) == 2, "true is not 1"
    remembered([1, 2])
    remembered([1])
    assert len(calls) == 4, "the third result made room for itself"
    long = ["x" * 20_000]
    remembered(long)
    remembered(long)
    assert len(calls) == 6


def test_a_failure_is_not_remembered() -> None:
    outcomes = [ValueError("first"), None]

    def once(_: Any) -> int:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return 7

    remembered = Remembered(once)
    with pytest.raises(ValueError, match="first"):
        remembered([])
    assert remembered([]) == 7


def test_an_answer_has_offers() -> None:
    with pytest.raises(ValidationError):
        Answer(offers=(), pressure=())


def test_a_refusing_writer_without_phrases_is_still_unreadable() -> None:
    mute = Parser(names=dict.fromkeys(setting().catalogue.costs, ()), pressure=(), refusals=())
    failing = SeededWriter(name="w", bundle=("room",), failure_per_mille=1000, pressure_per_mille=1000)
    ends = {ran(failing, parser=mute, seed=b"%d" % n).attempts[0].failure for n in range(60)}
    assert ends == {"empty", "unparseable"}
    raw = ran(failing, parser=mute).attempts[0].offers[0].raw
    assert base64.b64decode(raw).decode().isascii()


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (("enforcer", "private_words"), ["word"] * 65),
        (("enforcer", "private_fields"), ["field"] * 65),
        (("parser", "pressure"), ["phrase"] * 65),
        (("parser", "names"), {f"n{place}": [] for place in range(MAX_COMPONENTS + 1)}),
        (("parser", "names"), {"room": ["name"] * 65}),
        (("normaliser", "signs"), ["x"] * 17),
    ],
    ids=["words", "fields", "phrases", "components", "spellings", "signs"],
)
def test_a_vocabulary_too_large_to_be_looked_for_is_malformed(path: tuple[str, str], content: Any) -> None:
    outcome = found(tampered(CASES["writer"], "materials", *path, to=content))
    assert Fault.EVIDENCE_MALFORMED in outcome.values()
