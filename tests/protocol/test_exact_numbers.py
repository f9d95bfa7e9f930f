"""Decimals to their last digit: what is kept as it was written, and that all else sees a double."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol import JSONError, canonical_json, read_json
from agentbeat_protocol.evaluation.numbers import MAX_WRITTEN, WrittenNumber, read_exact_json


@pytest.mark.parametrize(
    "text",
    ["0.70000000000000000001", "-0.12345678901234567890", "9007199254740993.5", "1.23456789012345678901e-7"],
)
def test_a_number_that_its_double_does_not_keep_is_kept_as_it_was_written(text: str) -> None:
    number = read_exact_json(text.encode())
    assert isinstance(number, WrittenNumber)
    assert repr(number) == text
    # Whoever does not ask for the text sees the double.
    double = read_json(text.encode())
    assert number == double
    assert (str(number), json.dumps(number)) == (str(double), json.dumps(double))
    assert canonical_json([number]) == canonical_json([double])


@pytest.mark.parametrize(
    "text",
    ["0.1", "1e-1", "0.70000000000000000000", "12345678901234567890123", "1e-400", "0." + "1" * MAX_WRITTEN],
    ids=["short", "exponent", "zeros-at-the-end", "integer", "too-small-for-a-double", "too-long"],
)
def test_every_other_number_is_read_as_ever(text: str) -> None:
    number = read_exact_json(text.encode())
    assert not isinstance(number, WrittenNumber)
    assert number == read_json(text.encode())


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 0.12345678901234567890}', "1.12345678901234567890e400", "0.12345678901234567890 1"],
)
def test_it_is_as_strict_as_the_other_reader(text: str) -> None:
    with pytest.raises(JSONError):
        read_exact_json(text.encode())


@given(st.recursive(st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists, max_leaves=5))
def test_a_value_is_the_one_that_the_other_reader_gives(value: object) -> None:
    raw = json.dumps(value).encode()
    assert read_exact_json(raw) == read_json(raw)
