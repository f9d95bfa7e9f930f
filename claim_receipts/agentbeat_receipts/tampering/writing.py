"""From runs to a whole, prospective or retrospective, delivered batch, signed in the right order.

exhibit = write_exhibit(manifest, lambda name, ticket: (opening, facts), report)
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache

from agentbeat_receipts.anchors import AnchorTrust
from agentbeat_receipts.batches import Batch, Facts
from agentbeat_receipts.keys import Keyring
from agentbeat_receipts.objects import Document, Manifest, Opening, ReportBundle, TimeAnchor
from agentbeat_receipts.tampering.blocks import EASIEST, pending, stamped
from agentbeat_receipts.tampering.exhibits import Exhibit

__all__ = ["keyring", "write_exhibit"]


@cache
def keyring() -> Keyring:
    """The keys of every exhibit of this process."""
    return Keyring.generate()


def write_exhibit(
    manifest: Manifest,
    ran: Callable[[str, str | None], tuple[Opening, Facts]],
    report: ReportBundle,
    *,
    cited: bool = True,
) -> Exhibit:
    """Sign a batch, whatever its runs are.

    Args:
        ran: of an assignment and its ticket's digest, what it commits to and what it discloses.
        cited: whether tickets cite the time anchor's token.
    """
    digest = bytes.fromhex(manifest.digest().removeprefix("sha256:"))
    token, header = stamped(digest, height=1)
    _, later = stamped(digest, height=2)
    prospective = manifest.mode == "prospective"
    anchor = "sha256:" + hashlib.sha256(token).hexdigest() if cited and prospective else None
    batch = Batch(manifest, keyring(), anchor=anchor)
    first, *framing = batch.framing()
    names = [entry.assignment for entry in manifest.assignments]
    openings: dict[str, Opening] = {}
    receipts: dict[str, Document] = {}
    envelopes: dict[str, Document] = {}
    for name in names:
        openings[name], facts = ran(name, batch.ticket_digest(name))
        written = batch.receipt(openings[name], facts)
        receipts[name] = written.receipt
        if written.envelope is not None:
            envelopes[name] = written.envelope
    return Exhibit(
        keyring=keyring(),
        manifest=first,
        tickets=dict(zip(names, framing, strict=False)) if prospective else {},
        checkpoint=framing[-1] if prospective else None,
        receipts=receipts,
        envelopes=envelopes,
        openings=openings,
        closing=batch.close(),
        report=Document(body=report),
        anchors={"cited": _anchor(manifest, token), "beside": _anchor(manifest, pending(digest))},
        trust=AnchorTrust(headers={1: header, 2: later}, easiest_target=EASIEST),
    )


def _anchor(manifest: Manifest, proof: bytes) -> Document:
    token = base64.b64encode(proof).decode()
    return Document(body=TimeAnchor(manifest=manifest.digest(), form="opentimestamps", token=token))
