"""Values and paths as short, harmless text, for a terminal and a page alike.

What a run's records hold is written by Agents and attackers: it may have control characters, text that runs
backwards, or a megabyte. Nothing that does not print goes out as it is, and everything has a bound.

>>> value_text({"body": "a\\x1b[2Jb"}, 40), value_text("x" * 9, 6)
('{"body": "a\\\\u001b[2Jb"}', '"xxxx…')
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from agentbeat_controller.showing.changes import Kind
from agentbeat_protocol import cut

__all__ = ["KINDS", "PASSED", "outline", "path_text", "sides", "value_text"]

#: What each kind of change is called, and its sign.
KINDS: Final[dict[Kind, tuple[str, str]]] = {
    "added": ("+", "added"),
    "removed": ("-", "removed"),
    "changed": ("~", "changed"),
    "reordered": ("^", "in another order"),
}

#: What a check, or a finding, came to.
PASSED: Final[dict[bool | None, tuple[str, str]]] = {
    True: ("ok", "passed"),
    False: ("NO", "failed"),
    None: ("?", "undecided"),
}

#: The levels of a value that are looked into for its text.
_DEPTH: Final = 40
#: The columns that a value gets however deep it stands.
_LEAST: Final = 16
#: How many times the lines that are shown are looked at, to say how many are left out.
_LOOK_AHEAD: Final = 10


def value_text(value: Any, limit: int) -> str:
    """A JSON value on one line of at most `limit` characters."""
    text = ""
    for piece in _pieces(value, limit):
        text += piece
        if len(text) > limit:
            break
    return cut(text, limit)


def path_text(path: str, limit: int) -> str:
    """A path on one line of at most `limit` characters. Its end says more than its middle."""
    if not path:
        return "(the whole state)"
    ends = path if len(path) <= 2 * limit else path[:limit] + path[-limit:]
    shown = cut(ends, 12 * limit)
    half = (limit - 1) // 2
    return shown if len(shown) <= limit else f"{shown[:half]}…{shown[-half:]}"


def outline(value: Any, room: int, *, most: int, opened: bool = False, longest: int = 0) -> tuple[str, ...]:
    """A JSON value as indented lines: on one line what fits, else its members or items below each other.

    Args:
        room: columns of a line.
        most: lines; what is more is counted in one further line.
        opened: a record shows its members even where all of it would fit.
        longest: characters of a text that stands alone, where it may be longer than `room`.
    """
    lines: list[str] = []
    for line in _outlined(value, _Room(room, max(room, longest)), "", opened=opened, depth=_DEPTH):
        lines.append(line)
        if len(lines) > _LOOK_AHEAD * most:
            return (*lines[:most], "… and many more lines")
    if len(lines) <= most + 1:
        return tuple(lines)
    return (*lines[:most], f"… and {len(lines) - most} more lines")


def sides(before: Any, after: Any, limit: int) -> tuple[Any, Any]:
    """Two values as they are shown beside each other: long texts from near the place where they differ."""
    if not (isinstance(before, str) and isinstance(after, str)) or max(len(before), len(after)) < limit:
        return before, after
    same = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        same += 1
    start = same - limit // 3
    return (before, after) if start <= 0 else ("…" + before[start:], "…" + after[start:])


class _Room:
    """The columns of a line, and the characters of a text that stands alone."""

    def __init__(self, columns: int, longest: int) -> None:
        self._columns = columns
        self._more = longest - columns

    def left(self, used: int) -> int:
        """The columns that are left, at least a few however deep a value stands."""
        return max(_LEAST, self._columns - used)

    def alone(self, used: int) -> int:
        """The characters that a text may have there."""
        return self.left(used) + self._more


def _outlined(value: Any, room: _Room, indent: str, *, opened: bool, depth: int) -> Iterator[str]:
    left = room.left(len(indent))
    parts = _parts(value)
    if not parts or not depth or not (opened or len(value_text(value, left + 1)) > left):
        yield indent + value_text(value, room.alone(len(indent)))
        return
    for name, item in parts:
        label = f"{cut(name, 40)}: " if isinstance(value, dict) else "- "
        used = len(indent) + len(label)
        if not _parts(item) or len(value_text(item, room.left(used) + 1)) <= room.left(used):
            yield indent + label + value_text(item, room.alone(used))
            continue
        inner = _outlined(item, room, indent + "  ", opened=True, depth=depth - 1)
        yield indent + (label.rstrip() if isinstance(value, dict) else label + next(inner).lstrip())
        yield from inner


def _parts(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        return value.items()
    return [("", item) for item in value] if isinstance(value, list) else ()


def _pieces(value: Any, limit: int) -> Iterator[str]:
    """The value's JSON, piece by piece; of a long text no more than can be seen."""
    if isinstance(value, str):
        yield json.dumps(value[: limit + 1], ensure_ascii=False)
    elif isinstance(value, dict):
        yield "{"
        for place, (name, item) in enumerate(value.items()):
            yield ", " if place else ""
            yield json.dumps(name[: limit + 1], ensure_ascii=False) + ": "
            yield from _pieces(item, limit)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for place, item in enumerate(value):
            yield ", " if place else ""
            yield from _pieces(item, limit)
        yield "]"
    else:
        yield json.dumps(value)
