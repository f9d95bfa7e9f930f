"""What a verification is given: files as they arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Delivered", "Delivery"]


class Delivered(Protocol):
    """One file as it arrived, read when it is asked for."""

    @property
    def path(self) -> str:
        """Relative, with `/`; for messages only."""
        ...

    @property
    def size(self) -> int:
        """How many bytes it has."""
        ...

    @property
    def content(self) -> bytes:
        """Its bytes."""
        ...


@dataclass(frozen=True, slots=True, order=True)
class Delivery:
    """One file as it arrived.

    Args:
        path: relative, with `/`; for messages only.
        content: its bytes, unread.
    """

    path: str
    content: bytes

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self.content)
