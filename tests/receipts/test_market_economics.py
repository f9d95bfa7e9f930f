"""Values, surpluses and first best are what the definitions say, held against trying everything."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol import ProtocolError
from agentbeat_protocol.models import validated
from agentbeat_receipts.domains.market import (
    Bonus,
    Catalogue,
    Chooser,
    FixedMenu,
    MenuOffer,
    Parser,
    Profile,
    Scorer,
)
from agentbeat_receipts.domains.market.answers import Offer
from agentbeat_receipts.domains.market.choosers import choose
from agentbeat_receipts.domains.market.scoring import first_best_value, match_quality_value, stated
from agentbeat_receipts.domains.market.valuations import Valuation, first_best
from agentbeat_receipts.objects import Null, Pair
from support.markets import BUYER, case_of, found, ran

NAMES = ("bar", "bed", "room", "spa", "view")
AMOUNTS = st.integers(-500, 500)
PARSER_OF_NAMES = Parser(names=dict.fromkeys(NAMES, ()))


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    names = draw(st.sets(st.sampled_from(NAMES), min_size=1))
    some = st.sets(st.sampled_from(sorted(names)), max_size=2)
    return Profile(
        values={name: draw(AMOUNTS) for name in sorted(names)},
        bonuses=tuple(
            Bonus(
                of=tuple(sorted(draw(st.sets(st.sampled_from(sorted(names)), min_size=1)))),
                value=draw(AMOUNTS),
            )
            for _ in range(draw(st.integers(0, 3)))
        ),
        outside=draw(st.integers(0, 300)),
        required=tuple(draw(some)),
        excluded=tuple(draw(some)),
        price_cap=draw(st.one_of(st.none(), st.integers(0, 800))),
        max_components=draw(st.one_of(st.none(), st.integers(1, 4))),
    )


def sets_of(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for size in range(1, len(names) + 1):
        yield from combinations(names, size)


def worth(profile: Profile, components: tuple[str, ...]) -> int:
    """V(S), term by term."""
    alone = sum(profile.values.get(name, 0) for name in components)
    return alone + sum(bonus.value for bonus in profile.bonuses if set(bonus.of) <= set(components))


def allowed(profile: Profile, components: tuple[str, ...]) -> bool:
    fits = profile.max_components is None or len(components) <= profile.max_components
    return fits and set(profile.required) <= set(components) and not set(profile.excluded) & set(components)


@given(profiles(), st.dictionaries(st.sampled_from(NAMES), st.integers(0, 300), min_size=1))
def test_the_best_values_are_those_of_all_sets_tried_one_by_one(
    profile: Profile, costs: dict[str, int]
) -> None:
    valuation = Valuation(profile)
    for components in sets_of(NAMES):
        assert valuation.value(components) == worth(profile, components)
        assert valuation.allows(valuation.mask(components), len(components)) == allowed(profile, components)
    feasible = [s for s in sets_of(NAMES) if allowed(profile, s)]
    named = [s for s in feasible if set(s) <= set(profile.values)]
    assert valuation.best == max((worth(profile, s) for s in named), default=0)
    gains = [
        worth(profile, s) - sum(costs[name] for name in s) - profile.outside
        for s in feasible
        if set(s) <= set(costs)
    ]
    assert first_best(valuation, costs) == max(0, max(gains, default=0))


@st.composite
def offers(draw: st.DrawFn) -> tuple[Offer, ...]:
    made = []
    for _ in range(draw(st.integers(1, 3))):
        components = tuple(sorted(draw(st.sets(st.sampled_from(NAMES), min_size=1))))
        prices = tuple(draw(st.integers(0, 300)) for _ in components)
        itemised = draw(st.booleans())
        surcharge = draw(st.integers(0, 50))
        made.append(
            Offer(
                components=components,
                price=sum(prices),
                prices=prices if itemised else None,
                surcharge=surcharge,
            )
        )
    return tuple(made)


@given(profiles(), offers(), st.sampled_from(["whole_bundle", "subset"]), st.integers(-50, 50))
def test_a_chooser_takes_the_best_feasible_part_or_rejects(
    profile: Profile, given_offers: tuple[Offer, ...], kind: str, accept_at: int
) -> None:
    options = []
    for place, offer in enumerate(given_offers):
        parts = [offer.components]
        if kind == "subset" and offer.prices is not None:
            parts = list(sets_of(offer.components))
        for part in parts:
            price = offer.price
            if offer.prices is not None:
                price = sum(p for name, p in zip(offer.components, offer.prices, strict=True) if name in part)
            price += offer.surcharge
            affordable = profile.price_cap is None or price <= profile.price_cap
            if allowed(profile, part) and affordable:
                options.append((worth(profile, part) - price - profile.outside, place, part, price))
    best = max((surplus for surplus, *_ in options), default=accept_at - 1)
    deal = choose(Valuation(profile), Chooser(chooser=kind, accept_at=accept_at), given_offers)  # type: ignore[arg-type]
    if best < accept_at:
        assert deal is None
        return
    equals = [(place, len(part)) for surplus, place, part, _ in options if surplus == best]
    assert deal is not None
    assert (deal.offer, len(deal.components)) == min(equals)
    assert (best, deal.offer, deal.components, deal.price) in options
    assert deal.worth == worth(profile, deal.components)


@given(
    profiles(),
    st.fixed_dictionaries({name: st.integers(0, 300) for name in NAMES}),
    st.lists(
        st.tuples(st.sets(st.sampled_from(NAMES), min_size=1), st.integers(0, 600), st.integers(0, 20)),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 100),
)
def test_every_run_keeps_the_identities_and_comes_out_again(
    profile: Profile, costs: dict[str, int], menu: list[tuple[set[str], int, int]], scale: int
) -> None:
    model = FixedMenu(
        name="menu",
        offers=tuple(MenuOffer(components=tuple(sorted(s)), price=p, surcharge=c) for s, p, c in menu),
    )
    run = ran(
        model,
        profile=profile,
        catalogue=Catalogue(costs=costs),
        parser=PARSER_OF_NAMES,
        scorer=Scorer(scale=scale),
    )
    values = run.values
    assert values["welfare"] == values["buyer_surplus"] + values["seller_profit"]  # type: ignore[operator]
    if values["completion"] == 0:
        assert [values[name] for name in ("buyer_surplus", "seller_profit", "welfare")] == [0, 0, 0]
    else:
        assert isinstance(values["buyer_surplus"], int)
        assert values["buyer_surplus"] >= 0
    best = values["first_best"]
    if isinstance(best, Pair):
        assert best.pair[0] == values["welfare"]
        assert best.pair[1] == scale * first_best(Valuation(profile), costs)
        assert best.pair[0] <= best.pair[1]  # type: ignore[operator]
    again = found(case_of(run))
    assert {name: again[name] for name in values} == values
    assert again["whole"] == ("policy", "parser", "trace", "choice", "metrics")


def test_a_rejected_deal_has_no_surplus_and_is_measured_against_the_first_best() -> None:
    run = ran(FixedMenu(name="menu", offers=(MenuOffer(components=("room",), price=20000),)))
    assert run.status == "rejected"
    assert run.values["first_best"] == Pair(pair=(0, 5700))
    assert run.values["match_quality"] == Pair(pair=(0, 19400))
    assert [run.values[name] for name in ("completion", "buyer_surplus", "seller_profit", "welfare")] == [
        0
    ] * 4


def test_a_welfare_below_zero_is_not_clamped() -> None:
    gift = FixedMenu(name="gift", offers=(MenuOffer(components=("parking", "room", "spa"), price=1),))
    poor = Profile(values={"room": 500, "spa": 600}, outside=100)
    run = ran(gift, profile=poor)
    assert run.values["welfare"] == 500 + 600 - 11500 - 100
    assert run.values["seller_profit"] == 1 - 11500
    assert run.values["first_best"] == Null(null="no_gain_possible")


def test_a_buyer_to_whom_nothing_is_worth_anything_has_no_match_quality() -> None:
    run = ran(profile=Profile(values={"room": 0, "spa": -5}))
    assert run.values["match_quality"] == Null(null="no_worth_possible")


@pytest.mark.parametrize(
    ("amount", "value"),
    [(2**53 - 1, 2**53 - 1), (2**53, "9007199254740992"), (-(2**53), "-9007199254740992")],
)
def test_an_amount_beyond_the_exact_integers_is_a_decimal_string(amount: int, value: int | str) -> None:
    assert stated(amount) == value


def test_pairs_are_unreduced_and_exact() -> None:
    assert first_best_value(-2, 2**60) == Pair(pair=(-2, str(2**60)))
    assert match_quality_value(4, 8) == Pair(pair=(4, 8))


def test_a_price_cap_bounds_the_price_and_not_the_first_best() -> None:
    capped = BUYER.model_copy(update={"price_cap": 100})
    run = ran(profile=capped)
    assert run.status == "rejected"
    assert run.values["first_best"] == Pair(pair=(0, 5700))


@pytest.mark.parametrize("member", ["required", "excluded"])
def test_a_profile_names_only_what_it_values(member: str) -> None:
    with pytest.raises(ProtocolError, match="a value of every component"):
        validated(Profile, {"values": {"room": 1}, member: ["moon"]})
