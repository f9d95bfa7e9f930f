"""What a verification is given: files as they arrived."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["Delivered", "Delivery", "Placed", "content_behind"]


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


@runtime_checkable
class Placed(Protocol):
    """A file that can be read into memory that is there already."""

    def read_into(self, buffer: memoryview) -> None:
        """Fill a buffer of the file's size."""
        ...


def content_behind(delivery: Delivered, free: int) -> mmap.mmap:
    """A file's bytes behind so many free ones, where possible without a second copy of them.

    They are in pages of their own, which the system has again as soon as nothing refers to them: what is as
    long as a manifest would else leave a hole in the memory that is never closed.

    >>> content_behind(Delivery("a.json", b"{}"), 3)[3:]
    b'{}'
    """
    if isinstance(delivery, Placed):
        buffer = mmap.mmap(-1, free + delivery.size)
        delivery.read_into(memoryview(buffer)[free:])
        return buffer
    content = delivery.content
    buffer = mmap.mmap(-1, free + len(content))
    buffer[free:] = content
    return buffer
