"""Step 1, its second half: which manifest is meant, what is ours, and what is wrong with signatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import (
    Body,
    Checkpoint,
    ClosingRecord,
    Contents,
    Manifest,
    Receipt,
    SignatureFault,
    Ticket,
    read_whole,
)
from agentbeat_receipts.verification.facts import Foreign, Sighting
from agentbeat_receipts.verification.holdings import Held, Holdings, object_digest_of
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = [
    "Choice",
    "choose_manifest",
    "chosen",
    "cited_findings",
    "fault_findings",
    "is_sound",
    "set_aside",
    "sort_out",
    "sort_some",
    "take_in",
]

_REASONS = {
    SignatureFault.INVALID: Reason.SIGNATURE_INVALID,
    SignatureFault.WRONG_ROLE: Reason.WRONG_ROLE_KEY,
    SignatureFault.HINT: Reason.KEY_HINT_MISMATCH,
}


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


class Choice(NamedTuple):
    """Which manifest is meant.

    Args:
        digest: the one; None when it is not known.
        candidates: how many could be.
    """

    digest: str | None
    candidates: int


def choose_manifest(manifests: Sequence[str], cited: Set[str | None], named: str | None) -> Choice:
    """The manifest that is meant: as the caller names it, else the one delivered, or that all receipts name.

    Args:
        manifests: digests of those that were delivered.
        cited: digests of those that receipts name.
        named: by the caller.
    """
    if named is not None:
        return Choice(named, 1)
    if manifests:
        return Choice(manifests[0] if len(manifests) == 1 else None, len(manifests))
    return Choice(next(iter(cited)) if len(cited) == 1 else None, 1)


def sort_out(held: Mapping[str, Sighting], findings: list[Finding], manifest: str | None) -> Holdings:
    """Ours and others', and what is wrong with their signatures.

    Args:
        held: what was delivered, by digest.
        findings: what was found while it was read; more is added.
        manifest: digest of the manifest that is meant; None when the deliveries hold one only.
    """
    manifests = [digest for digest, item in held.items() if item.kind is Manifest]
    choice = choose_manifest(manifests, {i.cited for i in held.values() if i.kind is Receipt}, manifest)
    holdings = Holdings(findings=findings)
    findings += chosen(holdings, choice)
    if not holdings.ambiguous:
        findings += sort_some(holdings, held, ours_is_held=choice.digest in held)
        findings += cited_findings(holdings)
    return holdings


def chosen(holdings: Holdings, choice: Choice) -> tuple[Finding, ...]:
    """Take a choice over; a finding when it is none."""
    if choice.candidates > 1:
        holdings.ambiguous = True
        detail = f"got {choice.candidates} manifests, expected one, or the digest of one"
        return (Finding(Reason.MANIFEST_AMBIGUOUS, "", detail),)
    holdings.manifest_digest = choice.digest
    return ()


def sort_some(holdings: Holdings, held: Mapping[str, Sighting], *, ours_is_held: bool) -> Iterator[Finding]:
    """Sort objects into ours and others', by digest.

    Args:
        held: what was delivered, by digest.
        ours_is_held: whether our manifest was delivered.
    """
    ours = holdings.manifest_digest
    foreign: dict[str, Foreign] = {}
    for digest in sorted(held):
        item = held[digest]
        if (digest if item.kind is Manifest else item.cited) == ours:
            faults = item.faults  # Once: it takes a signature to say.
            yield from fault_findings(digest, item.kind, faults)
            if is_sound(faults):
                holdings.ours.setdefault(item.kind, {})[digest] = item.facts
        else:
            foreign[digest] = Foreign.of(item)
            yield set_aside(digest, item.kind, altered=_is_altered(item, ours, ours_is_held=ours_is_held))
    holdings.foreign = foreign


def is_sound(faults: Set[SignatureFault | None]) -> bool:
    """Whether an object is vouched for: a wrong hint or a bad second copy is a finding, and no more."""
    return not faults.isdisjoint((None, SignatureFault.HINT))


def fault_findings(digest: str, kind: type[Body], faults: Set[SignatureFault | None]) -> Iterator[Finding]:
    """What is wrong with an object's signatures."""
    for fault in faults:
        if fault is not None:
            yield Finding(_REASONS[fault], digest, f"of a {kind.__name__}")


def set_aside(digest: str, kind: type[Body], *, altered: bool) -> Finding:
    """Others' objects are set aside, unless they are ours with a byte changed."""
    name = kind.__name__
    if altered:
        detail = f"of a {name} that was signed with another manifest digest, or none of ours"
        return Finding(Reason.SIGNATURE_INVALID, digest, detail)
    return Finding(Reason.SET_ASIDE, digest, f"a {name}")


def _is_altered(item: Sighting, ours: str | None, *, ours_is_held: bool) -> bool:
    if item.kind is Manifest:
        return not ours_is_held and item.faults != {None}
    return ours is not None and item.is_altered(ours)


def cited_findings(holdings: Holdings) -> Iterator[Finding]:
    """A finding when our manifest was delivered with objects of others only."""
    kinds = (Ticket, Checkpoint, Receipt, ClosingRecord)
    if holdings.manifest is None or any(holdings.ours.get(kind) for kind in kinds):
        return
    others = {cut(item.manifest or "", 80) for item in holdings.foreign.values() if item.kind in kinds}
    if others:
        subject = holdings.manifest_digest or ""
        detail = f"got objects of {len(others)} other manifests and none of this one"
        yield Finding(Reason.MANIFEST_NOT_CITED, subject, detail)
