"""Executions of a small market that differ in one group of evidence: the witnesses of the 66 dots.

Everything that is stored and derived stays what it was in the control: statuses, choices, reported and
disclosed values, and the report. So two executions differ in what was changed, and in what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from agentbeat_receipts.batches import Facts
from agentbeat_receipts.domains.market import FixedMenu, MenuOffer, simulate
from agentbeat_receipts.objects import COMPONENTS, Assignment, Attempt, Manifest, Opening, material_digest
from agentbeat_receipts.tampering import BENIGN
from agentbeat_receipts.tampering.exhibits import Exhibit, changed
from agentbeat_receipts.tampering.makings import DIRECTION, GUARDED, HONEST, PLAIN, SETTING, STABILITY, make
from agentbeat_receipts.tampering.writing import write_exhibit

__all__ = ["RUN", "WITNESSES", "Change", "control", "executed"]

#: The run that a change is made in, where one will do.
RUN = "p-1.guarded.1"
LAST = "p-4.guarded.2"
OTHER = "sha256:" + "e" * 64

#: C1 of the control: guards lower the seller's profit, which depends on costs too.
PROFIT = changed(DIRECTION, outcome="seller_profit", direction="decreasing")


def _as_it_is(opening: Opening) -> Opening:
    return opening


@dataclass(frozen=True, kw_only=True)
class Change:
    """What is different about an execution.

    Args:
        manifest: other members of the manifest.
        openings: changes of what each run committed to, or of one run.
        components: component digests that every receipt names, or one receipt.
        report: other members of the report.
        delivered: what is done to it on the way.
    """

    manifest: Mapping[str, Any] = field(default_factory=dict)
    every: Callable[[Opening], Opening] = _as_it_is
    openings: Mapping[str, Callable[[Opening], Opening]] = field(default_factory=dict)
    components: Mapping[str, str | None] = field(default_factory=dict)
    receipts: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    delivered: Callable[[Exhibit], Exhibit] = lambda exhibit: exhibit


@cache
def control() -> Exhibit:
    """A market with a retried run, another prompt in one arm, and C1 about profit; everything passes."""
    making = HONEST
    for change in BENIGN:
        if change.name in ("retained, declared retry", "allowed field differs"):
            making = change.making(making)
    return make(replace(making, manifest={"contracts": (PROFIT, STABILITY)}))


def executed(change: Change) -> Exhibit:
    """The control's execution, with a change."""
    base = control()
    manifest = changed(base.promised(), **change.manifest)

    def ran(name: str, ticket: str | None) -> tuple[Opening, Facts]:
        opening = changed(base.openings[name], manifest=manifest.digest(), ticket=ticket)
        opening = change.openings.get(name, _as_it_is)(change.every(opening))
        receipt = base.receipt(name)
        components = {**receipt.components, **change.components, **change.receipts.get(name, {})}
        return opening, Facts(components=components, values=receipt.values)

    report = changed(base.reported(), manifest=manifest.digest(), **change.report)
    return change.delivered(write_exhibit(manifest, ran, report))


def _profile(name: str, **members: Any) -> Callable[[Opening], Opening]:
    """Another private profile in every run of a buyer."""

    def change(opening: Opening) -> Opening:
        if not opening.assignment.startswith(f"{name}."):
            return opening
        return changed(opening, profile={**opening.profile, **members})

    return change


def _material(name: str, **members: Any) -> Change:
    """Another material in every run, promised and named as such."""
    base = control()
    content = {**base.openings[RUN].materials[name], **members}
    digest = material_digest(name, content)
    promised: dict[str, Any] = {"materials": {name: digest}}
    if name in base.receipt(RUN).components:
        arms = [changed(arm, components={**arm.components, name: digest}) for arm in base.promised().arms]
        promised = {"arms": tuple(arms)}
    return Change(
        manifest=promised,
        every=lambda opening: changed(opening, materials={**opening.materials, name: content}),
        components={name: digest} if "arms" in promised else {},
    )


def _attempt(**changes: Callable[[Any], Any]) -> Change:
    """Other members of one run's attempt."""

    def attempt(made: Attempt) -> Attempt:
        return changed(made, **{name: change(getattr(made, name)) for name, change in changes.items()})

    return Change(
        openings={RUN: lambda opening: changed(opening, attempts=tuple(map(attempt, opening.attempts)))}
    )


def _events(events: tuple[Any, ...]) -> tuple[Any, ...]:
    """The seller saw the whole brief, and the buyer other offers."""
    shown = {"offers": ["room@1"], "pressure": []}
    data = {"brief.shown": events[0].data, "offers.shown": shown}
    return tuple(changed(event, data=data.get(event.type, event.data)) for event in events)


