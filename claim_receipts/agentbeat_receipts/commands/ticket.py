"""`agentbeat claims ticket`: a ticket for every assignment, and the checkpoint over all of them.

Done once, before the first run: whatever gets no ticket now is not part of the claim. The manifest in BUNDLE
must carry the manifest authority's signature. Tickets cite the token of the time anchor that lies in the
bundle, or the one that --anchor brings along: so they were made after it, whatever the clock here says.
Without an anchor coverage cannot pass.

Needs ingress_authority.key. The checkpoint's digest is printed; the first receipt follows it. Doing it again
changes nothing; doing it with another anchor is refused.

example:
  agentbeat claims ticket claim --keyring ingress-keys --anchor token.tsr
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_receipts.commands.options import UsageError, say, write_text

if TYPE_CHECKING:
    from agentbeat_receipts.keys import PublicKeyring
    from agentbeat_receipts.objects import Document, Manifest, TimeAnchor

__all__ = ["HELP", "configure", "run"]

HELP: Final = "sign a ticket for every assignment, and the checkpoint over them"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("bundle", metavar="BUNDLE", type=Path, help="a folder that `manifest` has made")
    add("--keyring", metavar="FOLDER", type=Path, required=True, help="with ingress_authority.key")
    add("--anchor", metavar="TOKEN", type=Path, help="a time-stamp response, or an OpenTimestamps proof")


def run(args: argparse.Namespace) -> int:
    """Write tickets and checkpoint; print the checkpoint's digest."""
    from agentbeat_receipts.bundle_folders import add_documents
    from agentbeat_receipts.commands.bundles import folder_documents
    from agentbeat_receipts.held_keys import load_held_keys
    from agentbeat_receipts.ticketing import make_framing

    keys = load_held_keys(args.keyring)
    held = folder_documents(args.bundle)
    manifest = _manifest(args.bundle, held, keys.public)
    anchor = _anchor(args.anchor, manifest, held)
    cited = None if anchor is None else anchor.token_digest()
    framing = make_framing(manifest, keys, anchor=cited)
    beside = [] if anchor is None else [keys.sign(anchor)]
    new = add_documents(args.bundle, [*beside, *framing])
    if anchor is None:
        say("note: no time anchor: coverage cannot pass, and the batch reaches CR-2 at most")
    say(f"{len(framing) - 1} tickets and the checkpoint are in {args.bundle} ({new} new files)")
    write_text(framing[-1].body.digest())
    return 0


def _manifest(bundle: Path, held: Iterable[Document], public: PublicKeyring) -> Manifest:
    from agentbeat_receipts.bundle_folders import sole
    from agentbeat_receipts.objects import Manifest, Receipt, signature_fault

    document, manifest = sole(held, Manifest)
    fault = signature_fault(document, public)
    if fault is not None:
        raise UsageError(f"{bundle}: got a manifest with {fault}, expected one that its authority signed")
    if manifest.mode != "prospective":
        raise UsageError(f"{bundle}: got a retrospective manifest; only a prospective one has tickets")
    if any(isinstance(document.body, Receipt) for document in held):
        raise UsageError(f"{bundle}: there are receipts already, and tickets come before the first run")
    return manifest


def _anchor(token: Path | None, manifest: Manifest, held: Iterable[Document]) -> TimeAnchor | None:
    from agentbeat_receipts.anchoring import is_pending
    from agentbeat_receipts.commands.bundles import read_token
    from agentbeat_receipts.objects import TimeAnchor

    if token is not None:
        anchor = read_token(token, manifest.digest())
        if is_pending(anchor):
            raise UsageError(f"{token}: got a proof that is pending, expected a complete one")
        return anchor
    bodies = [document.body for document in held]
    found = [
        body
        for body in bodies
        if isinstance(body, TimeAnchor) and body.manifest == manifest.digest() and not is_pending(body)
    ]
    if len(found) > 1:
        raise UsageError(f"got {len(found)} time anchors in the bundle; name the one to cite with --anchor")
    return found[0] if found else None
