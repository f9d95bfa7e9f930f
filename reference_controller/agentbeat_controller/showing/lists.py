"""How two lists are held beside each other: by keys where their items have some, else by what they are.

>>> keying([["a", 1]], [["b", 1]]), keying([{"id": 1}], [{"id": 2}]), keying([1], [2])
(Keying(field=None), Keying(field='id'), None)
>>> aligned(["a", "b", "c"], ["a", "x", "c", "d"])
([], [3], [(0, 0), (1, 1), (2, 2)])
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Key", "Keying", "aligned", "key_of", "keying", "same"]

#: What tells a record from the others of its list.
Key = str | int

#: The fields that are looked at for it, the first that fits; after them, any whose name ends in `_id`.
_FIELDS: Final = ("id", "id_", "uuid", "key", "sequence")
_LAST_FIELDS: Final = ("name", "email", "title")
#: The largest product of two lengths for which the best matching is looked for.
_MOST: Final = 250_000


@dataclass(frozen=True)
class Keying:
    """How the items of two lists are told apart: by a field of records; None: as [key, value] pairs."""

    field: str | None


def same(old: Any, new: Any) -> bool:
    """Equal as JSON: `true` is not 1, `1.0` is 1."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(same, old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(same(old[name], new[name]) for name in old)
    return bool(old == new)


def keying(old: list[Any], new: list[Any]) -> Keying | None:
    """What tells the items of both lists apart, where something does."""
    items = [*old, *new]
    if not items:
        return None
    if all(isinstance(item, list) and len(item) == 2 for item in items):
        return Keying(None) if _unique(old, None) and _unique(new, None) else None
    if not all(isinstance(item, dict) for item in items):
        return None
    shared = sorted(set.intersection(*(set(item) for item in items)))
    own_ids = [name for name in shared if name.endswith("_id")]
    for name in (*_FIELDS, *own_ids, *_LAST_FIELDS):
        if name in shared and _unique(old, name) and _unique(new, name):
            return Keying(name)
    return None


def key_of(item: Any, field: str | None) -> Any:
    """The key of a record, or of a pair."""
    return item[0] if field is None else item[field]


def _unique(items: list[Any], field: str | None) -> bool:
    keys = [key_of(item, field) for item in items]
    if not all(isinstance(key, str | int) and not isinstance(key, bool) for key in keys):
        return False
    return len(set(keys)) == len(keys)


def aligned(old: Sequence[Any], new: Sequence[Any]) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Places removed from `old`, places added in `new`, and the pairs of places that belong together.

    Equal items belong together, as many as can without crossing; between them, what is alike.
    """
    here, there = [_token(item) for item in old], [_token(item) for item in new]
    anchors = [*_anchors(here, there), (len(old), len(new))]
    removed: list[int] = []
    added: list[int] = []
    matched: list[tuple[int, int]] = []
    start_old = start_new = 0
    for end_old, end_new in anchors:
        between = list(zip(range(start_old, end_old), range(start_new, end_new), strict=False))
        alike = [(i, j) for i, j in between if _alike(old[i], new[j])]
        matched += alike
        removed += sorted(set(range(start_old, end_old)) - {i for i, _ in alike})
        added += sorted(set(range(start_new, end_new)) - {j for _, j in alike})
        if end_old < len(old):
            matched.append((end_old, end_new))
        start_old, start_new = end_old + 1, end_new + 1
    return removed, added, matched


def _token(item: Any) -> str:
    return json.dumps(item, sort_keys=True)


def _alike(old: Any, new: Any) -> bool:
    """Whether one may have become the other: no object that shares less than half of its members."""
    if isinstance(old, dict) and isinstance(new, dict):
        shared = sum(name in new and same(old[name], new[name]) for name in old)
        return 2 * shared >= len(old.keys() | new.keys())
    return isinstance(old, dict | list) is isinstance(new, dict | list)


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Equal items, in order and without crossing: the ends first, then a longest common subsequence."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    middle = _longest(old[start : len(old) - end], new[start : len(new) - end])
    return [
        *((place, place) for place in range(start)),
        *((i + start, j + start) for i, j in middle),
        *((len(old) - place, len(new) - place) for place in range(end, 0, -1)),
    ]


def _longest(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    if len(old) * len(new) > _MOST:
        return []
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            equal = lengths[i + 1][j + 1] + 1 if old[i] == new[j] else 0
            lengths[i][j] = max(equal, lengths[i + 1][j], lengths[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
