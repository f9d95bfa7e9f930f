"""Exact JSON values, compared and remembered by their content.

`true` is not `1` here, which Python's `==` has it; the order of members means nothing.

>>> same({"a": 1, "b": 2}, {"b": 2, "a": 1}), same(1, True), same([1], [1])
(True, False, True)
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

__all__ = ["Remembered", "exact_key", "same"]

MadeT = TypeVar("MadeT")

_LONGEST_KEY: Final = 16_384


def exact_key(value: Any) -> bytes:
    """Bytes that are equal for equal JSON values with their members in one order, and for no others.

    Of the ways to tell values apart it is the quickest; version 0 of the format is free of references, so
    that only the content counts. The bytes are never read back and never leave the process.
    """
    return marshal.dumps(value, 0)


def same(left: Any, right: Any) -> bool:
    """Whether two exact JSON values are the same."""
    # Equal values whose members stand in other orders are looked at again.
    return exact_key(left) == exact_key(right) or _sorted_text(left) == _sorted_text(right)


class Remembered(Generic[MadeT]):
    """A function of exact JSON that is computed once for equal content.

    Args:
        make: the function. What it raises is not remembered.
        most: how many results are held; when there are more, all are forgotten. Of content beyond 16 KiB
            none is held, so that memory stays small whatever is delivered.

    >>> doubled = Remembered(lambda value: [*value, *value])
    >>> doubled([1]) is doubled([1]), doubled([True])
    (True, [True, True])
    """

    def __init__(self, make: Callable[[Any], MadeT], *, most: int = 1024) -> None:
        self._make = make
        self._most = most
        self._made: dict[bytes, MadeT] = {}

    def __call__(self, content: Any, key: bytes | None = None) -> MadeT:
        """The result; `key` is the content's, where it is at hand."""
        key = exact_key(content) if key is None else key
        if key in self._made:
            return self._made[key]
        made = self._make(content)
        if len(key) <= _LONGEST_KEY:
            if len(self._made) >= self._most:
                self._made.clear()
            self._made[key] = made
        return made


def _sorted_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
