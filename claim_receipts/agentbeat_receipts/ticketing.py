"""Tickets and checkpoint of a manifest that is signed already, by whoever holds the ingress key.

`Batch` does the same for a party that holds every key. Ed25519 signatures are deterministic, so both make the
same bytes, and so does doing it again.
"""

from __future__ import annotations

from agentbeat_receipts.held_keys import HeldKeys
from agentbeat_receipts.objects import Checkpoint, Document, Manifest, Ticket

__all__ = ["make_framing"]


def make_framing(manifest: Manifest, keys: HeldKeys, *, anchor: str | None) -> tuple[Document, ...]:
    """The ticket of each assignment in manifest order, then the checkpoint over all of them.

    Args:
        anchor: digest of the time anchor's token over the manifest; None without one.

    Raises:
        KeyRefused: the ingress authority's key is not held.
        ValueError: the manifest is retrospective.
    """
    if manifest.mode != "prospective":
        raise ValueError("a retrospective manifest, expected a prospective one: only that has tickets")
    digest = manifest.digest()
    tickets = [
        Ticket(manifest=digest, assignment=entry.assignment, anchor=anchor) for entry in manifest.assignments
    ]
    listed = tuple(ticket.digest() for ticket in tickets)
    checkpoint = Checkpoint(manifest=digest, anchor=anchor, tickets=listed)
    return tuple(keys.sign(body) for body in (*tickets, checkpoint))
