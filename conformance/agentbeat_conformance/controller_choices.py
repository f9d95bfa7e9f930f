"""What a probe chooses from: the catalogue's entries as far as a run needs them, and the registered key."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from agentbeat_protocol import DIMENSIONS, ProfileEntry, ProtocolError
from agentbeat_protocol.models import validated

__all__ = ["public_key", "usable_entries"]

#: What an entry that leaves it out is taken to say.
_UNTOLD: Final[Mapping[str, Any]] = {"title": "?", "dimensions": list(DIMENSIONS)}

#: 32 bytes; the last character stands for four bits of them.
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]=?")


def usable_entries(catalogue: Any) -> tuple[ProfileEntry, ...]:
    """The entries that a reset can name; the rest of the catalogue is for the check that judges it."""
    profiles = catalogue.get("profiles") if isinstance(catalogue, dict) else None
    entries = []
    for profile in profiles if isinstance(profiles, list) else ():
        if isinstance(profile, dict):
            known = {name: profile[name] for name in ProfileEntry.model_fields if name in profile}
            try:
                entries.append(validated(ProfileEntry, {**_UNTOLD, **known}))
            except ProtocolError:
                continue
    return tuple(entries)


def public_key(text: str) -> bytes:
    """The 32 bytes of an Ed25519 public key, from base64url with or without padding.

    Raises:
        ValueError: it is none.
    """
    if not _KEY.fullmatch(text):
        raise ValueError("verify_key: expected 32 bytes in base64url")
    return base64.urlsafe_b64decode(text.rstrip("=") + "=")
