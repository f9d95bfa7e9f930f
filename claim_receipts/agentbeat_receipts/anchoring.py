"""A token as the object that a bundle holds, before anybody trusts it.

    anchor = anchor_of(token, manifest.digest())       # AnchorError when it is over something else
    ticket = Ticket(…, anchor=anchor.token_digest())

Pure. Whether a token proves a time depends on whom a verifier trusts; what it is over does not.
"""

from __future__ import annotations

import base64
from typing import Final

from agentbeat_receipts.anchors import AnchorError, AnchorFault, AnchorProblem, AnchorTrust, prove
from agentbeat_receipts.objects import AnchorForm, TimeAnchor

__all__ = ["anchor_of", "is_pending"]

_PROOF: Final = b"\x00OpenTimestamps\x00"


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
