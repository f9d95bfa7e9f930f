"""Materials: what a run was made with, in full, such as a catalogue or a chooser's rules.

A material stands in the opening, so that an opened receipt can be replayed by itself; its digest stands where
it was promised: under a component's name in the arm and the receipt, or in the manifest.

>>> material_digest("chooser", {"chooser": "subset"})[:15]
'sha256:54853a01'
"""

from __future__ import annotations

from typing import Any

from agentbeat_receipts.canonical import canonical_bytes, nfc, object_digest
from agentbeat_receipts.objects.base import type_name

__all__ = ["material_digest"]


def material_digest(name: str, content: Any) -> str:
    """The digest of a material: SHA-256 over the PAE of its name and its canonical bytes in normal form C.

    Raises:
        CanonicalError: the content has no exact form.
    """
    return object_digest(type_name(f"material.{name}"), canonical_bytes(nfc(content)))
