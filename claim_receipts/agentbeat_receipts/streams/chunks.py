"""Deliveries in handfuls, for one task each: not too many, and not too many bytes.

>>> from agentbeat_receipts.deliveries import Delivery
>>> [len(chunk) for chunk in chunks([Delivery("a", b"12"), Delivery("b", b"3"), Delivery("c", b"4")], most=2)]
[2, 1]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from agentbeat_receipts.deliveries import Delivered

__all__ = ["chunks"]

#: How many deliveries make a task, and how many bytes.
_MOST: Final = 128
_MOST_BYTES: Final = 1024 * 1024


def chunks(
    deliveries: Iterable[Delivered], *, most: int | None = None, most_bytes: int | None = None
) -> Iterator[list[Delivered]]:
    """The deliveries in order, in lists.

    Args:
        most: how many of them one list has at most.
        most_bytes: a list ends with the delivery that reaches so many bytes.
    """
    most, most_bytes = most or _MOST, most_bytes or _MOST_BYTES
    chunk: list[Delivered] = []
    size = 0
    for delivery in deliveries:
        chunk.append(delivery)
        size += delivery.size
        if len(chunk) >= most or size >= most_bytes:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
