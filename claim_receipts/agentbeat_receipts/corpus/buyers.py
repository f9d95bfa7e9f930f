"""The guests of the corpus, made from a seed.

`anybody` may be anyone. `guest` is somebody with whom a bundle of breakfast and room gains exactly so much:

    W({breakfast, room}) = V - C - o = gain

Its other wishes are worth less than they cost, unless `extras` says what one of them gains beyond its cost.
So of a guest's values whoever sees them makes {breakfast, room} and the extras, which together gain
`gain` plus the extras; and nothing else is better.

>>> buyer = guest(2500, Stream(b"seed", "p-1"), extras={"spa": 700})
>>> buyer.values["breakfast"] + buyer.values["room"] - BUNDLE_COST - buyer.outside
2500
>>> buyer.values["spa"]
3200
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_receipts.corpus.hotels import BUNDLE_COST, COSTS
from agentbeat_receipts.domains.market import Bonus, Profile
from agentbeat_receipts.domains.market.streams import Stream, derived_seed

__all__ = ["amount", "anybody", "crowd", "guest", "stream_of"]

_NO_EXTRAS: Final[Mapping[str, int]] = MappingProxyType({})


def stream_of(seed: bytes, epoch: str, profile: str) -> Stream:
    """The stream that one profile of one epoch is made from."""
    return Stream(derived_seed(seed, "buyer", epoch), profile)


def amount(stream: Stream, least: int, most: int) -> int:
    """A whole amount from `least` to `most`, both in hundredths and possible."""
    return least + 100 * stream.below((most - least) // 100 + 1)


def guest(gain: int, stream: Stream, *, extras: Mapping[str, int] = _NO_EXTRAS, secret: int = 0) -> Profile:
    """Somebody with whom breakfast and room gain exactly `gain`.

    Args:
        gain: in hundredths; `secret` comes on top.
        extras: of other components, what each gains beyond its cost.
        secret: what breakfast and room are worth together beyond their sum: a brief never tells it.
    """
    outside, breakfast = amount(stream, 0, 3000), amount(stream, 1100, 2000)
    values = {
        name: amount(stream, 0, cost - 200)
        for name, cost in COSTS.items()
        if name not in ("breakfast", "room")
    }
    values.update({name: COSTS[name] + more for name, more in extras.items()})
    values["breakfast"] = breakfast
    values["room"] = gain + BUNDLE_COST + outside - breakfast
    bonuses = (Bonus(of=("breakfast", "room"), value=secret),) if secret else ()
    return Profile(values=values, bonuses=bonuses, outside=outside, required=("room",))


def anybody(stream: Stream) -> Profile:
    """Any guest at all: some want little, some cannot pay, with some no deal could gain anything."""
    values = {
        "breakfast": amount(stream, 300, 2400),
        "late-checkout": amount(stream, 0, 1500),
        "parking": amount(stream, 0, 2200),
        "room": amount(stream, 6500, 8000) if stream.chance(120) else amount(stream, 10500, 21000),
        "spa": amount(stream, 0, 6500),
        "transfer": amount(stream, 0, 3000),
    }
    bonuses = []
    if stream.chance(300):
        bonuses.append(Bonus(of=("room", "spa"), value=amount(stream, 500, 2500)))
    if stream.chance(200):
        bonuses.append(Bonus(of=("parking", "transfer"), value=-amount(stream, 300, 1500)))
    excluded = ("spa",) if not bonuses and stream.chance(100) else ()
    return Profile(
        values=values,
        bonuses=tuple(bonuses),
        outside=amount(stream, 0, 4500),
        required=("room",) if stream.chance(800) else (),
        excluded=excluded,
        price_cap=amount(stream, 11000, 19000) if stream.chance(250) else None,
        max_components=4 if stream.chance(150) else None,
    )


def crowd(seed: bytes, epoch: str, count: int) -> dict[str, Profile]:
    """So many guests of an epoch, whoever they may be."""
    names = [f"p-{number:02}" for number in range(1, count + 1)]
    return {name: anybody(stream_of(seed, epoch, name)) for name in names}
