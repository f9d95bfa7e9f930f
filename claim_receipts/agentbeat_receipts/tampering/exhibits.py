"""A delivered batch as a thing that can be changed: its documents by kind and place, and what verifies it.

An exhibit is frozen. What is done to it gives another one, so that an honest one serves for many faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar, cast

from agentbeat_protocol.models import Strict
from agentbeat_receipts.anchors import AnchorTrust
from agentbeat_receipts.claims.results import ClaimReport
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.domains.market import DOMAIN
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import (
    Body,
    Checkpoint,
    ClosingRecord,
    Document,
    Envelope,
    Manifest,
    Opening,
    Receipt,
    ReportBundle,
    sign,
    write_document,
)

__all__ = ["Exhibit", "Kind", "changed"]

RecordT = TypeVar("RecordT", bound=Strict)

#: The documents of which there is one for each assignment.
Kind = Literal["tickets", "receipts", "envelopes"]


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A batch as it is delivered.

    Args:
        keyring: every role's private key.
        manifest, checkpoint, closing, report: the single documents; None where one is not delivered.
        tickets, receipts, envelopes: by assignment, in the manifest's order.
        openings: what was committed to; delivered in the envelopes only.
        anchors: time anchors by name.
        beside: whatever else is delivered.
        raw: bytes that are delivered at a path instead of its document.
        trust: what the verifier checks time anchors against.
        named: the manifest's digest, where the verifier is told which one is meant.
    """

    keyring: Keyring
    manifest: Document | None
    tickets: Mapping[str, Document]
    checkpoint: Document | None
    receipts: Mapping[str, Document]
    envelopes: Mapping[str, Document]
    openings: Mapping[str, Opening]
    closing: Document | None
    report: Document | None
    anchors: Mapping[str, Document]
    beside: tuple[Document, ...] = ()
    raw: Mapping[str, bytes] = field(default_factory=dict)
    trust: AnchorTrust
    named: str | None = None

    # What is in it.

    def receipt(self, assignment: str) -> Receipt:
        """The receipt of an assignment."""
        return cast(Receipt, self.receipts[assignment].body)

    def promised(self) -> Manifest:
        """The manifest."""
        return cast(Manifest, self._single("manifest").body)

    def framed(self) -> Checkpoint:
        """The checkpoint."""
        return cast(Checkpoint, self._single("checkpoint").body)

    def closed(self) -> ClosingRecord:
        """The closing record."""
        return cast(ClosingRecord, self._single("closing").body)

    def reported(self) -> ReportBundle:
        """The report."""
        return cast(ReportBundle, self._single("report").body)

    def envelope(self, assignment: str) -> Envelope:
        """The envelope of an assignment."""
        return cast(Envelope, self.envelopes[assignment].body)

    def opening_document(self, assignment: str) -> Document:
        """What is in the envelope of an assignment."""
        return Document(body=self.openings[assignment])

    @property
    def assignments(self) -> tuple[str, ...]:
        """The assignments that have a receipt, in the order of the chain."""
        return tuple(self.receipts)

    def _single(self, name: str) -> Document:
        document: Document | None = getattr(self, name)
        if document is None:
            raise ValueError(f"no {name} in this exhibit")
        return document

    # Other ones.

    def without(self, kind: Kind, *assignments: str) -> Exhibit:
        """The same without some documents of a kind."""
        held: Mapping[str, Document] = getattr(self, kind)
        kept = {name: made for name, made in held.items() if name not in assignments}
        return replace(self, **{kind: kept})  # type: ignore[arg-type]  # a mapping for a member that is one

    def also(self, *documents: Document) -> Exhibit:
        """The same with more documents beside."""
        return replace(self, beside=(*self.beside, *documents))

    def signed(self, body: Body) -> Document:
        """A body with the signature of its type's role."""
        return sign(body, self.keyring)

    # How it is delivered, and what is said of it.

    def deliveries(self) -> list[Delivery]:
        """Paths and bytes."""
        return list(self._written)

    @cached_property
    def _written(self) -> tuple[Delivery, ...]:
        found = {path: write_document(document) + b"\n" for path, document in self._placed()}
        return tuple(Delivery(path, raw) for path, raw in {**found, **self.raw}.items())

    def judged(self, deliveries: list[Delivery] | None = None) -> ClaimReport:
        """The verdict on every claim, with the auditor's key.

        Args:
            deliveries: what arrived; without it what was delivered.
        """
        return verify(
            self.deliveries() if deliveries is None else deliveries,
            self.keyring.public,
            domains=(DOMAIN,),
            manifest=self.named,
            trust=self.trust,
            auditor=self.keyring.auditor,
        )

    def _placed(self) -> Iterator[tuple[str, Document]]:
        singles = {
            "manifest.json": self.manifest,
            "checkpoint.json": self.checkpoint,
            "closing-record.json": self.closing,
            "report.json": self.report,
        }
        yield from ((path, document) for path, document in singles.items() if document is not None)
        for folder in ("tickets", "receipts", "envelopes", "anchors"):
            yield from ((f"{folder}/{name}.json", made) for name, made in getattr(self, folder).items())
        yield from ((f"beside/{place}.json", made) for place, made in enumerate(self.beside))


def changed(record: RecordT, **members: object) -> RecordT:
    """A body, or a part of one, with other members, read anew."""
    return type(record).model_validate({**record.model_dump(), **members})
