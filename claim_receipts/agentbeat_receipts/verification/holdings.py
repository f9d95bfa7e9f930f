"""Step 1: read deliveries, drop repeats, tell ours from others', and check signatures by role.

An object is dropped as a repeat when its digest was seen: another spelling, transport time or path makes no
second object. Every signature that came with it must count all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.canonical import pae
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.keys import PublicKeyring
from agentbeat_receipts.objects import (
    SIGNER,
    Body,
    Checkpoint,
    ClosingRecord,
    Document,
    Manifest,
    Receipt,
    SignatureFault,
    Ticket,
    read_whole,
    signature_fault,
)
from agentbeat_receipts.verification.reasons import Reason
from agentbeat_receipts.verification.results import Finding

__all__ = ["Holdings", "take_in"]

BodyT = TypeVar("BodyT", bound=Body)

_REASONS = {
    SignatureFault.INVALID: Reason.SIGNATURE_INVALID,
    SignatureFault.WRONG_ROLE: Reason.WRONG_ROLE_KEY,
    SignatureFault.HINT: Reason.KEY_HINT_MISMATCH,
}


@dataclass(slots=True)
class _Held:
    """One object, with every signature and hint that it came with."""

    body: Body
    message: bytes
    signatures: dict[tuple[bytes | None, str | None], Document] = field(default_factory=dict)


@dataclass(slots=True)
class Holdings:
    """What was delivered: ours and sound by kind and digest, others' beside, and what was found."""

    manifest_digest: str | None = None
    ambiguous: bool = False
    ours: dict[type[Body], dict[str, Body]] = field(default_factory=dict)
    foreign: dict[str, Body] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def of(self, kind: type[BodyT]) -> dict[str, BodyT]:
        """Our sound objects of a kind, by digest, in the order of digests."""
        return cast(dict[str, BodyT], self.ours.get(kind, {}))

    @property
    def manifest(self) -> Manifest | None:
        """Our manifest, when it was delivered."""
        return next(iter(self.of(Manifest).values()), None)

    @property
    def prospective(self) -> bool:
        """Whether tickets and checkpoint are promised: by the manifest, else by what cites or is one."""
        if self.manifest is not None:
            return self.manifest.mode == "prospective"
        cited = any(receipt.ticket is not None for receipt in self.of(Receipt).values())
        return cited or bool(self.of(Ticket)) or bool(self.of(Checkpoint))


def take_in(deliveries: Iterable[Delivery], keyring: PublicKeyring, manifest: str | None) -> Holdings:
    """What the deliveries hold.

    Args:
        manifest: digest of the manifest that is meant; None when the deliveries hold one only.
    """
    holdings = Holdings()
    held = _read(deliveries, holdings.findings)
    manifests = [digest for digest, item in held.items() if isinstance(item.body, Manifest)]
    if manifest is None and len(manifests) > 1:
        holdings.ambiguous = True
        detail = f"got {len(manifests)} manifests, expected one, or the digest of one"
        holdings.findings.append(Finding(Reason.MANIFEST_AMBIGUOUS, "", detail))
        return holdings
    ours = manifest or (manifests[0] if manifests else _sole_citation(held))
    holdings.manifest_digest = ours
    for digest, item in sorted(held.items()):
        if (digest if isinstance(item.body, Manifest) else _cited(item.body)) == ours:
            _hold(holdings, digest, item, keyring)
        else:
            _set_aside(holdings, digest, item, keyring, ours_is_held=ours in held)
    _check_cited(holdings)
    return holdings


def _read(deliveries: Iterable[Delivery], findings: list[Finding]) -> dict[str, _Held]:
    held: dict[str, _Held] = {}
    for delivery in deliveries:
        try:
            reading = read_whole(delivery.content)
        except ProtocolError as error:
            findings.append(Finding(Reason.OBJECT_UNREADABLE, cut(delivery.path, 200), str(error)))
            continue
        document = reading.document
        message = pae(document.body.TYPE, reading.canonical)
        digest = "sha256:" + hashlib.sha256(message).hexdigest()
        item = held.setdefault(digest, _Held(document.body, message))
        item.signatures.setdefault((document.signature, document.key_id), document)
    return held


def _cited(body: Body) -> str | None:
    """The manifest that an object names."""
    return cast(str | None, getattr(body, "manifest", None))


def _sole_citation(held: dict[str, _Held]) -> str | None:
    cited = {_cited(item.body) for item in held.values() if isinstance(item.body, Receipt)}
    return cited.pop() if len(cited) == 1 else None


def _hold(holdings: Holdings, digest: str, item: _Held, keyring: PublicKeyring) -> None:
    faults = _faults(item, keyring)
    for fault in faults:
        if fault is None:
            continue
        holdings.findings.append(Finding(_REASONS[fault], digest, f"of a {type(item.body).__name__}"))
    # A wrong hint or a bad second copy is a finding, but the object itself is vouched for.
    if not faults.isdisjoint((None, SignatureFault.HINT)):
        holdings.ours.setdefault(type(item.body), {})[digest] = item.body


def _faults(item: _Held, keyring: PublicKeyring) -> set[SignatureFault | None]:
    """What is wrong with each copy's signature; None for one that is right."""
    return {signature_fault(copy, keyring, message=item.message) for copy in item.signatures.values()}


def _set_aside(
    holdings: Holdings, digest: str, item: _Held, keyring: PublicKeyring, *, ours_is_held: bool
) -> None:
    """Others' objects are set aside, unless they are ours with a byte changed."""
    kind = type(item.body).__name__
    if isinstance(item.body, Manifest):
        altered = not ours_is_held and _faults(item, keyring) != {None}
    else:
        altered = _is_ours_altered(item, keyring, holdings.manifest_digest)
    if altered:
        detail = f"of a {kind} that was signed with another manifest digest, or none of ours"
        holdings.findings.append(Finding(Reason.SIGNATURE_INVALID, digest, detail))
    else:
        holdings.findings.append(Finding(Reason.SET_ASIDE, digest, f"a {kind}"))
    holdings.foreign[digest] = item.body


def _is_ours_altered(item: _Held, keyring: PublicKeyring, ours: str | None) -> bool:
    """Whether the signature becomes good when the object names our manifest."""
    if ours is None or SIGNER[type(item.body)] is None:
        return False
    body = item.body.model_copy(update={"manifest": ours})
    message = body.signed_bytes()
    return any(
        signature_fault(Document(body=body, signature=d.signature), keyring, message=message) is None
        for d in item.signatures.values()
    )


def _check_cited(holdings: Holdings) -> None:
    kinds = (Ticket, Checkpoint, Receipt, ClosingRecord)
    if holdings.manifest is None or any(holdings.of(kind) for kind in kinds):
        return
    others = {cut(_cited(body) or "", 80) for body in holdings.foreign.values() if isinstance(body, kinds)}
    if others:
        subject = holdings.manifest_digest or ""
        detail = f"got objects of {len(others)} other manifests and none of this one"
        holdings.findings.append(Finding(Reason.MANIFEST_NOT_CITED, subject, detail))
