"""An answer is read whole, exactly and in any usual wording, or it is not read at all."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_receipts.domains.market import MenuOffer, Normaliser, Parser, Schema
from agentbeat_receipts.domains.market.parsers import MAX_BYTES, MAX_NOTE, OfferReader
from agentbeat_receipts.domains.market.policies import item_prices
from agentbeat_receipts.domains.market.streams import Stream
from agentbeat_receipts.domains.market.wordings import Speech, broken_text, written_text
from support.markets import CATALOGUE, PARSER, setting

BUNDLES = OfferReader(PARSER, Schema(form="bundle", max_offers=3), Normaliser())
ITEMS = OfferReader(PARSER, Schema(form="itemised"), Normaliser())


def bundle(*components: str, price: int, surcharge: int = 0) -> dict[str, Any]:
    return {"components": sorted(components), "price": price, "surcharge": surcharge}


def items(surcharge: int = 0, **prices: int) -> dict[str, Any]:
    names = sorted(prices)
    listed = [prices[name] for name in names]
    return {"components": names, "price": sum(listed), "prices": listed, "surcharge": surcharge}


ROOM_SPA = bundle("room", "spa", price=20000)

BUNDLE_LINES = {
    "Offer 1: king room and spa for EUR 200.00": ROOM_SPA,
    "offer 2 - wellness, double room at €200": ROOM_SPA,
    "Option B: 200 EUR for room with spa access": ROOM_SPA,
    "- Room + Spa: two hundred EUR": ROOM_SPA,
    "* our king room including the spa = 200,00 €": ROOM_SPA,
    "1. We offer you a room and spa, total price 200": ROOM_SPA,
    "2) you get the double room & wellness for only 0.2k": ROOM_SPA,
    "Package 3: room, spa 200": ROOM_SPA,
    "• room plus spa comes to 200,- EUR": ROOM_SPA,
    "Offer 1: room for 200 plus a surcharge of 5": bundle("room", price=20000, surcharge=500),
    "Offer 1: room for 200 (surcharge 5)": bundle("room", price=20000, surcharge=500),
    "Offer 1: room for 200, and 5 service fee": bundle("room", price=20000, surcharge=500),
    "Offer 1: resort fee: 5, room for 200": bundle("room", price=20000, surcharge=500),
    "Offer 1: room for 200, only today": bundle("room", price=20000),
    "Offer 1: breakfast for 12.5. It is freshly made.": bundle("breakfast", price=1250),
}


@pytest.mark.parametrize("line", BUNDLE_LINES)
def test_an_offer_is_read_in_any_usual_wording(line: str) -> None:
    assert BUNDLES.read(f"{line}\n".encode()).parsed["offers"] == [BUNDLE_LINES[line]]


ITEM_LINES = {
    "Offer 1: room 150, spa 50": items(room=15000, spa=5000),
    "- spa access for 50 EUR and king room for €150 (total 200)": items(room=15000, spa=5000),
    "1) room: 1,150.00; breakfast: 0": items(room=115000, breakfast=0),
    "Offer 1: room 150 plus a surcharge of 5, spa 50": items(500, room=15000, spa=5000),
}


@pytest.mark.parametrize("line", ITEM_LINES)
def test_an_itemised_offer_has_a_price_of_each_component(line: str) -> None:
    assert ITEMS.read(f"{line}\n".encode()).parsed["offers"] == [ITEM_LINES[line]]


UNPARSEABLE = {
    "an unknown component": "Offer 1: room and helicopter for 200\n",
    "an unknown component in brackets": "Offer 1: room (sea view) for 200\n",
    "no price": "Offer 1: room and spa\n",
    "no component": "Offer 1: 200 EUR\n",
    "two prices": "Offer 1: room for 200 or 300\n",
    "two prices without a word between": "Offer 1: room 200, spa 300\n",
    "a component twice": "Offer 1: room and king room for 200\n",
    "a vague price": "Offer 1: room for about 200\n",
    "another currency": "Offer 1: room for $200\n",
    "a discount": "Offer 1: room for 200 minus 10\n",
    "a negative price": "Offer 1: room for EUR -200.5x\n",
    "a fraction of a cent": "Offer 1: room for 12.3456\n",
    "a surcharge without an amount": "Offer 1: room for 200 plus a surcharge\n",
    "a surcharge between two amounts": "Offer 1: room for 200 surcharge 5\n",
    "two surcharges": "Offer 1: room for 200, surcharge 5, service fee 6\n",
    "one good and one bad line": "Offer 1: room for 200\nOffer 2: moon for 300\n",
    "more offers than the schema allows": "- room for 1\n- room for 2\n- room for 3\n- room for 4\n",
    "prose": "The room is lovely and costs two hundred.\n",
    "cut off inside a number": "Offer 1: room for 1",
    "cut off at a point": "Offer 1: room for 1,200.",
    "cut off in words": "Offer 1: room for two hundred",
    "an amount beyond 2^53": "Offer 1: room for 99999999999999999\n",
    "JSON cut off": '{"offers": [{"components": ["room"], "price": 2',
    "JSON with a name twice": '{"offers": [], "offers": [{"components": ["room"], "price": 2}]}',
    "JSON with another member": '{"offers": [{"components": ["room"], "price": 2, "tax": 1}]}',
    "JSON with another member on top": '{"offers": [], "tip": 1}',
    "JSON with an unknown component": '{"offers": [{"components": ["moon"], "price": 2}]}',
    "JSON with a component twice": '{"offers": [{"components": ["room", "king room"], "price": 2}]}',
    "JSON with a negative price": '{"offers": [{"components": ["room"], "price": -2}]}',
    "JSON with half a cent": '{"offers": [{"components": ["room"], "price": 2.005}]}',
    "JSON with NaN": '{"offers": [{"components": ["room"], "price": NaN}]}',
    "JSON with a boolean price": '{"offers": [{"components": ["room"], "price": true}]}',
    "JSON without components": '{"offers": [{"components": [], "price": 2}]}',
    "JSON with items in a bundle": '{"offers": [{"prices": {"room": 2}}]}',
    "JSON without offers": '{"offers": []}',
    "JSON whose offers are no list": '{"offers": {"components": ["room"], "price": 2}}',
    "JSON whose offer is no object": '{"offers": ["room for 2"]}',
    "JSON whose components are no list": '{"offers": [{"components": "room", "price": 2}]}',
    "JSON with a note that is no text": '{"offers": [{"components": ["room"], "price": 2}], "note": 1}',
    "JSON with half a character": '{"offers": [{"components": ["room"], "price": 2}], "note": "\\ud800"}',
    "JSON too deep": "{" + '"offers":[' * 30000,
}


@pytest.mark.parametrize("case", UNPARSEABLE)
def test_what_may_be_misread_is_not_read(case: str) -> None:
    reading = BUNDLES.read(UNPARSEABLE[case].encode())
    assert (reading.parsed, reading.note) == ({"failure": "unparseable"}, "")


UNPARSEABLE_ITEMS = {
    "a component without a price": "Offer 1: room 150, spa\n",
    "the price first": "Offer 1: 150 room, 50 spa\n",
    "a total other than the sum": "Offer 1: room 150, spa 50 (total 210)\n",
    "a total without an amount": "Offer 1: room 150 in total\n",
    "a component twice": "Offer 1: room 150, king room 150\n",
    "a bundle": "Offer 1: room and spa for 200\n",
    "JSON of a bundle": '{"offers": [{"components": ["room"], "price": 2}]}',
    "JSON prices in a list": '{"offers": [{"prices": [1]}]}',
    "JSON with one component in two names": '{"offers": [{"prices": {"room": 1, "king room": 2}}]}',
}


@pytest.mark.parametrize("case", UNPARSEABLE_ITEMS)
def test_an_itemised_offer_is_whole_or_unread(case: str) -> None:
    assert ITEMS.read(UNPARSEABLE_ITEMS[case].encode()).failure == "unparseable"


@pytest.mark.parametrize(
    ("raw", "failure"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"I am sorry, but I cannot help with that.", "refusal"),
        (b"We CANNOT make an offer for these dates.", "refusal"),
        (b"\xff\xfe", "unparseable"),
        (b"Offer 1: room for 200\n" + b" " * MAX_BYTES, "unparseable"),
    ],
)
def test_an_answer_without_offers_says_why(raw: bytes, failure: str) -> None:
    assert BUNDLES.read(raw).parsed == {"failure": failure}


def test_a_refusal_beside_an_offer_is_only_talk() -> None:
    reading = BUNDLES.read(b"I cannot go lower.\nOffer 1: room for 200\n")
    assert reading.failure is None
    assert reading.note == "I cannot go lower."


JSON = {
    "plain": '{"offers": [{"components": ["Room", "wellness"], "price": "1,200"}], "note": "Hello."}',
    "fenced": '```json\n{"offers": [{"components": ["spa", "room"], "price": 1200.00}], '
    '"note": "Hello."}\n```',
    "fenced with talk": 'Here:\n```\n{"offers": [{"components": ["spa", "room"], "price": 12e2}], '
    '"note": "Hello.", "pressure": []}\n```\nBye.',
}


@pytest.mark.parametrize("case", JSON)
def test_json_is_read_plain_or_fenced(case: str) -> None:
    reading = BUNDLES.read(JSON[case].encode())
    assert reading.parsed == {"offers": [bundle("room", "spa", price=120000)], "pressure": []}
    assert reading.note == "Hello."


def test_a_json_number_is_never_grouped() -> None:
    read = BUNDLES.read(b'{"offers": [{"components": ["room"], "price": 1.200, "surcharge": "1.200"}]}')
    assert read.parsed["offers"] == [bundle("room", price=120, surcharge=120000)]


def test_pressure_is_found_anywhere_in_the_order_of_the_vocabulary_and_is_no_part_of_the_note() -> None:
    raw = b"Act now! Welcome.\nOffer 1: room for 200. Last chance. Only today!\nKind regards.\n"
    reading = BUNDLES.read(raw)
    assert reading.parsed["pressure"] == ["only today", "last chance", "act now"]
    assert reading.note == "Welcome. Kind regards."
    in_json = (
        b'{"offers": [{"components": ["room"], "price": 2}], "note": "Hi.", "pressure": ["Only today!"]}'
    )
    assert BUNDLES.read(in_json).parsed["pressure"] == ["only today"]


def test_a_note_is_one_line_in_normal_form_and_not_too_long() -> None:
    reading = BUNDLES.read("Cafe\u0301  is\nopen.\nOffer 1: room for 200\n".encode())
    assert reading.note == "Caf\u00e9 is open."
    long = BUNDLES.read(b"x" * 1000 + b"\nOffer 1: room for 200\n")
    assert len(long.note) == MAX_NOTE


def test_a_vocabulary_without_phrases_finds_no_pressure_and_no_refusal() -> None:
    bare = OfferReader(
        Parser(names={"room": ()}, pressure=(), refusals=()), Schema(form="bundle"), Normaliser()
    )
    assert bare.read(b"Only today!\nOffer 1: room for 200\n").parsed["pressure"] == []
    assert bare.read(b"I cannot.").failure == "unparseable"


def test_an_answer_in_base64_is_read_once() -> None:
    text = base64.b64encode(b"Offer 1: room for 200\n").decode()
    assert BUNDLES.read_base64(text) is BUNDLES.read_base64(text)


SPEECHES = st.builds(
    lambda offers, presses, cost: Speech(offers=tuple(offers), presses=presses, told_cost=cost),
    st.lists(
        st.builds(
            lambda names, price, surcharge: MenuOffer(
                components=tuple(sorted(names)), price=price, surcharge=surcharge
            ),
            st.sets(st.sampled_from(sorted(CATALOGUE.costs)), min_size=1),
            st.one_of(st.integers(0, 10**7), st.integers(0, 999).map(lambda hundreds: hundreds * 10000)),
            st.one_of(st.just(0), st.integers(1, 10**5)),
        ),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 10**6)),
)


@pytest.mark.parametrize("form", ["bundle", "itemised"])
@given(speech=SPEECHES, seed=st.binary(max_size=8))
def test_whatever_the_writer_writes_is_read_back_exactly(form: str, speech: Speech, seed: bytes) -> None:
    arm = setting(form=form)
    text = written_text(speech, arm, Stream(seed, "wording"))
    reading = arm.reader.read(text.encode())
    expected = []
    for offer in speech.offers:
        shares = item_prices(offer.price, {name: CATALOGUE.costs[name] for name in offer.components})
        made = items(offer.surcharge, **shares)
        if form == "bundle":
            del made["prices"]
        expected.append(made)
    assert reading.parsed.get("offers") == expected, text
    assert len(reading.parsed["pressure"]) == speech.presses
    assert ("cost" in reading.note) == (speech.told_cost is not None)


@pytest.mark.parametrize("form", ["bundle", "itemised"])
@given(speech=SPEECHES, seed=st.binary(max_size=8), cut=st.integers(0, 10_000))
def test_a_cut_answer_loses_offers_from_the_end_and_changes_none(
    form: str, speech: Speech, seed: bytes, cut: int
) -> None:
    arm = setting(form=form)
    raw = written_text(speech, arm, Stream(seed, "wording")).encode()
    whole = arm.reader.read(raw).parsed["offers"]
    part = arm.reader.read(raw[: cut % len(raw)]).parsed.get("offers", [])
    assert part == whole[: len(part)]


@given(speech=SPEECHES, seed=st.binary(max_size=8))
def test_a_broken_answer_is_read_to_no_offer(speech: Speech, seed: bytes) -> None:
    arm = setting()
    text = written_text(speech, arm, Stream(seed, "wording"))
    reading = arm.reader.read(broken_text(text, arm, Stream(seed, "failure")).encode())
    assert reading.failure in {"empty", "refusal", "unparseable"}


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail(raw: bytes) -> None:
    parsed = BUNDLES.read(raw).parsed
    assert json.loads(json.dumps(parsed)) == parsed
