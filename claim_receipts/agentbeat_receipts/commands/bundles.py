"""Bundles and tokens as the sub-commands read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentbeat_receipts.commands.options import UsageError

if TYPE_CHECKING:
    from agentbeat_receipts.objects import Document, TimeAnchor

__all__ = ["folder_documents", "read_token"]

#: The longest token that is read, in bytes; real ones have a few thousand.
_TOKEN: Final = 1024 * 1024


def folder_documents(bundle: Path) -> tuple[Document, ...]:
    """The documents of a bundle that is to grow.

    Raises:
        UsageError: it is no folder.
        BundleError: it is no bundle, or holds something that is no document.
    """
    from agentbeat_receipts.bundle_folders import held_documents
    from agentbeat_receipts.bundles import read_bundle

    if not bundle.is_dir():
        raise UsageError(f"{bundle}: expected a bundle's folder")
    return held_documents(read_bundle(bundle))


def read_token(path: Path, manifest: str) -> TimeAnchor:
    """A token's file as a time anchor over a manifest.

    Raises:
        UsageError: it cannot be read as a token, or is over something else.
    """
    from agentbeat_receipts.anchoring import anchor_of
    from agentbeat_receipts.anchors import AnchorError

    with path.open("rb") as file:
        raw = file.read(_TOKEN + 1)
    if len(raw) > _TOKEN:
        raise UsageError(f"{path}: got more than {_TOKEN} bytes, expected a token")
    try:
        return anchor_of(raw, manifest)
    except AnchorError as error:
        raise UsageError(f"{path}: {error}") from None
