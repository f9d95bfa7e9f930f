"""The run id of each attempt follows from its ticket, so no other run's evidence can stand in for it.

Evidence documents, invocation responses and signed state receipts all carry their run id. Where it is derived
from the ticket's digest, which rests on the manifest and the time anchor, they were made after the ticket and
for this attempt; a better run from another day has another id. Without tickets the manifest's digest is used.

>>> run_id_of(manifest="sha256:" + "0" * 64, ticket=None, assignment="a-1", attempt=1)
'run-f33ba9226f5dee4e0df8ac6ba63d80a47d51718c'
"""

from __future__ import annotations

import hashlib
from typing import Final

__all__ = ["run_id_of"]

_TAG: Final = "agentbeat.claims.v1/run-id"

#: How many hex digits: as many bits as no two runs of a Target, which accepts an id once, ever share.
_DIGITS: Final = 40


def run_id_of(*, manifest: str, ticket: str | None, assignment: str, attempt: int) -> str:
    """The run id of one attempt.

    Args:
        manifest: digest of the manifest.
        ticket: digest of the assignment's ticket; None in a retrospective batch.
        assignment: its id.
        attempt: its number, from 1.
    """
    parts = (_TAG, manifest, ticket or "", assignment, str(attempt))
    return "run-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]
