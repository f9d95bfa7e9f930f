"""What occurs more than once, found in a few bytes for each item instead of a set of them all.

>>> sorted(repeated(lambda: ["b", "a", "c", "b", "b"]))
['b']
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise
from typing import TypeVar

__all__ = ["repeated"]

ItemT = TypeVar("ItemT", bound=Hashable)


def repeated(items: Callable[[], Iterable[ItemT]]) -> frozenset[ItemT]:
    """The items that occur more than once.

    Args:
        items: gives them all, and again when it is called again: first only their hashes are compared.
    """
    hashes = sorted(array("q", map(hash, items())))
    alike = {one for one, two in pairwise(hashes) if one == two}
    if not alike:
        return frozenset()
    counted = Counter(item for item in items() if hash(item) in alike)
    return frozenset(item for item, count in counted.items() if count > 1)
