"""Received documents as a result keeps them: digest and size of the very bytes, the text as far as it fits.

The digest tells whether two people look at the same document; the text is for reading. Held secrets are taken
out of it before it is cut, so that no part of one is left at the cut.
"""

from __future__ import annotations

from typing import Final

from agentbeat_core.credentials import Redactor
from agentbeat_protocol import ProtocolError, digest_bytes
from agentbeat_protocol.evaluation import DocumentKind, KeptDocument

__all__ = ["MAX_KEPT_TEXT", "keep"]

#: How much of a document's text a result keeps, in code points.
MAX_KEPT_TEXT: Final = 256 * 1024


def keep(
    kind: DocumentKind,
    raw: bytes,
    *,
    redactor: Redactor,
    refused: ProtocolError | None = None,
    rule: str | None = None,
    reason: str | None = None,
) -> KeptDocument:
    """The document for the reader of a result.

    Args:
        refused: the protocol's error where it was refused for one.
        rule: the broken rule, where `refused` does not say it.
        reason: why it was refused, where `refused` does not say it.
    """
    if refused is not None:
        rule, reason = refused.rule, str(refused)
    text = redactor.text(raw.decode("utf-8", "replace"))
    return KeptDocument(
        kind=kind,
        digest=digest_bytes(raw),
        size_bytes=len(raw),
        accepted=rule is None and reason is None,
        rule=rule,
        reason=reason,
        text=text[:MAX_KEPT_TEXT],
        text_is_cut=len(text) > MAX_KEPT_TEXT,
    )
