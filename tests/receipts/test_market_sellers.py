"""Sellers: deterministic policies, a writer from a seed, and runs that come out the same again."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import pytest

from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.domains.market import (
    BundleStress,
    Catalogue,
    Endpoint,
    Enquiry,
    FixedMenu,
    MenuOffer,
    NoAnswer,
    Normaliser,
    Parser,
    Profile,
    ProfitMaximum,
    Prompt,
    Schema,
    SeededWriter,
)
from agentbeat_receipts.domains.market.briefs import Brief, brief_of
from agentbeat_receipts.domains.market.policies import policy_answer
from agentbeat_receipts.domains.market.streams import Stream, derived_seed
from agentbeat_receipts.domains.market.writers import decided_offers
from agentbeat_receipts.objects import RetryPolicy
from support.markets import BUYER, CATALOGUE, SELLERS, WRITER, ran, setting

SEEN = Brief.model_validate(brief_of(BUYER))
BLIND = Brief(wants=SEEN.wants, required=SEEN.required)


def read(model: Any, brief: Brief, form: str = "bundle", catalogue: Catalogue = CATALOGUE) -> list[Any]:
    """The offers of a deterministic seller, as they are read."""
    schema = Schema(form=form)  # type: ignore[arg-type]
    raw = policy_answer(model, catalogue, schema, Normaliser(), brief)
    offers: list[Any] = setting(form=form).reader.read(raw).parsed["offers"]
    return offers


def test_a_fixed_menu_offers_the_same_to_everybody() -> None:
    menu = SELLERS["fixed_menu"]
    assert read(menu, SEEN) == read(menu, BLIND)
    assert [offer["price"] for offer in read(menu, SEEN)] == [11000, 12500]


def test_the_profit_maximum_takes_what_the_brief_says_the_buyer_has() -> None:
    # With breakfast there is 800 more to take than of the room alone; the spa costs more than it is worth.
    (offer,) = read(ProfitMaximum(), SEEN)
    assert (offer["components"], offer["price"]) == (["breakfast", "room"], 14500)
    capped = SEEN.model_copy(update={"price_cap": 12000})
    (offer,) = read(ProfitMaximum(surcharge=500), capped)
    assert (offer["components"], offer["price"], offer["surcharge"]) == (["room"], 11500, 500)


def test_the_profit_maximum_prices_by_cost_where_it_sees_nothing() -> None:
    (offer,) = read(ProfitMaximum(markup=50), BLIND)
    assert (offer["components"], offer["price"]) == (["breakfast", "room", "spa"], 18300)


def test_the_profit_maximum_of_a_buyer_with_nothing_to_spend_is_free() -> None:
    (offer,) = read(ProfitMaximum(), SEEN.model_copy(update={"outside": 10**6}))
    assert (offer["price"], offer["surcharge"]) == (0, 0)


def test_a_policy_answers_even_where_the_catalogue_lacks_what_is_required() -> None:
    without = Catalogue(costs={"spa": 3000})
    for brief in (SEEN, BLIND):
        (offer,) = read(ProfitMaximum(), brief, catalogue=without)
        assert offer["components"] == ["spa"]


def test_bundle_stress_offers_the_whole_catalogue() -> None:
    (offer,) = read(BundleStress(markup=10, surcharge=5), BLIND)
    assert (offer["components"], offer["price"], offer["surcharge"]) == (sorted(CATALOGUE.costs), 13970, 5)


@pytest.mark.parametrize("seller", ["fixed_menu", "profit_maximum", "bundle_stress"])
def test_itemised_prices_add_up_to_those_of_the_bundle(seller: str) -> None:
    bundles, items = read(SELLERS[seller], SEEN), read(SELLERS[seller], SEEN, form="itemised")
    assert [offer["price"] for offer in items] == [offer["price"] for offer in bundles]
    assert all(len(offer["prices"]) == len(offer["components"]) for offer in items)


def test_an_itemised_menu_of_what_costs_nothing_is_shared_out_evenly() -> None:
    free = Catalogue(costs={"room": 0, "spa": 0})
    menu = FixedMenu(name="menu", offers=(MenuOffer(components=("room", "spa"), price=101),))
    (offer,) = read(menu, SEEN, form="itemised", catalogue=free)
    assert offer["prices"] == [51, 50]


def test_a_run_is_the_same_again_byte_for_byte_and_another_with_another_seed() -> None:
    def written(seed: bytes) -> bytes:
        return canonical_bytes(
            [attempt.model_dump(mode="json") for attempt in ran(WRITER, seed=seed).attempts]
        )

    assert written(b"a") == written(b"a")
    assert len({written(b"%d" % number) for number in range(20)}) == 20


def test_runs_are_the_same_on_every_machine() -> None:
    raw = "".join(ran(WRITER, seed=b"%d" % number).attempts[0].offers[0].raw for number in range(50))
    assert hashlib.sha256(raw.encode()).hexdigest() == PINNED


PINNED = "42bb7ddbb90085c991fe0155bfb7e87474aa8cfca0402fa4a057e75cbb5399e6"


def test_one_more_knob_turned_changes_nothing_else() -> None:
    plain = decided_offers(WRITER, CATALOGUE, Prompt(), SEEN, b"seed")
    failing = WRITER.model_copy(update={"failure_per_mille": 500, "pressure_per_mille": 0})
    assert decided_offers(failing, CATALOGUE, Prompt(), SEEN, b"seed") == plain


@pytest.mark.parametrize(
    ("greed", "push", "price"),
    [(0, 0, 9200), (100, 0, 14500), (40, 0, 11320), (40, 60, 14500), (40, -40, 9200)],
)
def test_a_writer_that_sees_the_buyers_values_takes_its_share(greed: int, push: int, price: int) -> None:
    writer = SeededWriter(name="w", bundle=("room",), greed=greed)
    (offer,) = decided_offers(writer, CATALOGUE, Prompt(push=push), SEEN, b"")
    assert (offer.components, offer.price) == (("breakfast", "room"), price)


def test_a_writer_that_sees_nothing_offers_its_bundle_at_its_margin() -> None:
    writer = SeededWriter(name="w", bundle=("room", "spa", "moon"), margin=10)
    (offer,) = decided_offers(writer, CATALOGUE, Prompt(push=5), BLIND, b"")
    assert (offer.components, offer.price) == (("room", "spa"), 12650)
    (offer,) = decided_offers(
        writer.model_copy(update={"bundle": ("moon",)}), CATALOGUE, Prompt(), BLIND, b""
    )
    assert offer.components == ("breakfast",), "of what the catalogue has not, the first that it has"


def test_further_offers_have_a_component_less_each_and_keep_what_is_required() -> None:
    writer = SeededWriter(name="w", bundle=("room", "breakfast", "spa"), offers=4, margin=0)
    offers = decided_offers(writer, CATALOGUE, Prompt(), BLIND, b"")
    assert [len(offer.components) for offer in offers] == [3, 2, 1]
    assert all("room" in offer.components for offer in offers)
    assert [offer.price for offer in offers] == [
        sum(CATALOGUE.costs[name] for name in offer.components) for offer in offers
    ]


def test_the_spread_moves_prices_both_ways_and_no_further() -> None:
    writer = SeededWriter(name="w", bundle=("room",), margin=25, spread=10)
    prices = {
        decided_offers(writer, CATALOGUE, Prompt(), BLIND, b"%d" % number)[0].price for number in range(300)
    }
    assert min(prices) == 9000
    assert max(prices) == 11000
    assert len(prices) == 21


def test_how_often_a_writer_fails_is_its_knob() -> None:
    writer = WRITER.model_copy(update={"failure_per_mille": 300, "timeout_per_mille": 100})
    ends = Counter(ran(writer, seed=b"%d" % number).attempts[0].failure or "dealt" for number in range(600))
    assert 30 < ends["timeout"] < 100
    assert 120 < sum(ends[reason] for reason in ("empty", "refusal", "unparseable")) < 210
    assert all(ends[reason] for reason in ("empty", "refusal", "unparseable"))


class Scripted:
    """A seller that gives one prepared answer, or reason, after the other."""

    def __init__(self, *answers: bytes | NoAnswer) -> None:
        self.answers = list(answers)
        self.enquiries: list[Enquiry] = []

    def answer(self, enquiry: Enquiry) -> bytes:
        self.enquiries.append(enquiry)
        following = self.answers.pop(0)
        if isinstance(following, NoAnswer):
            raise following
        return following


GOOD = b"Offer 1: room for 110\n"
DEAR = b"Offer 1: room for 290\n"

RETRIES: dict[str, tuple[list[bytes | NoAnswer], list[str]]] = {
    "accepted at once": ([GOOD], ["accepted"]),
    "rejected, and not asked again": ([DEAR], ["rejected"]),
    "a declared failure, then accepted": ([NoAnswer("timeout"), GOOD], ["timeout", "accepted"]),
    "two declared failures, then rejected": (
        [NoAnswer("timeout"), b"", DEAR],
        ["timeout", "empty", "rejected"],
    ),
    "a failure that is not declared ends it": ([b"moon"], ["unparseable"]),
    "another one after a declared one": (
        [NoAnswer("timeout"), b"I cannot."],
        ["timeout", "refusal"],
    ),
    "the last one allowed": ([b"", NoAnswer("timeout"), b""], ["empty", "timeout", "empty"]),
}


@pytest.mark.parametrize("what", RETRIES)
def test_the_terminal_attempt_is_the_one_that_the_policy_names(what: str) -> None:
    answers, ends = RETRIES[what]
    seller = Scripted(*answers)
    run = ran(
        Endpoint(model="m"), seller=seller, retry=RetryPolicy(max_attempts=3, retry_on=("timeout", "empty"))
    )
    assert [attempt.failure or attempt.status for attempt in run.attempts] == ends
    assert [attempt.number for attempt in run.attempts] == list(range(1, len(ends) + 1))
    assert [attempt.cause for attempt in run.attempts] == ["initial", *ends[:-1]]
    assert seller.answers == []
    assert len({enquiry.seed for enquiry in seller.enquiries}) == len(ends), "each attempt has its own seed"
    assert len(run.attempts) == len(ends)


def test_a_seller_is_shown_what_the_guard_let_through_and_no_more() -> None:
    seller = Scripted(GOOD, GOOD)
    ran(Endpoint(model="m"), seller=seller)
    ran(Endpoint(model="m"), seller=seller, flags=("info",))
    assert [set(enquiry.brief) for enquiry in seller.enquiries] == [
        {"wants", "required", "values", "outside", "price_cap"},
        {"wants", "required"},
    ]


def test_an_endpoint_needs_a_seller() -> None:
    with pytest.raises(ValueError, match="a seller for the endpoint's model"):
        ran(Endpoint(model="m"))


def test_a_setting_whose_parts_do_not_agree_is_refused() -> None:
    with pytest.raises(ValueError, match="parser knows moon"):
        setting(parser=Parser(names={"moon": ()}))
    with pytest.raises(ValueError, match="seller offers parking, spa"):
        setting(BundleStress(), parser=Parser(names={"room": (), "breakfast": ()}))


def test_a_brief_tells_wishes_and_private_values_but_no_bonus() -> None:
    buyer = Profile(
        values={"room": 5, "spa": 0, "bar": 7, "view": 1},
        outside=2,
        required=("spa",),
        excluded=("bar",),
        price_cap=9,
        max_components=2,
    )
    assert brief_of(buyer) == {
        "wants": ["room", "spa", "view"],
        "required": ["spa"],
        "values": {"room": 5, "spa": 0, "view": 1},
        "outside": 2,
        "price_cap": 9,
    }


def test_a_stream_is_even_and_framed() -> None:
    stream = Stream(b"seed", "dice")
    counts = Counter(stream.below(3) for _ in range(3000))
    assert all(900 < counts[face] < 1100 for face in range(3))
    assert derived_seed(b"ab", "c") != derived_seed(b"a", "bc")
    assert derived_seed(b"a", "b", "c") != derived_seed(b"a", "bc")
    with pytest.raises(ValueError, match="at least 1"):
        stream.below(0)
