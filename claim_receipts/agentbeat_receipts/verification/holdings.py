"""Step 1: read deliveries, drop repeats, tell ours from others', and check signatures by role.

An object is dropped as a repeat when its digest was seen: another spelling, transport time or path makes no
second object. Every signature that came with it must count all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.canonical import pae
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import (
    SIGNER,
    Body,
    Checkpoint,
    ClosingRecord,
    Contents,
    Document,
    Manifest,
    Reading,
    Receipt,
    SignatureFault,
    Ticket,
    read_whole,
    signature_fault,
)
from agentbeat_receipts.verification.facts import Foreign, ReceiptFacts, Sighting, TicketFacts
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["Held", "Holdings", "choose_manifest", "is_altered", "object_digest_of", "sort_out", "take_in"]

BodyT = TypeVar("BodyT", bound=Body)

_REASONS = {
    SignatureFault.INVALID: Reason.SIGNATURE_INVALID,
    SignatureFault.WRONG_ROLE: Reason.WRONG_ROLE_KEY,
    SignatureFault.HINT: Reason.KEY_HINT_MISMATCH,
}


@dataclass(slots=True)
class Holdings:
    """What was delivered: ours and sound by kind and digest, others' beside, and what was found."""

    manifest_digest: str | None = None
    ambiguous: bool = False
    #: The objects themselves; of receipts and tickets that are streamed, their facts.
    ours: dict[type[Body], dict[str, Any]] = field(default_factory=dict)
    foreign: dict[str, Foreign] = field(default_factory=dict)
    #: What the commitments of our openings are over, by the opening's digest, where it is at hand.
    contents: dict[str, Contents] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def of(self, kind: type[BodyT]) -> dict[str, BodyT]:
        """Our sound objects of a kind, by digest, in the order of digests."""
        return cast(dict[str, BodyT], self.ours.get(kind, {}))

    @property
    def receipts(self) -> Mapping[str, ReceiptFacts]:
        """Our sound receipts, by digest."""
        return self.ours.get(Receipt, {})

    @property
    def tickets(self) -> Mapping[str, TicketFacts]:
        """Our sound tickets, by digest."""
        return self.ours.get(Ticket, {})

    @property
    def manifest(self) -> Manifest | None:
        """Our manifest, when it was delivered."""
        return next(iter(self.of(Manifest).values()), None)

    @property
    def prospective(self) -> bool:
        """Whether tickets and checkpoint are promised: by the manifest, else by what cites or is one."""
        if self.manifest is not None:
            return self.manifest.mode == "prospective"
        cited = any(receipt.ticket is not None for receipt in self.receipts.values())
        return cited or bool(self.tickets) or bool(self.of(Checkpoint))


@dataclass(slots=True)
class Held:
    """One object, with every signature and hint that it came with (a `Sighting`)."""

    body: Body
    message: bytes
    keyring: PublicKeyring
    copies: dict[tuple[bytes | None, str | None], Document] = field(default_factory=dict)

    def take(self, copy: Document) -> None:
        """One more copy of it."""
        self.copies.setdefault((copy.signature, copy.key_id), copy)

    @property
    def kind(self) -> type[Body]:
        return type(self.body)

    @property
    def cited(self) -> str | None:
        return cast(str | None, getattr(self.body, "manifest", None))

    @property
    def facts(self) -> object:
        return self.body

    @property
    def faults(self) -> frozenset[SignatureFault | None]:
        copies = self.copies.values()
        return frozenset(signature_fault(copy, self.keyring, message=self.message) for copy in copies)

    def is_altered(self, ours: str) -> bool:
        return any(is_altered(copy, ours, self.keyring) for copy in self.copies.values())


def take_in(deliveries: Iterable[Delivery], keyring: PublicKeyring, manifest: str | None) -> Holdings:
    """What the deliveries hold.

    Args:
        manifest: digest of the manifest that is meant; None when the deliveries hold one only.
    """
    findings: list[Finding] = []
    held: dict[str, Held] = {}
    contents: dict[str, Contents] = {}
    for delivery in deliveries:
        try:
            reading = read_whole(delivery.content)
        except ProtocolError as error:
            findings.append(Finding(Reason.OBJECT_UNREADABLE, cut(delivery.path, 200), str(error)))
            continue
        document = reading.document
        digest, message = object_digest_of(reading)
        held.setdefault(digest, Held(document.body, message, keyring)).take(document)
        if reading.contents is not None:
            contents[digest] = reading.contents
    holdings = sort_out(held, findings, manifest)
    holdings.contents = contents
    return holdings


