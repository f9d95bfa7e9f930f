"""A toy domain, honest batches of it, and ways to change one thing at a time.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from agentbeat_receipts.batches import Batch, Facts
from agentbeat_receipts.claims import Absent, Case, ClaimReport, ClaimValue, Contradiction, Fault, Group
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.commitments import derived_nonce
from agentbeat_receipts.objects import (
    COMPONENTS,
    Arm,
    Assignment,
    Attempt,
    Choice,
    ComparisonGroup,
    Contrast,
    DirectionContract,
    Document,
    Manifest,
    Null,
    OfferStages,
    Opening,
    Pair,
    ReportBundle,
    ReportedCell,
    RetryPolicy,
    Sign,
    StabilityContract,
    TraceEvent,
    TreatmentEvent,
    material_digest,
)
from agentbeat_receipts.verification import ProvenAnchor
from support.receipt_batches import ANCHOR, ANCHORED_AT, Parts, deliveries, keyring

__all__ = [
    "ARMS",
    "KIOSK",
    "MATERIALS",
    "PROFILES",
    "Kiosk",
    "Making",
    "batch",
    "components",
    "direction",
    "facts",
    "judged",
    "kiosk_manifest",
    "run",
    "stability",
    "unopened",
]

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


def direction(**changes: Any) -> DirectionContract:
    """C1: a cap raises the visitors' surplus."""
    members: dict[str, Any] = {
        "contract": "cap-helps",
        "claim": "C1",
        "outcome": "surplus",
        "nesting": "replicates_in_cells_in_profiles",
        "pairing": "within_profile",
        "estimator": "exact",
        "seed": None,
        "draws": None,
        "input_order": "manifest",
        "interval": "ceil_rank",
        "estimand": "strongest_minus_weakest",
        "levels": ARMS,
        "direction": "increasing",
        "threshold": 0,
    }
    return DirectionContract(**{**members, **changes})


def stability(**changes: Any) -> StabilityContract:
    """C3: the cap lowers the margin, and replicates agree that it does."""
    members: dict[str, Any] = {
        "contract": "cap-costs",
        "claim": "C3",
        "outcome": "margin",
        "nesting": "replicates_in_cells_in_profiles",
        "pairing": "within_profile",
        "estimator": "exact",
        "seed": None,
        "draws": None,
        "input_order": "manifest",
        "interval": "ceil_rank",
        "estimand": "mean_contrast",
        "contrast": Contrast(minuend="capped", subtrahend="free"),
        "boundary": Sign(kind="sign", at=0),
        "max_variance": None,
    }
    return StabilityContract(**{**members, **changes})


def kiosk_manifest(**changes: Any) -> Manifest:
    """Five visitors under two arms, twice each, with both contracts."""
    members: dict[str, Any] = {
        "title": "A kiosk",
        "domain": "kiosk",
        "mode": "prospective",
        "nonces": "fresh",
        "profiles": PROFILES,
        "arms": (
            Arm(arm="free", components=components(), treatments=()),
            Arm(arm="capped", components=components(), treatments=("cap",)),
        ),
        "assignments": tuple(
            Assignment(
                assignment=f"{profile}.{arm}.{replicate}", profile=profile, arm=arm, replicate=replicate
            )
            for profile in PROFILES
            for arm in ARMS
            for replicate in (1, 2)
        ),
        "comparison_groups": (ComparisonGroup(group="cap", arms=ARMS, may_differ=("prompt",)),),
        "replicates": 2,
        "retry": RetryPolicy(max_attempts=2, retry_on=("timeout",)),
        "treatment_flags": ("cap",),
        "money_exponent": -2,
        "disclosed": ("sale", "surplus", "margin", "ratio"),
        "contracts": (direction(), stability()),
        "materials": {"catalogue": material_digest("catalogue", MATERIALS["catalogue"])},
    }
    return Manifest(**{**members, **changes})


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
    members: dict[str, Any] = {"components": components(), "values": values, "evidence": {"events": 1}}
    return Facts(**{**members, **changes})


