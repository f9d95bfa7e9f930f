"""Long lists that are kept outside of memory, in place of a tuple in a body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

__all__ = ["KeptList"]

ItemT = TypeVar("ItemT")


class KeptList(Sequence[ItemT]):
    """Entries that are made when they are asked for; each was checked when the list was read.

    It equals the tuple of its entries and is copied and pickled as it.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | KeptList):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)

    def __repr__(self) -> str:
        return f"<{len(self)} entries>"
