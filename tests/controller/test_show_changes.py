"""The difference between two states: readable where states have ids, and exact for any JSON."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_controller.showing.changes import Change, Item, Member, Pair, Record, apply, diff, pointer
from agentbeat_controller.showing.lists import same

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from([0.5, 1.0])
    | st.text("ab/~é", max_size=3)
)
NAMES = st.sampled_from(["a", "b", "id", "name", "order_id", ""])
KEYS = st.sampled_from(["x", "y", "z", 1, 2])


def _containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    records = st.lists(
        st.builds(lambda key, rest: {**rest, "id": key}, KEYS, st.dictionaries(NAMES, children, max_size=3)),
        max_size=5,
    )
    pairs = st.lists(st.tuples(KEYS, children).map(list), max_size=5)
    return (
        st.lists(children, max_size=5)
        | st.dictionaries(NAMES, children, max_size=4)
        | records
        | pairs
        | st.lists(st.integers(0, 2), max_size=8)
    )


VALUES = st.recursive(SCALARS, _containers, max_leaves=25)


@given(VALUES, VALUES)
def test_applying_the_changes_to_before_gives_after(before: Any, after: Any) -> None:
    """Whatever the two values are, and neither is touched."""
    given_before, given_after = copy.deepcopy(before), copy.deepcopy(after)
    changes = diff(before, after)
    found = apply(before, changes)
    assert same(found, after)
    assert (before, after) == (given_before, given_after)
    assert bool(changes) is not same(before, after)


@given(VALUES)
def test_nothing_changes_between_equal_values(value: Any) -> None:
    assert diff(value, copy.deepcopy(value)) == ()


@st.composite
def edited(draw: st.DrawFn) -> tuple[Any, Any]:
    """A list of records, and the same after some edits: rows gone, added, moved and changed."""
    ids = draw(st.lists(st.integers(0, 30), unique=True, min_size=1, max_size=12))
    before = [{"id": key, "a": draw(st.integers(0, 2)), "b": [key]} for key in ids]
    after = [row for row in copy.deepcopy(before) if draw(st.booleans())]
    after += [
        {"id": key, "a": 0, "b": []} for key in draw(st.lists(st.integers(31, 40), unique=True, max_size=3))
    ]
    after = list(draw(st.permutations(after)))
    for row in after:
        row["a"] = draw(st.integers(0, 2))
    return before, after


@given(edited(), st.booleans())
def test_records_are_held_beside_the_record_of_their_id(
    pair: tuple[list[Any], list[Any]], as_pairs: bool
) -> None:
    """Each record is gone, new or changed in just the members that changed; the same for pairs."""
    rows = pair
    before, after = ([[[row["id"], row] for row in side] for side in rows]) if as_pairs else rows
    changes = diff(before, after)
    assert same(apply(before, changes), after)
    old, new = ({row["id"]: row for row in side} for side in rows)
    told = {
        kind: {_key(each) for each in changes if each.kind == kind}
        for kind in ("added", "removed", "changed")
    }
    assert told["removed"] == old.keys() - new.keys()
    assert told["added"] == new.keys() - old.keys()
    assert told["changed"] == {key for key in old.keys() & new.keys() if old[key]["a"] != new[key]["a"]}
    assert all(each.path[-1] == Member("a") for each in changes if each.kind == "changed")


def _key(change: Change) -> Any:
    first = change.path[0]
    assert isinstance(first, Record | Pair)
    return first.value if isinstance(first, Record) else first.key


CASES: dict[str, tuple[Any, Any, list[tuple[str, str]]]] = {
    "a member": ({"a": 1}, {"a": 2}, [("changed", "/a")]),
    "true and 1": ({"a": 1}, {"a": True}, [("changed", "/a")]),
    "1 and 1.0": ({"a": 1}, {"a": 1.0}, []),
    "the whole value": (1, [], [("changed", "")]),
    "a member that is null now": ({}, {"a": None}, [("added", "/a")]),
    "odd names": ({"a/b": {"~": 0}}, {"a/b": {"~": 1}}, [("changed", "/a~1b/~0")]),
    "a record gone": ([{"id": 1}, {"id": 2}], [{"id": 2}], [("removed", "/1")]),
    "two records in the other order": ([{"id": 1}, {"id": 2}], [{"id": 2}, {"id": 1}], [("reordered", "")]),
    "records by name": ([{"name": "a", "x": 1}], [{"name": "a", "x": 2}], [("changed", "/a/x")]),
    "records by a field of their own": (
        [{"tx_id": "T", "x": 1}],
        [{"tx_id": "T", "x": 2}],
        [("changed", "/T/x")],
    ),
    "a pair's value": ([["k", {"x": 1}]], [["k", {"x": 2}]], [("changed", "/k/x")]),
    "a pair at the front": ([["k", 1]], [["j", 0], ["k", 1]], [("added", "/j")]),
    "an item in the middle": ([1, 2, 3], [1, 3], [("removed", "/1")]),
    "an item that became another": (["a", "b", "c"], ["a", "x", "c"], [("changed", "/1")]),
    "a text without an id": (
        [{"from": "A", "to": "B", "text": "x"}],
        [{"from": "A", "to": "B", "text": "y"}],
        [("changed", "/0/text")],
    ),
    "another text without an id": (
        [{"from": "A", "text": "x"}],
        [{"from": "C", "text": "z"}],
        [("removed", "/0"), ("added", "/0")],
    ),
    "ids that are not unique": ([{"id": 1}, {"id": 1}], [{"id": 1}], [("removed", "/1")]),
    "an id that is true": ([{"id": True, "x": 1}], [{"id": True, "x": 2}], [("changed", "/0/x")]),
}


@pytest.mark.parametrize(("before", "after", "told"), CASES.values(), ids=CASES.keys())
def test_a_change_is_told_where_it_is(before: Any, after: Any, told: list[tuple[str, str]]) -> None:
    changes = diff(before, after)
    assert [(each.kind, pointer(each.path)) for each in changes] == told
    assert same(apply(before, changes), after)


def test_long_lists_without_ids_take_no_long_time() -> None:
    """The best matching of ten thousand items is not looked for; the changes are exact all the same."""
    before, after = list(range(10_000)), list(range(5_000, 15_000, 1))[::-1]
    assert apply(before, diff(before, after)) == after


def test_a_place_that_is_not_there_is_an_error_and_not_another_place() -> None:
    for step in (Member("b"), Item(7), Record("id", 9), Pair("z")):
        change = Change(kind="removed", path=(step,), before=1)
        for value in ({"a": 1}, [{"id": 1}], [["k", 1]]):
            with pytest.raises((LookupError, TypeError)):
                apply(value, [change])
