"""Batches that cite a time anchor, and their verdicts; the tokens that tests lay beside them.

    report = judged([token()])               # an honest batch, its token, an authority that is trusted
    report = judged([junk], cited=junk)      # tickets cite something else

What takes long to make is made once for all tests of a process.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import cache

from agentbeat_receipts.anchors import AnchorTrust, ProvenAnchor
from agentbeat_receipts.objects import Document, TimeAnchor
from agentbeat_receipts.verification import ChainReport, Level, Verdict, verify_chain
from support.block_proofs import EASY, pending, proof, upgraded
from support.receipt_batches import Parts, deliveries, honest, keyring, manifest
from support.time_stamping import authority

__all__ = [
    "DIGEST",
    "HEADER",
    "MANIFEST",
    "OTHER",
    "anchored",
    "batch",
    "flipped",
    "judged",
    "ots",
    "passes",
    "pending_proof",
    "token",
    "trust",
]

#: The digest of the batches' manifest, its bytes, and the digest of another manifest.
MANIFEST = manifest().digest()
DIGEST = bytes.fromhex(MANIFEST.removeprefix("sha256:"))
OTHER = manifest(title="another").digest()
UPGRADED, HEADER = upgraded(DIGEST)


def anchored(raw: bytes, *, of: str = MANIFEST, form: str = "rfc3161") -> TimeAnchor:
    """The object that carries a token."""
    return TimeAnchor(manifest=of, form=form, token=base64.b64encode(raw).decode())


@cache
def token() -> TimeAnchor:
    """The authority's token over our manifest."""
    return anchored(authority().stamp(MANIFEST))


@cache
def ots() -> TimeAnchor:
    """A complete proof over our manifest, upgraded from a pending one."""
    return anchored(UPGRADED, form="opentimestamps")


@cache
def batch(cited: str | None) -> Parts:
    """A whole batch whose tickets and checkpoint cite a token."""
    return honest(anchor=cited)


def trust(**options: object) -> AnchorTrust:
    """Trust in the authority and in the block."""
    return authority().trust(**{"headers": {100: HEADER}, "easiest_target": EASY, **options})


def judged(
    anchors: Sequence[TimeAnchor],
    *,
    cited: TimeAnchor | None = None,
    against: Callable[[], AnchorTrust | None] = trust,
    proven: Sequence[ProvenAnchor] = (),
    parts: Parts | None = None,
) -> ChainReport:
    """The verdict on a batch that cites a token, delivered with these anchors."""
    parts = parts or batch((cited or token()).token_digest())
    delivered = [*parts.documents(), *(Document(body=anchor) for anchor in anchors)]
    return verify_chain(
        deliveries(delivered),
        keyring().public,
        anchors=proven,
        trust=against(),
        auditor=keyring().auditor,
    )


def passes(report: ChainReport) -> bool:
    """Whether the batch is whole and anchored."""
    passed = (Level.CR_3, Verdict.PASS, Verdict.PASS)
    return (report.level, report.integrity, report.coverage) == passed


def pending_proof() -> TimeAnchor:
    """The proof before its upgrade."""
    return anchored(proof(DIGEST, pending()), form="opentimestamps")


def flipped(place: int) -> TimeAnchor:
    """The token with a bit of one byte changed."""
    raw = bytearray(token().token_bytes())
    raw[place] ^= 1
    return anchored(bytes(raw))