def _dear_offers(_: Any) -> Any:
    """What a seller answers who asks for too much."""
    offers = tuple(MenuOffer(components=("room",), price=90000 + place) for place in range(3))
    dear = replace(SETTING, model=FixedMenu(name="menu", offers=offers))
    buyer = HONEST.profiles["p-1"]
    run = simulate(dear, buyer, flags=frozenset(), retry=control().promised().retry, seed=b"dear")
    return run.attempts[0].offers


def _arms(manifest: Manifest, **members: Any) -> dict[str, Any]:
    return {"arms": tuple(changed(arm, **members) for arm in manifest.arms)}


def _exchanged(one: str, other: str, member: str) -> dict[str, Any]:
    """Two assignments exchange their profile or arm."""
    entries = {entry.assignment: entry for entry in control().promised().assignments}
    members = {one: getattr(entries[other], member), other: getattr(entries[one], member)}

    def entry(made: Assignment) -> Assignment:
        return changed(made, **{member: members.get(made.assignment, getattr(made, member))})

    return {"assignments": tuple(map(entry, entries.values()))}


def _scorer_promised() -> dict[str, Any]:
    arms = control().promised().arms
    return {"arms": tuple(changed(arm, components={**arm.components, "scorer": OTHER}) for arm in arms)}


def _ungrouped() -> dict[str, Any]:
    groups = control().promised().comparison_groups
    return {"comparison_groups": tuple(changed(group, may_differ=()) for group in groups)}


def _contracts(*contracts: Any) -> Change:
    return Change(manifest={"contracts": contracts})


def _other_cell() -> Change:
    first, *rest = control().reported().cells
    return Change(report={"cells": (changed(first, sum=int(first.sum) + 1), *rest)})


#: The last run left nothing but its terminal: no component was recorded, and its envelope did not arrive.
_BARE = Change(
    receipts={LAST: dict.fromkeys(COMPONENTS)},
    delivered=lambda exhibit: exhibit.without("envelopes", LAST),
)
#: Its terminal did not arrive either.
_GONE = replace(_BARE, delivered=lambda exhibit: exhibit.without("envelopes", LAST).without("receipts", LAST))
#: What follows from the offers, the profile or the chooser, and what follows from how it is stated too.
_VALUED = "buyer_surplus seller_profit welfare first_best match_quality C1 C3 C4"
_CHOSEN = f"completion {_VALUED}"

#: By group, pairs of executions that differ in it alone, and the claims that they show to depend on it.
WITNESSES: dict[str, tuple[tuple[str, Change, Change], ...]] = {
    "I": (
        ("C1 C3", Change(), Change(manifest={"retry": {"max_attempts": 1, "retry_on": ()}})),
        ("C4", _BARE, _GONE),
    ),
    "A": (
        (
            "information_fidelity conduct_fidelity",
            Change(),
            Change(manifest=_arms(control().promised(), treatments=("conduct", "info"))),
        ),
        ("C1 C3 C4", Change(), Change(manifest=_exchanged(f"p-1.{PLAIN}.1", f"p-2.{PLAIN}.1", "profile"))),
        ("C2", Change(), Change(manifest=_exchanged(f"p-1.{PLAIN}.1", f"p-1.{GUARDED}.1", "arm"))),
    ),
    "P": (
        (
            _CHOSEN,
            Change(),
            Change(every=_profile("p-1", price_cap=5000)),
        ),
    ),
    "K": (
        (
            "seller_profit welfare first_best C1 C3 C4",
            Change(),
            _material("catalogue", costs={"room": 7000, "breakfast": 1200, "spa": 6000}),
        ),
    ),
    "T": (("information_fidelity conduct_fidelity C1 C3 C4", Change(), _attempt(events=_events)),),
    "O": (
        (
            f"{_CHOSEN} conduct_fidelity",
            Change(),
            _attempt(offers=_dear_offers),
        ),
    ),
    "D": (
        (
            _CHOSEN,
            Change(),
            _material("chooser", accept_at=1_000_000),
        ),
    ),
    "F": (
        (
            _VALUED,
            Change(),
            _material("scorer", scale=2),
        ),
    ),
    "G": (("information_fidelity conduct_fidelity", Change(), _attempt(treatments=lambda _: ())),),
    "Q": (
        (
            "information_fidelity conduct_fidelity",
            Change(),
            _material("enforcer", surcharge_cap=100, private_fields=["values"]),
        ),
        ("C2", Change(), Change(manifest=_ungrouped())),
        ("C4", Change(), Change(manifest=_scorer_promised())),
    ),
    "J": (("C1", Change(), _contracts(changed(PROFIT, threshold=5000), STABILITY)),),
    "R": (
        (
            "C1 C3",
            Change(),
            _contracts(
                changed(PROFIT, estimator="exact", seed=None, draws=None),
                changed(STABILITY, boundary={"kind": "equivalence", "delta": 0}),
            ),
        ),
    ),
    "B": (("C4", Change(), _other_cell()),),
}
