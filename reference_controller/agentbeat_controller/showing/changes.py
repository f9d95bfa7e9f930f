"""The difference between two JSON values as steps from one to the other, in terms that people think in.

Records in a list are told apart by their id, not by their place: a record that goes does not make all later
ones look changed. A list of [key, value] pairs, as which a mapping is written whose order counts, reads like
a mapping. Items of any other list are matched by what they are.

- Nothing is left out: `apply(before, diff(before, after))` is `after`, the order of lists with it.
- A change is as deep as it can be; equal as JSON is equal (`1.0` is 1, `true` is not).
- Both functions are pure. `apply` takes the changes in the order in which `diff` gave them.

>>> before = {"accounts": [{"id": "A-1", "sum": 5}, {"id": "A-2", "sum": 7}]}
>>> after = {"accounts": [{"id": "A-2", "sum": 8}]}
>>> for change in diff(before, after):
...     print(change.kind, pointer(change.path), change.before, change.after)
removed /accounts/A-1 {'id': 'A-1', 'sum': 5} None
changed /accounts/A-2/sum 7 8
>>> apply(before, diff(before, after)) == after
True
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from agentbeat_controller.showing.lists import Key, aligned, key_of, keying, same

__all__ = [
    "Change",
    "Item",
    "Kind",
    "Member",
    "Pair",
    "Path",
    "Record",
    "Step",
    "apply",
    "diff",
    "place_in",
    "pointer",
]

Kind = Literal["added", "removed", "changed", "reordered"]


@dataclass(frozen=True)
class Member:
    """A member of an object."""

    name: str


@dataclass(frozen=True)
class Item:
    """An item of a list: its place in the list before where it is removed, else in the list after."""

    index: int


@dataclass(frozen=True)
class Record:
    """An object in a list whose objects are told apart by `field`."""

    field: str
    value: Key


@dataclass(frozen=True)
class Pair:
    """The value of the pair with this key, in a list of pairs."""

    key: Key


Step = Member | Item | Record | Pair
Path = tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One step.

    Args:
        path: what has changed; of a list that was put in another order, the list.
        before: the value of before; None where something is added. Of another order: the keys in it.
        after: the value of after; None where something is removed.
        index: where in the list after something is added; None in objects.
        field: of another order: the field that tells the records apart; None for pairs.
    """

    kind: Kind
    path: Path
    before: Any = None
    after: Any = None
    index: int | None = None
    field: str | None = None


def diff(before: Any, after: Any) -> tuple[Change, ...]:
    """All changes, those of one place together, objects by the names of their members."""
    return tuple(_walk((), before, after))


def pointer(path: Iterable[Step]) -> str:
    """The path like an RFC 6901 pointer, with ids and keys where a list has them."""
    return "".join("/" + _name(step).replace("~", "~0").replace("/", "~1") for step in path)


def place_in(value: Any, path: Iterable[Step]) -> str:
    """The RFC 6901 pointer into `value` along a path, as far as it goes: with indexes in place of ids."""
    found = ""
    for step in path:
        try:
            value = value[place := _place(value, step)]
            found += pointer([Member(str(place))])
            if isinstance(step, Pair):
                value, found = value[1], f"{found}/1"
        except (LookupError, TypeError):
            break
    return found


def _name(step: Step) -> str:
    match step:
        case Member(name):
            return name
        case Item(index):
            return str(index)
        case Record(_, key) | Pair(key):
            return str(key)


# From two values to changes


def _walk(path: Path, old: Any, new: Any) -> Iterator[Change]:
    if same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            here = (*path, Member(name))
            if name not in new:
                yield Change(kind="removed", path=here, before=old[name])
            elif name not in old:
                yield Change(kind="added", path=here, after=new[name])
            else:
                yield from _walk(here, old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(path, old, new)
    else:
        yield Change(kind="changed", path=path, before=old, after=new)


def _lists(path: Path, old: list[Any], new: list[Any]) -> Iterator[Change]:
    found = keying(old, new)
    if found is not None:
        yield from _keyed(path, old, new, field=found.field)
        return
    removed, added, matched = aligned(old, new)
    for index in reversed(removed):
        yield Change(kind="removed", path=(*path, Item(index)), before=old[index])
    for index in added:
        yield Change(kind="added", path=(*path, Item(index)), after=new[index], index=index)
    for here, there in matched:
        yield from _walk((*path, Item(there)), old[here], new[there])


def _keyed(path: Path, old: list[Any], new: list[Any], *, field: str | None) -> Iterator[Change]:
    earlier = {key_of(item, field): item for item in old}
    later = {key_of(item, field): item for item in new}
    for key, item in earlier.items():
        if key not in later:
            yield Change(kind="removed", path=(*path, _step(key, field)), before=_value(item, field))
    stayed = [key for key in earlier if key in later]
    stays = [key for key in later if key in earlier]
    if stayed != stays:
        yield Change(kind="reordered", path=path, before=stayed, after=stays, field=field)
    for index, (key, item) in enumerate(later.items()):
        if key not in earlier:
            here = (*path, _step(key, field))
            yield Change(kind="added", path=here, after=_value(item, field), index=index)
    for key in stays:
        here = (*path, _step(key, field))
        yield from _walk(here, _value(earlier[key], field), _value(later[key], field))


def _step(key: Key, field: str | None) -> Step:
    return Pair(key) if field is None else Record(field, key)


def _value(item: Any, field: str | None) -> Any:
    return item[1] if field is None else item


# From a value and changes to the other value


def apply(before: Any, changes: Iterable[Change]) -> Any:
    """The value that `changes` lead to from `before`, which stays as it is.

    Raises:
        LookupError: a change of a place that is not there.
    """
    holder = [copy.deepcopy(before)]
    for change in changes:
        *way, last = (Item(0), *change.path)
        container = _at(holder, way)
        if change.kind == "reordered":
            _reorder(_at(container, [last]), change)
        elif change.kind == "removed":
            del container[_place(container, last)]
        elif change.kind == "added" and isinstance(container, list):
            container.insert(_index(change), _packed(last, change.after))
        else:
            _set(container, last, copy.deepcopy(change.after))
    return holder[0]


def _at(found: Any, path: Iterable[Step]) -> Any:
    for step in path:
        found = found[_place(found, step)]
        found = found[1] if isinstance(step, Pair) else found
    return found


def _place(container: Any, step: Step) -> Any:
    """The name or the index under which a step's item stands now."""
    match step:
        case Member(name):
            return name
        case Item(index):
            return index
        case Record(field, key):
            return _find(container, field, key)
        case Pair(key):
            return _find(container, None, key)


def _find(container: Any, field: str | None, key: Key) -> int:
    for index, item in enumerate(container):
        if same(key_of(item, field), key):
            return index
    raise LookupError("no record with this key")


def _set(container: Any, step: Step, value: Any) -> None:
    if isinstance(step, Pair):
        container[_place(container, step)][1] = value
    else:
        container[_place(container, step)] = value


def _packed(step: Step, value: Any) -> Any:
    item = copy.deepcopy(value)
    return [step.key, item] if isinstance(step, Pair) else item


def _index(change: Change) -> int:
    if change.index is None:
        raise LookupError("an addition to a list without its place")
    return change.index


def _reorder(container: list[Any], change: Change) -> None:
    by_key = {key_of(item, change.field): item for item in container}
    container[:] = [by_key[key] for key in change.after]
