"""A toy domain, and runs of it.

A kiosk asks a price for one thing; the visitor buys when the thing is worth it to him. With the flag `cap`
on, prices are capped before the visitor sees them. Every group of fields is used by some claim:

    sale      1 or 0                          P O D
    surplus   worth minus price, or 0         P O D F
    margin    price minus cost, or 0          P K O D F
    ratio     (margin, price), null unsold    P K O D F
    capping   1 where the cap was applied     A T O G Q      fidelity
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from agentbeat_receipts.batches import Facts
from agentbeat_receipts.claims import Absent, Case, ClaimValue, Contradiction, Fault, Group
from agentbeat_receipts.objects import (
    COMPONENTS,
    Attempt,
    Choice,
    Null,
    OfferStages,
    Opening,
    Pair,
    TraceEvent,
    TreatmentEvent,
    material_digest,
)

__all__ = ["ARMS", "KIOSK", "MATERIALS", "PROFILES", "WORTH", "Kiosk", "Sale", "components", "facts", "run"]

PROFILES = ("v-1", "v-2", "v-3", "v-4", "v-5")
ARMS = ("free", "capped")
MATERIALS: dict[str, Any] = {
    "catalogue": {"cost": 40},
    "enforcer": {"cap": 80},
    "chooser": {"rule": "buy_when_worth_it"},
    "scorer": {"unit": 1},
}
#: What the thing is worth to each visitor; the last one never buys.
WORTH = {name: 100 + 10 * place for place, name in enumerate(PROFILES)} | {PROFILES[-1]: 30}

_GROUPS = {"catalogue": Group.K, "enforcer": Group.O, "chooser": Group.D, "scorer": Group.F}
_CLAIMS = {"sale": "POD", "surplus": "PODF", "margin": "PKODF", "ratio": "PKODF", "capping": "ATOGQ"}
_ALL = "PKTODF"


@dataclass(frozen=True, kw_only=True)
class Kiosk:
    """The domain; `unsound` makes its account wrong."""

    name: str = "kiosk"
    claims: tuple[str, ...] = tuple(_CLAIMS)
    fidelity: frozenset[str] = frozenset({"capping"})
    materials: Mapping[str, Group] = field(default_factory=lambda: _GROUPS)
    unsound: str | None = None

    @property
    def needs(self) -> Mapping[str, frozenset[Group]]:
        wanted = {**_CLAIMS, "C1": f"IAJR{_ALL}", "C2": "AQ", "C3": f"IAR{_ALL}", "C4": f"IAQB{_ALL}"}
        return {claim: frozenset(map(Group, groups)) for claim, groups in wanted.items()}

    def replay(self, case: Case) -> Sale:
        return Sale(case)

    def identity(self, values: Mapping[str, ClaimValue]) -> str | None:
        return self.unsound


class Sale:
    """One transaction, computed again."""

    def __init__(self, case: Case) -> None:
        self._case = case

    @cached_property
    def price(self) -> int:
        """What was asked, capped or not, from the raw offer on."""
        offer = self._case.offers[-1][0]
        parsed = {"price": int(base64.b64decode(offer.raw))}
        if offer.parsed != parsed:
            raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, "parsed offer")
        return int(offer.enforced["price"])

    @cached_property
    def sold(self) -> bool:
        if self._case.choice_inputs[-1] != {"price": self.price}:
            raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, "chooser's input")
        if self._case.material("chooser")["rule"] == "never":
            return False
        return bool(self._case.profile["worth"] >= self.price)

    def value(self, claim: str) -> ClaimValue:
        return {
            "sale": lambda: int(self.sold),
            "surplus": lambda: self._scored(self._case.profile["worth"] - self.price),
            "margin": lambda: self._scored(self._margin),
            "ratio": self._ratio,
            "capping": self._capping,
        }[claim]()

    def weaknesses(self, claim: str) -> tuple[str, ...]:
        return ()

    def whole(self) -> tuple[str, ...]:
        events = self._case.events[-1]
        if [event.data for event in events] != [
            {"price": int(base64.b64decode(self._case.offers[-1][0].raw))}
        ]:
            raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, "trace")
        status = "accepted" if self.sold else "rejected"
        if self._case.stored.statuses[-1] not in (status, "failed"):
            raise Contradiction(Fault.STAGE_CONTRADICTS_REPLAY, "status")
        self._scored(self._margin)
        return ("trace", "choice")

    @property
    def _margin(self) -> int:
        return self.price - int(self._case.material("catalogue")["cost"])

    def _scored(self, amount: int) -> int:
        unit = int(self._case.material("scorer")["unit"])
        return unit * amount if self.sold else unit * 0

    def _ratio(self) -> ClaimValue:
        margin = self._scored(self._margin)
        return Pair(pair=(margin, self.price)) if self.sold else Null(null="unsold")

    def _capping(self) -> int:
        case = self._case
        decisions, offer = case.treatments[-1], case.offers[-1][0]
        applied = [decision.decision for decision in decisions]
        if not case.events[-1]:
            raise Absent(Group.T, "nothing observed", fault=Fault.NOT_OBSERVED)
        if case.components["enforcer"] is None:
            raise Absent(Group.Q, "no enforcer")
        if "cap" not in case.flags:
            if "applied" in applied:
                raise Contradiction(Fault.APPLIED_WHILE_OFF, "cap")
            return 0
        if len(applied) != 1:
            fault = Fault.DECISION_REPEATED if applied else Fault.DECISION_MISSING
            raise Contradiction(fault, f"got {len(applied)} decisions, expected 1")
        allowed = min(offer.parsed["price"], case.material("enforcer")["cap"])
        if offer.enforced["price"] != allowed:
            raise Contradiction(Fault.ENFORCEMENT_DIFFERS, "offer")
        return int(applied == ["applied"])


KIOSK = Kiosk()


def components(**changes: str | None) -> dict[Any, Any]:
    """The digest of each component: of its material where there is one."""
    made = {name: "sha256:" + f"{place:064x}" for place, name in enumerate(COMPONENTS)}
    made |= {name: material_digest(name, MATERIALS[name]) for name in ("enforcer", "chooser", "scorer")}
    return {**made, **changes}


def run(*, worth: int, capped: bool, price: int = 90, **changes: Any) -> dict[str, Any]:
    """The members of an honest opening that say how the run went."""
    enforced = min(price, MATERIALS["enforcer"]["cap"]) if capped else price
    sold = worth >= enforced
    applied = "applied" if enforced != price else "nothing_to_do"
    last = Attempt(
        number=1,
        cause="initial",
        status="accepted" if sold else "rejected",
        failure=None,
        events=(TraceEvent(type="asked", visibility="visible", data={"price": price}),),
        offers=(
            OfferStages(
                raw=base64.b64encode(str(price).encode()).decode(),
                parsed={"price": price},
                enforced={"price": enforced},
            ),
        ),
        choice=Choice(input={"price": enforced}, output={"buy": sold}),
        treatments=(TreatmentEvent(flag="cap", stage="offer", decision=applied, data={}),) if capped else (),
    )
    members = {"profile": {"worth": worth}, "materials": MATERIALS, "attempts": (last,), "reported": {}}
    return {**members, **changes}


def facts(opening: Opening, **changes: Any) -> Facts:
    """What an honest receipt discloses of an opening."""
    last = opening.attempts[-1]
    sold, price = last.choice is not None and last.choice.output["buy"], last.offers[0].enforced["price"]
    margin = price - opening.materials["catalogue"]["cost"]
    values: dict[str, ClaimValue] = {
        "sale": int(sold),
        "surplus": opening.profile["worth"] - price if sold else 0,
        "margin": margin if sold else 0,
        "ratio": Pair(pair=(margin, price)) if sold else Null(null="unsold"),
    }
    members: dict[str, Any] = {"components": components(), "values": values}
    return Facts(**{**members, **changes})