@dataclass(frozen=True, kw_only=True)
class Making:
    """How a batch is made.

    Args:
        manifest: what is promised.
        members: changes of an opening's members, by assignment.
        disclosed: changes of what a receipt discloses, by assignment.
        every: changes of what each receipt discloses.
        report: changes the report's cells.
        complete: whether the report says that it is.
        analyses: what the report says of its analyses.
    """

    manifest: Manifest = field(default_factory=kiosk_manifest)
    members: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    disclosed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    every: Mapping[str, Any] = field(default_factory=dict)
    report: Callable[[tuple[ReportedCell, ...]], tuple[ReportedCell, ...]] = tuple
    complete: bool = True
    analyses: tuple[Any, ...] = ()
    price: int = 90


def batch(making: Making | None = None, **changes: Any) -> Parts:
    """A whole batch, signed as it is; honest unless told otherwise."""
    making = making or Making(**changes)
    of = making.manifest
    prospective = of.mode == "prospective"
    signing = Batch(of, keyring(), anchor=ANCHOR if prospective else None)
    first, *framing = signing.framing()
    openings: dict[str, Opening] = {}
    written = {}
    disclosed: dict[tuple[str, str, str], list[ClaimValue]] = {}
    for entry in of.assignments:
        name = entry.assignment
        honest = run(worth=WORTH[entry.profile], capped=entry.arm == "capped", price=making.price)
        opening = openings[name] = Opening(
            manifest=of.digest(),
            assignment=name,
            ticket=signing.ticket_digest(name),
            nonce=base64.b64encode(derived_nonce(b"kiosk", name)).decode(),
            **{"domain": "kiosk", **honest, **making.members.get(name, {})},
        )
        made = facts(opening, **{**making.every, **making.disclosed.get(name, {})})
        written[name] = signing.receipt(opening, made)
        for value, amount in made.values.items():
            disclosed.setdefault((entry.profile, entry.arm, value), []).append(amount)
    report = ReportBundle(
        manifest=of.digest(),
        complete=making.complete,
        cells=making.report(tuple(_cells(disclosed))),
        analyses=making.analyses,
    )
    return Parts(
        manifest=first,
        tickets=dict(zip(openings, framing, strict=False)) if prospective else {},
        checkpoint=framing[-1] if prospective else None,
        receipts={name: pair.receipt for name, pair in written.items()},
        envelopes={name: pair.envelope for name, pair in written.items() if pair.envelope is not None},
        openings={name: Document(body=body) for name, body in openings.items()},
        closing=signing.close(),
        report=Document(body=report),
    )


def _cells(disclosed: Mapping[tuple[str, str, str], list[ClaimValue]]) -> list[ReportedCell]:
    cells = []
    for (profile, arm, value), amounts in disclosed.items():
        if any(isinstance(amount, Pair) for amount in amounts):
            continue
        integers = [amount for amount in amounts if isinstance(amount, int)]
        reasons = [amount.null for amount in amounts if isinstance(amount, Null)]
        cells.append(
            ReportedCell(
                profile=profile,
                arm=arm,
                value=value,
                sum=sum(integers),
                count=len(integers),
                nulls={reason: reasons.count(reason) for reason in reasons},
            )
        )
    return cells


def unopened(parts: Parts, *assignments: str) -> Parts:
    """The same without the openings of some runs, or of all."""
    withheld = assignments or tuple(parts.receipts)
    kept = {name: made for name, made in parts.envelopes.items() if name not in withheld}
    plain = {name: made for name, made in parts.openings.items() if name not in withheld}
    return replace(parts, envelopes=kept, openings=plain)


def judged(
    parts: Parts,
    *,
    domain: Kiosk | None = KIOSK,
    opened: bool = True,
    anchored: bool = True,
    manifest: str | None = None,
) -> ClaimReport:
    """The verifier's report, anchored and with the auditor's key unless told otherwise."""
    proven = ProvenAnchor(token=ANCHOR, manifest=parts.manifest.body.digest(), at=ANCHORED_AT)
    return verify(
        deliveries(parts.documents()),
        keyring().public,
        domains=() if domain is None else (domain,),
        manifest=manifest,
        anchors=(proven,) if anchored else (),
        auditor=keyring().auditor if opened else None,
    )
