"""What a verification is given: files as they arrived."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Delivery"]


@dataclass(frozen=True, slots=True, order=True)
class Delivery:
    """One file as it arrived.

    Args:
        path: relative, with `/`; for messages only.
        content: its bytes, unread.
    """

    path: str
    content: bytes
