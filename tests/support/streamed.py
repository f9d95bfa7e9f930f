"""The two verifiers beside each other: in memory, and in a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agentbeat_protocol import ProtocolError
from agentbeat_receipts.claims import ClaimReport
from agentbeat_receipts.claims.verifier import verify
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.objects import Manifest, read_document
from agentbeat_receipts.streams import verify_stream
from agentbeat_receipts.verification import ProvenAnchor
from support.kiosk import KIOSK
from support.receipt_batches import ANCHOR, ANCHORED_AT, keyring

__all__ = ["compared", "in_memory", "options", "streamed"]


def options(deliveries: Sequence[Delivery], *, opened: bool = True, **others: Any) -> dict[str, Any]:
    """Every manifest that is delivered is anchored; the toy domain replays."""
    proven = tuple(
        ProvenAnchor(token=ANCHOR, manifest=digest, at=ANCHORED_AT)
        for digest in sorted(_manifests(deliveries))
    )
    auditor = keyring().auditor if opened else None
    return {"domains": (KIOSK,), "anchors": proven, "auditor": auditor, **others}


def in_memory(deliveries: Sequence[Delivery], **others: Any) -> ClaimReport:
    """The report of `verify`, without the terminals and openings that a stream does not have."""
    report = verify(deliveries, keyring().public, **options(deliveries, **others))
    return replace(report, chain=replace(report.chain, terminals={}, opened={}))


def streamed(deliveries: Sequence[Delivery], *, workers: int = 1, **others: Any) -> ClaimReport:
    """The report of `verify_stream`."""
    return verify_stream(deliveries, keyring().public, workers=workers, **options(deliveries, **others))


def compared(deliveries: Sequence[Delivery], **others: Any) -> tuple[ClaimReport, ClaimReport]:
    """Both reports, which must be the same."""
    return in_memory(deliveries, **others), streamed(deliveries, **others)


def _manifests(deliveries: Sequence[Delivery]) -> Iterator[str]:
    for delivery in deliveries:
        try:
            body = read_document(delivery.content).body
        except ProtocolError:
            continue
        if isinstance(body, Manifest):
            yield body.digest()
