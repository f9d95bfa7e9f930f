"""Every difference between two JSON values, place by place.

Objects are compared member by member; anything else that differs, lists too, is one difference with both
values. Nothing is skipped, so a change that nobody thought of is found all the same.

>>> [(each.pointer, each.before, each.after) for each in differences({"a": 1, "b": [1]}, {"a": 2, "b": [1]})]
[('/a', 1, 2)]
>>> differences({"a": 1}, {"a": True})[0].pointer, differences({}, {"x/y": 0})[0].pointer
('/a', '/x~1y')
>>> around([("a", "b", "c"), ("a", "d")]), around([("a", "b")]), around([])
(('a',), ('a', 'b'), ())
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

__all__ = ["ABSENT", "Difference", "around", "differences", "excerpt", "pointer"]


class _Absent:
    """Stands where one of the two values has no such member."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()

#: The longest text, in code points, and the most items that an excerpt repeats.
_TEXT: Final = 200
_ITEMS: Final = 20
#: The levels of objects and lists that it shows.
_LEVELS: Final = 6


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One place where two values differ; `ABSENT` where it is missing on a side."""

    path: tuple[str, ...]
    before: Any
    after: Any

    @property
    def pointer(self) -> str:
        """The place as an RFC 6901 pointer."""
        return pointer(*self.path)

    def as_json(self) -> dict[str, Any]:
        """The difference for a report: `before` or `after` is left out where there was nothing."""
        sides = {"before": self.before, "after": self.after}
        return {"path": self.pointer} | {
            side: excerpt(value) for side, value in sides.items() if value is not ABSENT
        }


def differences(before: Any, after: Any) -> tuple[Difference, ...]:
    """All differences, ordered by place. Works without recursion: no depth is too deep."""
    found: list[Difference] = []
    waiting: list[tuple[tuple[str, ...], Any, Any]] = [((), before, after)]
    while waiting:
        path, old, new = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            waiting.extend(
                ((*path, str(name)), old.get(name, ABSENT), new.get(name, ABSENT))
                for name in old.keys() | new.keys()
            )
        elif not _same(old, new):
            found.append(Difference(path=path, before=old, after=new))
    return tuple(sorted(found, key=lambda difference: difference.path))


def pointer(*path: str) -> str:
    """An RFC 6901 pointer."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def around(places: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The deepest place with all of these in it; the whole value, if there are none."""
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*places, strict=False))
    return tuple(names[0] for names in shared)


def excerpt(value: Any, *, levels: int = _LEVELS) -> Any:
    """A value for a report: what is long or deep is cut, and says so."""
    if isinstance(value, str):
        return value if len(value) <= _TEXT else value[: _TEXT - 1] + "…"
    if isinstance(value, dict | list | tuple) and not levels:
        return "…"
    if isinstance(value, dict):
        shown = list(value.items())[:_ITEMS]
        return {str(name): excerpt(item, levels=levels - 1) for name, item in shown}
    if isinstance(value, list | tuple):
        return [excerpt(item, levels=levels - 1) for item in value[:_ITEMS]]
    return value


def _same(old: Any, new: Any) -> bool:
    """Equal as JSON: `true` is not 1, `1.0` is 1, and lists are equal item by item."""
    pairs = [(old, new)]
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            pairs.extend((left[name], right[name]) for name in left)
        elif isinstance(left, bool) or isinstance(right, bool):
            if left is not right:
                return False
        elif left != right:
            return False
    return True
