"""One question for anchors of every form: by when did the manifest exist?

    match prove(anchor, trust):
        case ProvenAnchor(at=at): ...       # tickets that cite anchor.token_digest() were made after it
        case AnchorFault(problem, detail): ...

Pure: bytes and trust in, an answer out; no network and no clock.
"""

from __future__ import annotations

from agentbeat_receipts.anchors.opentimestamps import proof_time
from agentbeat_receipts.anchors.outcomes import AnchorError, AnchorFault, ProvenAnchor
from agentbeat_receipts.anchors.rfc3161 import manifest_imprint, response_time
from agentbeat_receipts.anchors.trust import AnchorTrust
from agentbeat_receipts.objects.anchors import TimeAnchor

__all__ = ["prove"]


def prove(anchor: TimeAnchor, trust: AnchorTrust, *, nonce: int | None = None) -> ProvenAnchor | AnchorFault:
    """What an anchor proves of the manifest that it names.

    Args:
        anchor: the token, with the manifest that it is said to be over.
        trust: roots and block headers; never out of the same delivery.
        nonce: that of the request, where it is at hand; for RFC 3161 only.
    """
    raw = anchor.token_bytes()
    try:
        if anchor.form == "rfc3161":
            at = response_time(raw, anchor.manifest, trust, nonce=nonce)
        else:
            at = proof_time(raw, manifest_imprint(anchor.manifest), trust)
    except AnchorError as error:
        return error.fault
    return ProvenAnchor(token=anchor.token_digest(), manifest=anchor.manifest, at=at)
