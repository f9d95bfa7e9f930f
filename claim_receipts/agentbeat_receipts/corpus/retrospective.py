"""The six retrospective epochs, in the shape of the paper's (spec 4, "What must come out").

    E1  27 × (4 menus + 3 writers × {unguarded, guarded})                      270
        menus offer whole bundles, writers price each component: forms and choosers differ, and may not
    E2  30 × (3 menus + 3 writers × {NONE, INFO, CONDUCT, BOTH})               450   everything unified
    E3   4 × {menu, NONE, BOTH} × 3                                             36   C3: W(BOTH - NONE)
    E4  12 × {compliance, standard, pressure}                                   36   C1: SP rises
    E5  75 × {NONE, INFO, CONDUCT, BOTH}, profit maximum                       300
    E6  75 × {NONE, INFO, CONDUCT, BOTH}, bundle stress                        300

Why E3 does not cross its boundary, whatever the seed. The concierge adds 60.00 to every offer. Of the 120.00
or less that three guests have to share out it takes half, so that they refuse under NONE (W = 0); with both
guards the surcharge is gone and they take the bundle, W = b, 25.00 to 60.00. The fourth has more to share out
and buys under both; but behind the information guard nobody sees that it wants the spa, which loses it
a = 25.00 to 35.00. Contrasts -a, and three of at most 3a: of the 256 resamples of four, 1 has -a four times
and 12 have it three times, so at least 13 have no positive sum. That is more than 1/40.

Why E4 is not monotone, whatever the seed. Of a guest's gain g (50.00 to 65.00) the writer takes 20, 50 and
120 percent. Under pressure nine of twelve guests refuse (SP = 0); three have a bonus that the brief does not
tell, and pay. With 2 percent of spread the mean is below 3 × 82 / 12 under pressure, above 12 × 22 / 12 under
the standard prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from agentbeat_receipts.corpus.buyers import amount, crowd, guest, stream_of
from agentbeat_receipts.corpus.epochs import TREATMENTS, TWO_ATTEMPTS, Epoch, compared, rising, steady
from agentbeat_receipts.corpus.hotels import MENUS, SCRIPTS, SETTING, WRITERS, concierge, itemised, prompted
from agentbeat_receipts.domains.market import ArmPlan, Profile, Setting

__all__ = [
    "STABILITY_SURCHARGE",
    "isolation_epoch",
    "pressure_epoch",
    "pressure_plans",
    "retrospective_epochs",
    "scripted_epoch",
    "stability_epoch",
    "stability_guests",
    "stability_plans",
    "unified_epoch",
]

#: What the concierge of E3 adds to every offer.
STABILITY_SURCHARGE: Final = 6000

#: How far each prompt of E4 moves the writer's share, in percent.
_PUSHES: Final = {"compliance": -30, "standard": 0, "pressure": 70}


def retrospective_epochs(seed: bytes) -> tuple[Epoch, ...]:
    """E1 to E6: 1,392 receipts."""
    return (
        isolation_epoch(seed),
        unified_epoch(seed),
        stability_epoch(seed),
        pressure_epoch(seed),
        scripted_epoch(seed, "E5", "profit"),
        scripted_epoch(seed, "E6", "stress"),
    )


def isolation_epoch(seed: bytes) -> Epoch:
    """E1: arms that differ in more than they may."""
    plans = {f"menu-{name}": ArmPlan(_with(SETTING, menu=name)) for name in MENUS}
    for name in WRITERS:
        setting = itemised(_with(SETTING, writer=name))
        plans[f"{name}-unguarded"] = ArmPlan(setting)
        plans[f"{name}-guarded"] = ArmPlan(setting, treatments=TREATMENTS["both"])
    return Epoch(
        key="E1",
        about="menus of bundles beside writers with itemised offers",
        profiles=crowd(seed, "E1", 27),
        plans=plans,
        groups=compared(plans, "model"),
        retry=TWO_ATTEMPTS,
    )


def unified_epoch(seed: bytes) -> Epoch:
    """E2: menus and writers, alike in everything but who sells."""
    plans = {f"menu-{name}": ArmPlan(_with(SETTING, menu=name)) for name in list(MENUS)[:3]}
    for name in WRITERS:
        for treatment, flags in TREATMENTS.items():
            plans[f"{name}-{treatment}"] = ArmPlan(_with(SETTING, writer=name), treatments=flags)
    return Epoch(
        key="E2",
        about="menus and writers under four treatments, all else unified",
        profiles=crowd(seed, "E2", 30),
        plans=plans,
        groups=compared(plans, "model"),
        retry=TWO_ATTEMPTS,
    )


def stability_epoch(seed: bytes) -> Epoch:
    """E3: a contrast that three guests share and the fourth does not."""
    first = stream_of(seed, "E3", "p-01")
    loses = amount(first, 2500, 3500)
    profiles = {"p-01": guest(amount(first, 18000, 24000), first, extras={"spa": loses})}
    profiles |= stability_guests(seed, "E3", range(2, 5))
    plans = stability_plans(concierge(spread=3, surcharge=STABILITY_SURCHARGE))
    return Epoch(
        key="E3",
        about="a menu, and a writer without and with both guards, three times",
        profiles=profiles,
        plans=plans,
        groups=compared(plans, "model"),
        replicates=3,
        contracts=(steady("welfare", minuend="both", subtrahend="none"),),
    )


def stability_guests(seed: bytes, epoch: str, numbers: range) -> dict[str, Profile]:
    """Guests who refuse the surcharge of E3 and take the bundle without it."""
    streams = {f"p-{number:02}": stream_of(seed, epoch, f"p-{number:02}") for number in numbers}
    return {name: guest(amount(stream, 2500, 6000), stream) for name, stream in streams.items()}


def stability_plans(setting: Setting) -> dict[str, ArmPlan]:
    """A menu, and one seller without and with both guards."""
    return {
        "menu": ArmPlan(_with(setting, menu="basic")),
        "none": ArmPlan(setting),
        "both": ArmPlan(setting, treatments=TREATMENTS["both"]),
    }


def pressure_epoch(seed: bytes) -> Epoch:
    """E4: prompts that ask for more and more, until most guests refuse."""
    profiles = {}
    for number in range(1, 13):
        name = f"p-{number:02}"
        stream = stream_of(seed, "E4", name)
        # Every fourth guest has a bonus that no brief tells, and pays more than its brief shows.
        profiles[name] = guest(amount(stream, 5000, 6500), stream, secret=0 if number % 4 else 2500)
    plans = pressure_plans(concierge(spread=2), _PUSHES)
    return Epoch(
        key="E4",
        about="one writer under three prompts",
        profiles=profiles,
        plans=plans,
        groups=compared(plans, "prompt"),
        contracts=(rising("seller_profit", *plans),),
    )


def pressure_plans(setting: Setting, pushes: Mapping[str, int]) -> dict[str, ArmPlan]:
    """One seller under prompts that move its share by so many percent."""
    return {name: ArmPlan(prompted(setting, name, push)) for name, push in pushes.items()}


def scripted_epoch(seed: bytes, key: str, script: str) -> Epoch:
    """E5 and E6: a deterministic seller under four treatments."""
    setting = replace(SETTING, model=SCRIPTS[script])
    plans = {name: ArmPlan(setting, treatments=flags) for name, flags in TREATMENTS.items()}
    return Epoch(
        key=key,
        about=f"the scripted seller {setting.model.seller.replace('_', ' ')} under four treatments",
        profiles=crowd(seed, key, 75),
        plans=plans,
        groups=compared(plans),
    )


def _with(setting: Setting, *, menu: str | None = None, writer: str | None = None) -> Setting:
    return replace(setting, model=MENUS[menu] if menu is not None else WRITERS[writer or ""])
