"""INV-5: no spelling of a metadata member configures the Target's runtime; INV-3: the shape of metadata."""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

import pytest

from agentbeat_protocol.errors import ProtocolError
from agentbeat_protocol.overrides import MAX_METADATA_DEPTH, check_metadata
from support.cases import load, request_bytes


def metadata_of(line: dict[str, Any]) -> Any:
    body = request_bytes(line).partition(b"\r\n\r\n")[2]
    return json.loads(body)["metadata"]


LINES = {line["id"]: line for line in load("invocations.jsonl")}
OVERRIDES = [line for line in LINES.values() if line["rule"] == "O-OVERRIDE"]
BAD_SHAPES = ["inv-152", "inv-154", "inv-155"]
GOOD = ["inv-003", "inv-017", "inv-019"]


def refusal(metadata: object) -> ProtocolError:
    before = copy.deepcopy(metadata)
    with pytest.raises(ProtocolError) as caught:
        check_metadata(metadata)
    assert metadata == before
    assert caught.value.status == 400
    return caught.value


def nested(levels: int, *, innermost: Any = 1, by: str = "object") -> Any:
    """`levels` containers one inside the other, the outermost an object."""
    value = innermost
    for _ in range(levels - 1):
        value = {"a": value} if by == "object" else [value]
    return {"a": value}


class TestLinesOfTheCaseFile:
    def test_all_override_lines_are_here(self) -> None:
        assert len(OVERRIDES) == 18

    @pytest.mark.parametrize("line", OVERRIDES, ids=lambda line: line["id"])
    def test_an_override_is_refused(self, line: dict[str, Any]) -> None:
        error = refusal(metadata_of(line))
        assert (error.code, error.rule) == ("runtime_override_forbidden", "INV-5")

    @pytest.mark.parametrize("line_id", BAD_SHAPES)
    def test_a_bad_shape_is_refused(self, line_id: str) -> None:
        error = refusal(metadata_of(LINES[line_id]))
        assert (error.code, error.rule) == ("invalid_metadata", "INV-3")

    @pytest.mark.parametrize("line_id", GOOD)
    def test_good_metadata_passes(self, line_id: str) -> None:
        check_metadata(metadata_of(LINES[line_id]))


class TestMetadata:
    @pytest.mark.parametrize("value", [None, [], [{}], "", "model", 0, 1.5, True], ids=repr)
    def test_what_is_no_object_is_invalid(self, value: object) -> None:
        error = refusal(value)
        assert (error.code, error.rule, error.path) == ("invalid_metadata", "INV-3", "/metadata")

    def test_values_may_say_anything(self) -> None:
        check_metadata(
            {"note": "model=gpt", "tags": ["api_key", "secret", ["tools"]], "n": [None, True, 1.5]}
        )

    @pytest.mark.parametrize(
        ("metadata", "path"),
        [
            ({"model": 1}, "/metadata/model"),
            ({"a": {"b": {"cwd": 1}}}, "/metadata/a/b/cwd"),
            ({"a": [0, [{"b": 1}, {"tools": []}]]}, "/metadata/a/1/1/tools"),
            ({"a/b~c": {"api key": 1}}, "/metadata/a~1b~0c/api key"),
            ({"a": {"key": 1}, "model": 1}, "/metadata/a/key"),
        ],
    )
    def test_an_override_is_found_at_any_depth_and_named(self, metadata: object, path: str) -> None:
        error = refusal(metadata)
        assert (error.code, error.rule, error.path) == ("runtime_override_forbidden", "INV-5", path)

    def test_an_override_at_the_last_level_is_found(self) -> None:
        assert refusal(nested(MAX_METADATA_DEPTH - 1, innermost={"key": 1})).rule == "INV-5"

    @pytest.mark.parametrize("by", ["object", "array"])
    def test_eight_levels_pass_and_nine_do_not(self, by: str) -> None:
        check_metadata(nested(8, by=by))
        check_metadata(nested(7, by=by, innermost=[]))
        for innermost in (1, {}, []):
            error = refusal(nested(9, by=by, innermost=innermost))
            assert (error.code, error.rule) == ("invalid_metadata", "INV-3")
        assert refusal(nested(8, by=by, innermost={})).rule == "INV-3"

    def test_nesting_of_any_depth_is_refused_without_exhausting_the_stack(self) -> None:
        deep: Any = {}
        for _ in range(5 * sys.getrecursionlimit()):
            deep = {"a": deep}
        with pytest.raises(ProtocolError, match="INV-3"):
            check_metadata(deep)
        while deep:  # taken apart by hand, or the interpreter would recurse to free it
            deep = deep["a"]

    def test_the_message_holds_no_value_and_at_most_64_characters_of_a_name(self) -> None:
        error = refusal({"n" * 200: {"model/" + "x" * 100 + "\n": "hush"}})
        message = error.envelope()["error"]["message"]
        assert "hush" not in message + str(error)
        assert "\n" not in message
        assert max(map(len, error.path.split("/"))) == 64
        assert "n" * 64 not in message

    def test_the_path_is_the_callers(self) -> None:
        with pytest.raises(ProtocolError) as caught:
            check_metadata({"model": 1}, path="/extra/metadata")
        assert caught.value.path == "/extra/metadata/model"