def object_digest_of(reading: Reading) -> tuple[str, bytes]:
    """The digest of an object that was read, and what it is over, which is also what is signed."""
    message = pae(reading.document.body.TYPE, reading.canonical)
    return "sha256:" + hashlib.sha256(message).hexdigest(), message


def choose_manifest(held: Mapping[str, Sighting], manifest: str | None) -> tuple[str | None, int]:
    """The digest of the manifest that is meant, and how many could be.

    Args:
        manifest: as the caller names it; else the one that is delivered, or that all receipts name.
    """
    manifests = [digest for digest, item in held.items() if item.kind is Manifest]
    if manifest is not None:
        return manifest, 1
    if manifests:
        return (manifests[0] if len(manifests) == 1 else None), len(manifests)
    cited = {item.cited for item in held.values() if item.kind is Receipt}
    return (cited.pop() if len(cited) == 1 else None), 1


def sort_out(held: Mapping[str, Sighting], findings: list[Finding], manifest: str | None) -> Holdings:
    """Ours and others', and what is wrong with their signatures.

    Args:
        held: what was delivered, by digest.
        findings: what was found while it was read; more is added.
        manifest: digest of the manifest that is meant; None when the deliveries hold one only.
    """
    holdings = Holdings(findings=findings)
    ours, candidates = choose_manifest(held, manifest)
    if candidates > 1:
        holdings.ambiguous = True
        detail = f"got {candidates} manifests, expected one, or the digest of one"
        findings.append(Finding(Reason.MANIFEST_AMBIGUOUS, "", detail))
        return holdings
    holdings.manifest_digest = ours
    for digest in sorted(held):
        item = held[digest]
        if (digest if item.kind is Manifest else item.cited) == ours:
            _hold(holdings, digest, item)
        else:
            _set_aside(holdings, digest, item, ours_is_held=ours in held)
    _check_cited(holdings)
    return holdings


def _hold(holdings: Holdings, digest: str, item: Sighting) -> None:
    faults = item.faults
    for fault in faults:
        if fault is None:
            continue
        holdings.findings.append(Finding(_REASONS[fault], digest, f"of a {item.kind.__name__}"))
    # A wrong hint or a bad second copy is a finding, but the object itself is vouched for.
    if not faults.isdisjoint((None, SignatureFault.HINT)):
        holdings.ours.setdefault(item.kind, {})[digest] = item.facts


def _set_aside(holdings: Holdings, digest: str, item: Sighting, *, ours_is_held: bool) -> None:
    """Others' objects are set aside, unless they are ours with a byte changed."""
    kind, ours = item.kind.__name__, holdings.manifest_digest
    if item.kind is Manifest:
        altered = not ours_is_held and item.faults != {None}
    else:
        altered = ours is not None and item.is_altered(ours)
    if altered:
        detail = f"of a {kind} that was signed with another manifest digest, or none of ours"
        holdings.findings.append(Finding(Reason.SIGNATURE_INVALID, digest, detail))
    else:
        holdings.findings.append(Finding(Reason.SET_ASIDE, digest, f"a {kind}"))
    holdings.foreign[digest] = Foreign.of(item)


def is_altered(document: Document, ours: str, keyring: PublicKeyring) -> bool:
    """Whether a document's signature becomes good when its object names our manifest."""
    if SIGNER[type(document.body)] is None:
        return False
    body = document.body.model_copy(update={"manifest": ours})
    copy = Document(body=body, signature=document.signature)
    return signature_fault(copy, keyring, message=body.signed_bytes()) is None


def _check_cited(holdings: Holdings) -> None:
    kinds = (Ticket, Checkpoint, Receipt, ClosingRecord)
    if holdings.manifest is None or any(holdings.ours.get(kind) for kind in kinds):
        return
    others = {cut(item.manifest or "", 80) for item in holdings.foreign.values() if item.kind in kinds}
    if others:
        subject = holdings.manifest_digest or ""
        detail = f"got objects of {len(others)} other manifests and none of this one"
        holdings.findings.append(Finding(Reason.MANIFEST_NOT_CITED, subject, detail))
