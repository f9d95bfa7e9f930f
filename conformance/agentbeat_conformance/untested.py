"""What the specs ask of a Target and no check tries, and why."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["UNTESTED"]

#: The rule, and what of it is left to the Target's own tests.
UNTESTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "INV-2": "a secret in the query is not tried: it would end up in access logs",
        "INV-4": "that a failed run is not replayed: from outside no Agent can be made to fail",
        "INV-9": "no Agent can be slowed down from outside, and one that is quick is never at its limit",
        "INV-10": "what a server's HTTP parser refuses on its own is that server's answer",
    }
)
