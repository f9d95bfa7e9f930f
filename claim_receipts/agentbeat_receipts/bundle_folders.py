"""Bundles that grow: what a folder holds, and new documents beside it.

    held = held_documents(read_bundle(folder))
    manifest = sole(held, Manifest)
    add_documents(folder, [ticket, checkpoint])

Nothing is overwritten. A document that is there already, byte for byte, is left as it is, so that a step that
was cut off can be done again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from agentbeat_protocol import ProtocolError, cut
from agentbeat_receipts.bundles import FORMAT_FILE, BundleError, bundle_files
from agentbeat_receipts.deliveries import Delivery
from agentbeat_receipts.objects import Body, Document, read_document

__all__ = ["add_documents", "held_documents", "sole"]

BodyT = TypeVar("BodyT", bound=Body)


def held_documents(deliveries: Iterable[Delivery]) -> tuple[Document, ...]:
    """The documents that deliveries spell, signatures unseen.

    Raises:
        BundleError: one of them is no document.
    """
    found = []
    for delivery in deliveries:
        try:
            found.append(read_document(delivery.content))
        except ProtocolError as error:
            raise BundleError(f"{cut(delivery.path, 200)}: {error}") from None
    return tuple(found)


def sole(documents: Iterable[Document], kind: type[BodyT]) -> tuple[Document, BodyT]:
    """The one document of a kind, and its body.

    Raises:
        BundleError: there is none, or more than one.
    """
    found = [(document, document.body) for document in documents if isinstance(document.body, kind)]
    if len({body.digest() for _, body in found}) != 1:
        raise BundleError(f"got {len(found)} documents of kind {kind.__name__}, expected one")
    return found[0]


def add_documents(folder: Path, documents: Iterable[Document]) -> int:
    """Write documents into a bundle's folder, in the order in which they are given; how many are new.

    Raises:
        BundleError: a file is there with other content; then nothing was written.
        OSError: the folder cannot be written to.
    """
    files: dict[str, bytes] = {}
    for document in documents:
        made = {path: raw for path, raw in bundle_files([document]).items() if path != FORMAT_FILE}
        for path, content in made.items():
            if files.setdefault(path, content) != content:
                raise BundleError(f"{path}: two different documents for one file")
    new = {path: content for path, content in files.items() if not _is_there(folder / path, content)}
    for path, content in new.items():
        file = folder / path
        file.parent.mkdir(exist_ok=True)
        with file.open("xb") as opened:
            opened.write(content)
    return len(new)


def _is_there(path: Path, content: bytes) -> bool:
    if not path.exists():
        return False
    if path.read_bytes() != content:
        raise BundleError(f"{path}: there already with other content, and nothing is overwritten")
    return True
