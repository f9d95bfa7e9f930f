"""Opening a batch for its runs: manifest, time anchor, tickets and checkpoint, signed and in the bundle.

Signatures are deterministic and every step writes whole files, so doing it again after an interruption gives
the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agentbeat_core.receipts.errors import BatchError
from agentbeat_core.receipts.preparing import PreparedBatch
from agentbeat_core.receipts.stores import BatchStore, Held
from agentbeat_receipts.anchoring import anchor_of, is_pending
from agentbeat_receipts.anchors import AnchorError
from agentbeat_receipts.batches import Batch, OrderError
from agentbeat_receipts.keys import Signer
from agentbeat_receipts.objects import Document, Manifest, TimeAnchor, sign

__all__ = ["begin_batch", "read_anchor", "sign_manifest"]

#: The longest token that is read, in bytes; real ones have a few thousand.
_TOKEN: Final = 1024 * 1024


def read_anchor(path: Path, manifest: Manifest) -> TimeAnchor:
    """A token's file as a time anchor over this manifest.

    Raises:
        BatchError: it cannot be read, is over something else, or is pending.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_TOKEN + 1)
        if len(raw) > _TOKEN:
            raise BatchError(f"anchor: more than {_TOKEN} bytes")
        anchor = anchor_of(raw, manifest.digest())
    except (AnchorError, OSError) as error:
        raise BatchError(f"anchor: {error}") from None
    if is_pending(anchor):
        raise BatchError("anchor: a proof that is pending; tickets cannot cite it")
    return anchor


def sign_manifest(prepared: PreparedBatch, signer: Signer, store: BatchStore) -> Held:
    """Sign the manifest, unless it is there; what the bundle held before.

    Raises:
        BatchError: the bundle has another manifest, or evidence is sealed to another auditor.
    """
    held = store.held(signer.public)
    if held.manifest is not None and held.manifest.digest() != prepared.manifest.digest():
        raise BatchError("bundle: its manifest is another; plan, registry or judge have changed since")
    store.seal_to(signer.public.auditor)
    store.add(sign(prepared.manifest, signer))
    return held


def begin_batch(
    prepared: PreparedBatch, signer: Signer, store: BatchStore, *, anchor: TimeAnchor | None
) -> tuple[Batch, Held]:
    """Sign what precedes the runs; the batch, after the receipts that it has, and what the bundle held.

    Args:
        anchor: what tickets are to cite; without it an anchor that lies in the bundle.

    Raises:
        BatchError: the bundle is of another batch, cites another anchor, or was closed.
    """
    held = sign_manifest(prepared, signer, store)
    if held.closed:
        raise BatchError("bundle: the batch was closed; it has nothing more to run")
    cited = _cited(held, anchor, prepared.manifest)
    batch = Batch(prepared.manifest, signer, anchor=cited)
    beside = () if anchor is None else (Document(body=anchor),)
    store.add(*beside, *batch.framing())
    try:
        batch.resume(held.receipts)
    except OrderError as error:
        raise BatchError(f"bundle: {error}") from None
    return batch, held


def _cited(held: Held, anchor: TimeAnchor | None, manifest: Manifest) -> str | None:
    """The digest of the token that tickets cite."""
    given = None if anchor is None else anchor.token_digest()
    if held.tickets:
        cited = held.tickets[0].anchor
        if given not in (None, cited):
            raise BatchError("anchor: tickets are signed, and cite another token or none")
        return cited
    if given is not None:
        return given
    usable = [
        found.token_digest()
        for found in held.anchors
        if found.manifest == manifest.digest() and not is_pending(found)
    ]
    if len(usable) > 1:
        raise BatchError(f"bundle: {len(usable)} time anchors; name the one to cite with --anchor")
    return usable[0] if usable else None
