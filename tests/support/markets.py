"""A small hotel, its buyers and its sellers, and cases of their runs to be replayed and tampered with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agentbeat_receipts.claims import Absent, Case, ClaimValue, Contradiction, Fault, Group
from agentbeat_receipts.domains.market import (
    DOMAIN,
    NO_RETRY,
    Bonus,
    BundleStress,
    Catalogue,
    Chooser,
    FixedMenu,
    MenuOffer,
    Parser,
    Profile,
    ProfitMaximum,
    Run,
    Schema,
    SeededWriter,
    Seller,
    Setting,
    simulate,
)
from agentbeat_receipts.domains.market.materials import Model
from agentbeat_receipts.objects import Arm, Assignment, Opening, Receipt, RetryPolicy

__all__ = [
    "BUYER",
    "CATALOGUE",
    "CLAIMS",
    "MENU",
    "PARSER",
    "SELLERS",
    "WRITER",
    "case_of",
    "found",
    "ran",
    "setting",
    "tampered",
]

CLAIMS = (*DOMAIN.claims, "whole")

CATALOGUE = Catalogue(costs={"room": 8000, "breakfast": 1200, "spa": 3000, "parking": 500})
PARSER = Parser(
    names={
        "room": ("king room", "double room"),
        "breakfast": ("breakfast buffet",),
        "spa": ("spa access", "wellness"),
        "parking": ("parking space",),
    }
)
BUYER = Profile(
    values={"room": 14000, "breakfast": 2000, "spa": 2500, "parking": 0},
    bonuses=(Bonus(of=("room", "spa"), value=900),),
    outside=1500,
    required=("room",),
    price_cap=30000,
)

MENU = FixedMenu(
    name="menu",
    offers=(
        MenuOffer(components=("room",), price=11000),
        MenuOffer(components=("breakfast", "room"), price=12500, surcharge=300),
    ),
    pressure=("only today",),
)
WRITER = SeededWriter(
    name="writer",
    bundle=("room", "breakfast"),
    offers=2,
    greed=40,
    spread=5,
    surcharge=400,
    surcharge_per_mille=500,
    pressure_per_mille=500,
    leak_per_mille=500,
)
SELLERS: dict[str, Model] = {
    "fixed_menu": MENU,
    "profit_maximum": ProfitMaximum(surcharge=200, pressure=("act now",)),
    "bundle_stress": BundleStress(markup=10, surcharge=700),
    "writer": WRITER,
}


def setting(model: Model = MENU, **changes: Any) -> Setting:
    """A setting of the small hotel; `form` and `chooser` by their words."""
    if "form" in changes:
        changes["schema"] = Schema(form=changes.pop("form"))
    if isinstance(changes.get("chooser"), str):
        changes["chooser"] = Chooser(chooser=changes["chooser"])
    members: dict[str, Any] = {"catalogue": CATALOGUE, "model": model, "parser": PARSER}
    return Setting(**{**members, **changes})


def ran(
    model: Model = MENU,
    *,
    profile: Profile = BUYER,
    flags: Iterable[str] = (),
    retry: RetryPolicy = NO_RETRY,
    seed: bytes = b"seed",
    seller: Seller | None = None,
    **changes: Any,
) -> Run:
    """One run in the small hotel."""
    return simulate(
        setting(model, **changes), profile, flags=frozenset(flags), retry=retry, seed=seed, seller=seller
    )


def case_of(run: Run, flags: Iterable[str] = (), **changes: Any) -> Case:
    """The case of a run as the verifier has it: opening and receipt read from their own bodies."""
    digest = "sha256:" + "0" * 64
    opening = run.opening(manifest=digest, assignment="p-1.arm.1", ticket=None, nonce=bytes(32))
    facts = run.facts(DOMAIN.claims)
    commitment = "hmac-sha256:" + "0" * 64
    receipt = Receipt(
        manifest=digest,
        assignment="p-1.arm.1",
        ticket=None,
        sequence=1,
        previous=digest,
        attempts=len(opening.attempts),
        status=opening.attempts[-1].status,
        components=dict(facts.components),
        commitment=commitment,
        trace=commitment,
        offers=commitment,
        outcome=commitment,
        values=dict(facts.values),
        evidence=opening.evidence(),
        envelope=None,
    )
    members: dict[str, Any] = {
        "subject": "p-1.arm.1",
        "receipt": receipt,
        "opening": opening,
        "assignment": Assignment(assignment="p-1.arm.1", profile="p-1", arm="arm", replicate=1),
        "arm": Arm(arm="arm", components=dict(run.components), treatments=tuple(flags)),
        "groups": DOMAIN.materials,
    }
    return Case(**{**members, **changes})


def tampered(case: Case, *path: str | int, to: Any) -> Case:
    """The case with one member of its opening's body changed; the opening is read anew."""
    assert case.opening is not None
    body = case.opening.model_dump(mode="json")
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to(place[path[-1]]) if callable(to) else to
    return replace(case, opening=Opening.model_validate(body))


def found(case: Case) -> dict[str, ClaimValue | Fault | Group | tuple[str, ...]]:
    """What the replay says of every claim and of the whole: a value, the fault, or the absent group."""
    replay, outcome = DOMAIN.replay(case), {}
    for claim in CLAIMS:
        try:
            outcome[claim] = replay.whole() if claim == "whole" else replay.value(claim)
        except Absent as absent:
            outcome[claim] = absent.group
        except Contradiction as contradiction:
            outcome[claim] = contradiction.fault
    return outcome
