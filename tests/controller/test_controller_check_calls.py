"""What a check makes of a ground truth's calls: other arguments, and requests."""

import pytest

from agentbeat_controller.checking.alterations import alternatives
from agentbeat_controller.checking.routes import Route


@pytest.mark.parametrize(
    ("value", "schema", "some"),
    [
        ("ORD-1003", {}, "ORD-1004"),
        ("2026-03-01", {}, "2026-03-02"),
        ("page 09", {}, "page 10"),
        ("A-0", {}, "A-1"),
        ("ada@example.org", {}, "ada.other@example.org"),
        ("hello", {}, "hello something else"),
        ("", {}, "something else"),
        (True, {}, False),
        (7, {"maximum": 7}, 6),
        (0, {"minimum": 0}, 1),
        (1.5, {}, 2.5),
        ("a", {"enum": ["a", "b"]}, "b"),
        ("a", {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}, "b"),
        (["x1"], {"items": {}}, ["x2"]),
        ([], {}, ["something else"]),
        ({"a": 1}, {}, {"a": 2}),
        (None, {}, 1),
    ],
)
def test_an_argument_has_other_values_and_never_itself(value, schema, some):
    others = list(alternatives(value, schema))
    assert some in others
    assert not any(type(other) is type(value) and other == value for other in others)


def test_an_only_choice_has_no_other():
    assert list(alternatives("a", {"enum": ["a"]})) == []


@pytest.mark.parametrize(
    ("method", "arguments", "request_"),
    [
        ("GET", {"id": "a/b", "q": "x y", "n": 1}, ("GET", "/a%2Fb", "q=x+y&n=1", b"")),
        ("POST", {"id": "7", "q": "x"}, ("POST", "/7", "", b'{"q": "x"}')),
    ],
)
def test_a_call_becomes_a_request(method, arguments, request_):
    route = Route(method, "/{id}", frozenset({"id"}), frozenset({"q"}), {})
    assert route.request(arguments) == request_
