"""Time anchors of a bundle: a token as a document, and what those that were delivered prove.

    anchor = anchor_of(token, manifest.digest())       # AnchorError when it is over something else
    proven, faults = proven_anchors(deliveries, trust)

Pure. Whether a token holds is for `anchors.prove` to say; here it is brought there.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.anchors import AnchorError, AnchorFault, AnchorProblem, AnchorTrust, prove
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.objects import AnchorForm, TimeAnchor, read_document
from agentbeat_receipts.verification import ProvenAnchor

__all__ = ["anchor_of", "is_pending", "proven_anchors"]

_PROOF: Final = b"\x00OpenTimestamps\x00"
_MARK: Final = b"time-anchor"
_ESCAPE: Final = b"\\u"


def anchor_of(token: bytes, manifest: str) -> TimeAnchor:
    """A token as the object that a bundle holds, its form told by its first bytes.

    Raises:
        AnchorError: it cannot be read, or is over something other than this manifest.
    """
    form: AnchorForm = "opentimestamps" if token.startswith(_PROOF) else "rfc3161"
    anchor = TimeAnchor(manifest=manifest, form=form, token=base64.b64encode(token).decode())
    # Without any trust nothing is proven, but what the token is over has to be read all the same.
    outcome = prove(anchor, AnchorTrust())
    if isinstance(outcome, AnchorFault) and outcome.problem in (
        AnchorProblem.UNREADABLE,
        AnchorProblem.OTHER_CONTENT,
    ):
        raise AnchorError(outcome)
    return anchor


def is_pending(anchor: TimeAnchor) -> bool:
    """Whether the token only promises a proof: no ticket can cite it, as the proof will have other bytes."""
    outcome = prove(anchor, AnchorTrust())
    return isinstance(outcome, AnchorFault) and outcome.problem is AnchorProblem.PENDING


def proven_anchors(
    deliveries: Iterable[Delivery], trust: AnchorTrust
) -> tuple[tuple[ProvenAnchor, ...], tuple[tuple[str, AnchorFault], ...]]:
    """What the time anchors among the deliveries prove, and why others prove nothing, by path."""
    proven: list[ProvenAnchor] = []
    faults: list[tuple[str, AnchorFault]] = []
    for delivery in deliveries:
        # Most deliveries are none, and this is told without reading them; an escape may hide the type.
        if _MARK not in delivery.content and _ESCAPE not in delivery.content:
            continue
        try:
            body = read_document(delivery.content).body
        except ProtocolError:
            continue  # the verification of the chain says so
        if not isinstance(body, TimeAnchor):
            continue
        outcome = prove(body, trust)
        if isinstance(outcome, AnchorFault):
            faults.append((cut(delivery.path, 200), outcome))
        else:
            proven.append(ProvenAnchor(token=outcome.token, manifest=outcome.manifest, at=outcome.at))
    return tuple(proven), tuple(faults)
