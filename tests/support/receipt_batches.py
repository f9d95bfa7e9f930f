"""A small honest batch of claim receipts, and ways to change it one thing at a time."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from agentbeat_protocol import Instant, ProtocolError
from agentbeat_receipts.batches import Batch, Facts
from agentbeat_receipts.commitments import derived_nonce
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import (
    COMPONENTS,
    Arm,
    Assignment,
    Attempt,
    Body,
    Choice,
    ComparisonGroup,
    Document,
    Manifest,
    OfferStages,
    Opening,
    ReportBundle,
    ReportedCell,
    RetryPolicy,
    TraceEvent,
    read_document,
    write_document,
)
from agentbeat_receipts.verification import ChainReport, ProvenAnchor, verify_chain

__all__ = [
    "ANCHOR",
    "ANCHORED_AT",
    "COMPONENT_DIGESTS",
    "Parts",
    "attempt",
    "changed",
    "deliveries",
    "honest",
    "keyring",
    "manifest",
    "opening",
    "verified",
]

#: The digest of a time anchor's token.
ANCHOR = "sha256:" + "a" * 64
#: The time that the token proves.
ANCHORED_AT = Instant.parse("2026-03-01T10:00:00Z")

COMPONENT_DIGESTS = {name: "sha256:" + f"{place:064x}" for place, name in enumerate(COMPONENTS)}


@cache
def keyring() -> Keyring:
    """One keyring for all tests of a process."""
    return Keyring.generate()


def manifest(**changes: Any) -> Manifest:
    """Two profiles under two arms, once each; one retry after a timeout."""
    members: dict[str, Any] = {
        "title": "Rooms, caf\u00e9 and sauna",
        "domain": "market",
        "mode": "prospective",
        "nonces": "fresh",
        "profiles": ("p-1", "p-2"),
        "arms": tuple(Arm(arm=arm, components=COMPONENT_DIGESTS, treatments=()) for arm in ("none", "both")),
        "assignments": tuple(
            Assignment(assignment=f"{profile}.{arm}", profile=profile, arm=arm, replicate=1)
            for profile in ("p-1", "p-2")
            for arm in ("none", "both")
        ),
        "comparison_groups": (
            ComparisonGroup(group="guards", arms=("none", "both"), may_differ=("enforcer",)),
        ),
        "replicates": 1,
        "retry": RetryPolicy(max_attempts=2, retry_on=("timeout",)),
        "treatment_flags": ("info",),
        "money_exponent": -2,
        "disclosed": ("surplus",),
        "contracts": (),
        "materials": {},
    }
    return Manifest(**{**members, **changes})


def attempt(number: int = 1, **changes: Any) -> Attempt:
    """An accepted attempt with one event, one offer and one choice."""
    members: dict[str, Any] = {
        "number": number,
        "cause": "initial" if number == 1 else "timeout",
        "status": "accepted",
        "failure": None,
        "events": (TraceEvent(type="offer", visibility="visible", data={"price": 1200}),),
        "offers": (
            OfferStages(
                raw=base64.b64encode(b"1200 for the room").decode(),
                parsed={"price": 1200},
                enforced={"price": 1200},
            ),
        ),
        "choice": Choice(input={"offers": [{"price": 1200}]}, output="accept"),
        "treatments": (),
    }
    return Attempt(**{**members, **changes})


def opening(of: Manifest, assignment: str, ticket: str | None, **changes: Any) -> Opening:
    """The opening of one run, with a nonce of its own."""
    members: dict[str, Any] = {
        "manifest": of.digest(),
        "assignment": assignment,
        "ticket": ticket,
        "nonce": base64.b64encode(derived_nonce(b"test", assignment)).decode(),
        "domain": "market",
        "materials": {},
        "profile": {"outside_option": 300, "name": "caf\u00e9"},
        "attempts": (attempt(),),
        "reported": {"surplus": 40},
    }
    return Opening(**{**members, **changes})


@dataclass(frozen=True)
class Parts:
    """The documents of a batch, by kind; tickets, receipts, envelopes and openings by assignment."""

    manifest: Document
    tickets: dict[str, Document]
    checkpoint: Document | None
    receipts: dict[str, Document]
    envelopes: dict[str, Document]
    openings: dict[str, Document]
    closing: Document | None
    report: Document
    beside: tuple[Document, ...] = ()

    def documents(self) -> list[Document]:
        """All that is delivered: openings only in their envelopes, where there are any."""
        plain = {name: made for name, made in self.openings.items() if name not in self.envelopes}
        several = [*self.tickets.values(), *self.receipts.values(), *self.envelopes.values(), *plain.values()]
        single = [self.manifest, self.checkpoint, self.closing, self.report]
        return [*(document for document in single if document is not None), *several, *self.beside]

    def without(self, kind: str, assignment: str) -> Parts:
        """The same without one document of a kind."""
        held = {name: made for name, made in getattr(self, kind).items() if name != assignment}
        return replace(self, **{kind: held})

    def beside_also(self, *documents: Document) -> Parts:
        """The same with more documents beside."""
        return replace(self, beside=(*self.beside, *documents))


def honest(
    of: Manifest | None = None,
    *,
    anchor: str | None = ANCHOR,
    openings: dict[str, dict[str, Any]] | None = None,
    encrypted: bool = True,
    keys: Keyring | None = None,
) -> Parts:
    """A whole batch; `openings` changes members of the openings of some assignments."""
    of = of or manifest()
    prospective = of.mode == "prospective"
    batch = Batch(of, keys or keyring(), anchor=anchor if prospective else None)
    first, *framing = batch.framing()
    ids = [entry.assignment for entry in of.assignments]
    made = {
        name: opening(of, name, batch.ticket_digest(name), **(openings or {}).get(name, {})) for name in ids
    }
    facts = Facts(components=COMPONENT_DIGESTS, values={"surplus": 40})
    written = {name: batch.receipt(made[name], facts, encrypted=encrypted) for name in ids}
    cells = tuple(
        ReportedCell(profile=entry.profile, arm=entry.arm, value="surplus", sum=40, count=1, nulls={})
        for entry in of.assignments
        if entry.replicate == 1
    )
    report = ReportBundle(manifest=of.digest(), complete=True, cells=cells, analyses=())
    return Parts(
        manifest=first,
        tickets=dict(zip(ids, framing, strict=False)) if prospective else {},
        checkpoint=framing[-1] if prospective else None,
        receipts={name: pair.receipt for name, pair in written.items()},
        envelopes={name: pair.envelope for name, pair in written.items() if pair.envelope is not None},
        openings={name: Document(body=body) for name, body in made.items()},
        closing=batch.close(),
        report=Document(body=report),
    )


def deliveries(documents: list[Document]) -> list[Delivery]:
    """The documents as deliveries, each under a path of its own."""
    return [Delivery(f"{place}.json", write_document(made)) for place, made in enumerate(documents)]


def changed(body: Body, **members: Any) -> Body:
    """The body with other members, read anew."""
    return type(body).model_validate({**body.model_dump(), **members})


def verified(
    delivered: Parts | Sequence[Delivery], *, anchored: bool = True, opened: bool = True, **options: Any
) -> ChainReport:
    """The verifier's report, anchored and with the auditor's key unless told otherwise."""
    found = deliveries(delivered.documents()) if isinstance(delivered, Parts) else delivered
    over = {read_document(d.content).body.digest() for d in found if _is_manifest(d)} | {manifest().digest()}
    proven = [ProvenAnchor(token=ANCHOR, manifest=digest, at=ANCHORED_AT) for digest in sorted(over)]
    return verify_chain(
        found,
        keyring().public,
        anchors=proven if anchored else (),
        auditor=keyring().auditor if opened else None,
        **options,
    )


def _is_manifest(delivery: Delivery) -> bool:
    try:
        return isinstance(read_document(delivery.content).body, Manifest)
    except ProtocolError:
        return False
