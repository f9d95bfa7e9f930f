"""Batches of the toy domain with one thing wrong, and the grid of their verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentbeat_receipts.claims import ClaimReport
from agentbeat_receipts.objects import Pair, TraceEvent, material_digest
from agentbeat_receipts.verification import Verdict
from support.claim_batches import batch, kiosk_manifest, unopened
from support.kiosk import MATERIALS, components, run
from support.receipt_batches import Parts, changed

__all__ = [
    "LAST",
    "OTHER",
    "RUN",
    "SILENT",
    "flipped",
    "grid",
    "no_decision",
    "other_profile",
    "other_scorer",
    "other_trace",
    "shadowed",
    "values",
    "withheld",
]

#: A sale under the cap, and the last run of the chain.
RUN, LAST = "v-1.capped.1", "v-5.capped.2"
OTHER = "sha256:" + "e" * 64
SILENT = kiosk_manifest(contracts=())


def attempt(**changes: Any) -> dict[str, Any]:
    """The members of RUN's opening, its one attempt changed."""
    last = run(worth=100, capped=True)["attempts"][0]
    return {RUN: {"attempts": (changed(last, **changes),)}}


def other_scorer() -> Parts:
    """Every run was scored by another scorer than its arm's, and the receipts and openings say so."""
    scorer = {"unit": 1, "name": "another"}
    ran = {"components": components(scorer=material_digest("scorer", scorer))}
    members = {e.assignment: {"materials": {**MATERIALS, "scorer": scorer}} for e in SILENT.assignments}
    return batch(every=ran, members=members)


def shadowed(**making: Any) -> Parts:
    """A run whose first attempt timed out and was retried, although the first had been accepted before."""
    first = run(worth=100, capped=True)["attempts"][0]
    second = changed(first, number=2, cause="initial")
    return batch(members={RUN: {"attempts": (first, second)}}, **making)


def flipped(parts: Parts) -> Parts:
    """A byte of a signed receipt is another one."""
    held = parts.receipts[RUN]
    altered = replace(held, body=changed(held.body, evidence={**held.body.evidence, "events": 2}))
    return replace(parts, receipts={**parts.receipts, RUN: altered})


def withheld(parts: Parts, *names: str) -> Parts:
    receipts = {name: made for name, made in parts.receipts.items() if name not in names}
    return replace(unopened(parts, *names), receipts=receipts)


def values(**other: Any) -> dict[str, Any]:
    """What RUN's receipt discloses, with other values."""
    return {RUN: {"values": {"sale": 1, "surplus": 20, "margin": 40, "ratio": Pair(pair=(40, 80)), **other}}}


def no_decision() -> Parts:
    return batch(members=attempt(treatments=()))


def other_trace() -> Parts:
    return batch(
        members=attempt(events=(TraceEvent(type="asked", visibility="visible", data={"price": 91}),))
    )


def other_profile(**making: Any) -> Parts:
    """One run of a visitor has another private profile, and is honest about it."""
    return batch(**making, members={RUN: run(worth=100, capped=True, profile={"worth": 100, "mood": "good"})})


#: The claims of transactions, then C1 to C4; P passes, X is Invalid, C is coverage, E is I_E, - is I_C.
LETTERS = {
    Verdict.PASS: "P",
    Verdict.INVALID: "X",
    Verdict.INCONCLUSIVE_COVERAGE: "C",
    Verdict.NO_EVIDENCE: "E",
    Verdict.NO_CONTRACT: "-",
}


def grid(report: ClaimReport) -> str:
    letters = "".join(LETTERS[claim.verdict] for claim in report.claims)
    return f"{letters[:-4]} {letters[-4:]}".strip()
