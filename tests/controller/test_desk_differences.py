"""Differences between two values, and the matchers that judge one: nothing is lost, nothing is confused."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from agentbeat_controller.environments.desk.differences import ABSENT, differences, excerpt
from agentbeat_controller.environments.desk.effects import AnyText, Contains, Exactly, OneOf
from support.json_values import json_values


@given(json_values)
def test_a_value_does_not_differ_from_its_copy(value: Any) -> None:
    assert differences(value, copy.deepcopy(value)) == ()


@given(json_values, json_values)
def test_differences_turn_the_first_value_into_the_second(old: Any, new: Any) -> None:
    """Nothing is lost: applied to the old value, the differences give the new one."""
    result = copy.deepcopy(old)
    for each in differences(old, new):
        if not each.path:
            result = each.after
            continue
        *parents, last = each.path
        target = result
        for part in parents:
            target = target[part]
        if each.after is ABSENT:
            del target[last]
        else:
            target[last] = each.after
    assert differences(result, new) == ()


def test_a_very_deep_value_is_compared_without_recursion() -> None:
    def deep(leaf: int) -> Any:
        value: Any = leaf
        for _ in range(20_000):
            value = {"a": [value]}
        return value

    # Compared inside lists too; the values are taken apart again without recursion.
    assert differences({"a": 1}, {"a": 1.0}) == ()
    assert len(differences({"v": deep(1)}, {"v": deep(2)})) == 1


@pytest.mark.parametrize(
    ("matcher", "yes", "no"),
    [
        (Exactly("solved"), ["solved"], ["Solved", "", None, 1]),
        (Exactly(1), [1], [True, 1.0, "1"]),
        (Exactly(None), [None], ["", 0]),
        (OneOf((None, "TCK-7")), [None, "TCK-7"], ["TCK-8", 0]),
        (AnyText(), ["x", " x "], ["", " \n", None, 1]),
        (Contains("ORD-1011"), ["about ord 1011"], ["ORD-101", None, 1011]),
    ],
    ids=["text", "integer", "null", "one of", "any text", "contains"],
)
def test_matchers(matcher: Any, yes: list[Any], no: list[Any]) -> None:
    assert all(matcher.matches(value) for value in yes)
    assert not any(matcher.matches(value) for value in no)


def test_an_excerpt_says_that_it_is_cut() -> None:
    assert excerpt("x" * 500) == "x" * 199 + "…"
    assert len(excerpt(list(range(100)))) == 20
    assert excerpt({"a": [{"b": [{"c": [{"d": 1}]}]}]}) == {"a": [{"b": [{"c": ["…"]}]}]}
