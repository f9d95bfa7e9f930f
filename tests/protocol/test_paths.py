"""Singular JSONPath queries: which texts are taken, and what they find (RFC 9535, section 2.3.5.1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from agentbeat_protocol.errors import ProtocolError
from agentbeat_protocol.evaluation import Rule
from agentbeat_protocol.evaluation.paths import ABSENT, check_path, find, json_equal
from agentbeat_protocol.models import validated

VALUE = {
    "order": {"items": [{"sku": "A-1"}, {"sku": None}], "": "no name", "0": "a name", "it's": 1, 'a"b': 2},
    "größe": "wide",
    "_x9": False,
    "tab\t": "t",
    "€": "euro",
    "😀": "grin",
    "\\": "backslash",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param("$", VALUE, id="the root"),
        pytest.param("$.order.items[0].sku", "A-1", id="names and an index"),
        pytest.param("$.order.items[-2].sku", "A-1", id="an index from the end"),
        pytest.param("$['order'][\"items\"][0]['sku']", "A-1", id="both quotes"),
        pytest.param("$.order.items[1].sku", None, id="null is found"),
        pytest.param("$._x9", False, id="underscore and digit"),
        pytest.param("$.größe", "wide", id="letters beyond ASCII"),
        pytest.param("$.order['']", "no name", id="the empty name"),
        pytest.param("$.order['0']", "a name", id="a name of digits"),
        pytest.param("$.order['it\\'s']", 1, id="an escaped single quote"),
        pytest.param('$.order["it\'s"]', 1, id="the other quote needs no escape"),
        pytest.param("$.order['a\"b']", 2, id="a double quote in single quotes"),
        pytest.param('$.order["a\\"b"]', 2, id="an escaped double quote"),
        pytest.param("$['tab\\t']", "t", id="an escaped control"),
        pytest.param("$['\\u20ac']", "euro", id="a unicode escape"),
        pytest.param("$['\\uD83D\\uDE00']", "grin", id="an escaped surrogate pair"),
        pytest.param("$['\\\\']", "backslash", id="an escaped backslash"),
        pytest.param("$ .order\n['items'] [0]\t.sku", "A-1", id="blanks between segments"),
        pytest.param("$.order.items[2]", ABSENT, id="past the end"),
        pytest.param("$.order.items[-3]", ABSENT, id="before the beginning"),
        pytest.param("$.order.items[9007199254740991]", ABSENT, id="the largest index"),
        pytest.param("$.order[0]", ABSENT, id="an index finds nothing in an object"),
        pytest.param("$.order.items['0']", ABSENT, id="a name finds nothing in an array"),
        pytest.param("$.größe[0]", ABSENT, id="an index finds nothing in a text"),
        pytest.param("$.order.items[1].sku.deeper", ABSENT, id="nothing below null"),
        pytest.param("$.nothing", ABSENT, id="no such name"),
    ],
)
def test_a_singular_query_finds_one_value_or_none(path: str, found: Any) -> None:
    assert check_path(path) == path
    assert find(path, VALUE) is found or find(path, VALUE) == found


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("", id="empty"),
        pytest.param("order", id="no root"),
        pytest.param("@.order", id="relative"),
        pytest.param(" $", id="blank before"),
        pytest.param("$ ", id="blank after"),
        pytest.param("$.order ", id="blank after a segment"),
        pytest.param("$.", id="no name"),
        pytest.param("$.9a", id="a name that begins with a digit"),
        pytest.param("$.a-b", id="a name with a hyphen"),
        pytest.param("$. a", id="a blank after the dot"),
        pytest.param("$..a", id="descendants"),
        pytest.param("$.*", id="wildcard"),
        pytest.param("$[*]", id="wildcard index"),
        pytest.param("$[0:2]", id="slice"),
        pytest.param("$[0,1]", id="two selectors"),
        pytest.param("$[?@.a]", id="filter"),
        pytest.param("$[ 0 ]", id="blanks inside the brackets"),
        pytest.param("$[01]", id="leading zero"),
        pytest.param("$[-0]", id="minus zero"),
        pytest.param("$[+1]", id="plus"),
        pytest.param("$[1.0]", id="fraction"),
        pytest.param("$[١]", id="digits beyond ASCII"),
        pytest.param("$[9007199254740992]", id="an index beyond 2^53-1"),
        pytest.param("$[-9007199254740992]", id="an index below -(2^53-1)"),
        pytest.param("$[" + "9" * 1000 + "]", id="a thousand digits"),
        pytest.param("$['a]", id="unclosed quote"),
        pytest.param("$['a'", id="unclosed bracket"),
        pytest.param("$['a\"]", id="mixed quotes"),
        pytest.param("$['a'b']", id="a bare quote"),
        pytest.param("$['\\\"']", id="the wrong quote escaped"),
        pytest.param("$['\\x41']", id="unknown escape"),
        pytest.param("$['\\uD83D']", id="half a surrogate pair"),
        pytest.param("$['\\uDE00\\uD83D']", id="a pair the wrong way round"),
        pytest.param("$['\t']", id="a bare control"),
        pytest.param("$['\ud83d']", id="a bare surrogate"),
        pytest.param("$[a]", id="a bare name"),
        pytest.param("$[]", id="nothing in the brackets"),
    ],
)
def test_what_is_no_singular_query_is_refused(path: str) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        check_path(path)
    assert refused.value.type == "S-PATH"


def test_a_rule_with_a_bad_path_is_refused_with_its_place() -> None:
    shape = {
        "rule_id": "r",
        "dimension": "utility",
        "matcher": {"kind": "json_path", "path": "$.a[*]", "equals": 1},
    }
    with pytest.raises(ProtocolError) as refused:
        validated(Rule, shape)
    assert (refused.value.rule, refused.value.path) == ("S-PATH", "/matcher/path")
    assert refused.value.expected == ".name, ['name'] or [index] at character 3"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        pytest.param(1, 1.0, True, id="a number is its value"),
        pytest.param(2**53, float(2**53), True, id="a large number is its value"),
        pytest.param(2**53 + 1, float(2**53), False, id="no rounding"),
        pytest.param(True, 1, False, id="true is not 1"),
        pytest.param(0, False, False, id="0 is not false"),
        pytest.param(True, True, True, id="true is true"),
        pytest.param(None, None, True, id="null is null"),
        pytest.param(None, False, False, id="null is not false"),
        pytest.param("1", 1, False, id="a text is no number"),
        pytest.param("é", "e\u0301", False, id="texts compare by code point"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="members have no order"),
        pytest.param({"a": 1}, {"a": 1, "b": None}, False, id="null is not absent"),
        pytest.param({"a": 1}, {"b": 1}, False, id="another name"),
        pytest.param([1, 2], [2, 1], False, id="items have an order"),
        pytest.param([1], [1, 1], False, id="another length"),
        pytest.param([{"a": [True]}], [{"a": [1]}], False, id="true is not 1 at any depth"),
        pytest.param([], {}, False, id="an array is no object"),
    ],
)
def test_json_values_are_equal_by_value_and_type(one: Any, other: Any, equal: bool) -> None:
    assert json_equal(one, other) is equal
    assert json_equal(other, one) is equal


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(NAMES | st.integers(-3, 2), max_size=6), st.integers())
def test_a_path_built_from_names_and_indexes_finds_what_was_put_there(
    segments: list[str | int], leaf: int
) -> None:
    value: Any = leaf
    path = ""
    for segment in reversed(segments):
        if isinstance(segment, str):
            value, path = {segment: value, segment + "x": None}, f"[{json.dumps(segment)}]{path}"
        else:
            items: list[Any] = [None, None, None]
            items[segment] = value
            value, path = items, f"[{segment}]{path}"
    assert find(check_path(f"${path}"), value) == leaf


@given(NAMES)
def test_a_name_means_the_same_in_either_quotes(name: str) -> None:
    double = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    single = "'" + double[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
    assert find(f"$[{double}]", {name: 1}) == find(f"$[{single}]", {name: 1}) == 1


@given(st.text("$.[]'\"\\u0019ab *-\t", max_size=20))
def test_any_text_is_taken_or_refused_and_nothing_else_is_raised(text: str) -> None:
    refused = None
    try:
        check_path(text)
    except PydanticCustomError as error:
        refused = error.type
    assert refused in (None, "S-PATH")
    if refused is None:
        find(text, VALUE)
