"""A time anchor's token as it is delivered: it shows by when the manifest existed.

It carries no signature of a role: what it proves is checked against roots or block headers that the verifier
is given. Tickets cite a token by the SHA-256 of its bytes, so they were made after it.
"""

from __future__ import annotations

import base64
import hashlib
from typing import ClassVar, Literal

from agentbeat_protocol.models import Digest
from agentbeat_receipts.objects.base import Base64, Body, type_name

__all__ = ["AnchorForm", "TimeAnchor"]

#: `rfc3161`: a time-stamp response in DER. `opentimestamps`: a proof file (`.ots`).
AnchorForm = Literal["rfc3161", "opentimestamps"]


class TimeAnchor(Body):
    """One token over one manifest."""

    TYPE: ClassVar[str] = type_name("time-anchor")

    manifest: Digest
    form: AnchorForm
    token: Base64

    def token_bytes(self) -> bytes:
        """The token itself."""
        return base64.b64decode(self.token)

    def token_digest(self) -> str:
        """What tickets cite: `sha256:` and the hex of SHA-256 over the token's bytes."""
        return "sha256:" + hashlib.sha256(self.token_bytes()).hexdigest()
