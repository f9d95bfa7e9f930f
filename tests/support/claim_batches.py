"""Batches of the toy domain, honest but for one thing, and what the verifier says of them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentbeat_receipts.batches import Batch
from agentbeat_receipts.claims import ClaimReport, ClaimValue
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.commitments import derived_nonce
from agentbeat_receipts.objects import (
    Arm,
    Assignment,
    ComparisonGroup,
    Contrast,
    DirectionContract,
    Document,
    Manifest,
    Null,
    Opening,
    Pair,
    ReportBundle,
    ReportedCell,
    RetryPolicy,
    Sign,
    StabilityContract,
    material_digest,
)
from agentbeat_receipts.verification import ProvenAnchor
from support.kiosk import ARMS, KIOSK, MATERIALS, PROFILES, WORTH, Kiosk, components, facts, run
from support.receipt_batches import ANCHOR, ANCHORED_AT, Parts, deliveries, keyring

__all__ = ["Making", "batch", "direction", "judged", "kiosk_manifest", "stability", "unopened"]


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
            **{"domain": "kiosk", "nonce": _nonce(name), **honest, **making.members.get(name, {})},
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


def _nonce(assignment: str) -> str:
    return base64.b64encode(derived_nonce(b"kiosk", assignment)).decode()


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
