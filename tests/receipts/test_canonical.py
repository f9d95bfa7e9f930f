"""Exact JSON in, canonical bytes out."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol import CanonicalError, JSONError, canonical_json
from agentbeat_receipts.canonical import (
    canonical_bytes,
    canonical_set,
    nfc,
    object_digest,
    pae,
    read_exact,
)
from support.json_values import json_texts, safe_integers

exact_values = st.recursive(
    st.none() | st.booleans() | safe_integers | json_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(json_texts, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("-0.0", 0),
        ("0e5", 0),
        ("1.0", 1),
        ("1e3", 1000),
        ("1E+3", 1000),
        ("10e-1", 1),
        ("-1.50e1", -15),
        ("9007199254740991", 2**53 - 1),
        ("-9007199254740991.0", -(2**53) + 1),
        ("0.9007199254740991e16", 2**53 - 1),
        ("1." + "0" * 30, 1),
    ],
)
def test_an_integral_token_is_its_integer_however_it_is_spelled(token: str, value: int) -> None:
    read = read_exact(token.encode())
    assert (read, type(read)) == (value, int)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("0.5", "N-FRACTION", id="fraction"),
        pytest.param("1e-1", "N-FRACTION", id="fraction-by-exponent"),
        pytest.param("9007199254740993.0", "N-RANGE", id="beyond-what-a-double-keeps"),
        pytest.param("9007199254740992", "N-RANGE", id="first-too-large"),
        pytest.param("-9007199254740992", "N-RANGE", id="first-too-small"),
        pytest.param("1e16", "N-RANGE", id="large-by-exponent"),
        pytest.param("1e17", "N-TOKEN", id="exponent"),
        pytest.param("0e-17", "N-TOKEN", id="negative-exponent"),
        pytest.param("1." + "0" * 31, "N-TOKEN", id="33-characters"),
        pytest.param("1" * 33, "N-TOKEN", id="33-digits"),
        pytest.param("1e400", "J-NONFINITE", id="beyond-a-double"),
        pytest.param("NaN", "J-NONFINITE", id="nan"),
        pytest.param('{"a":1,"\\u0061":1}', "J-DUPKEY", id="duplicate-name"),
        pytest.param("\ufeff1", "J-BOM", id="byte-order-mark"),
        pytest.param('"\\ud800"', "J-SURROGATE", id="surrogate"),
    ],
)
def test_what_readers_could_take_differently_is_refused_with_its_rule(text: str, rule: str) -> None:
    with pytest.raises(JSONError) as refusal:
        read_exact(text.encode())
    assert refusal.value.rule == rule


def test_a_longer_document_than_allowed_is_refused() -> None:
    with pytest.raises(JSONError, match="J-SIZE"):
        read_exact(b"[1,2]", max_bytes=4)


@given(exact_values)
def test_the_quick_writer_writes_what_the_protocols_writer_writes(value: object) -> None:
    raw = canonical_bytes(value)
    assert raw == canonical_json(value)
    assert read_exact(raw) == value


@given(exact_values)
def test_spelling_order_and_white_space_change_no_canonical_byte(value: object) -> None:
    respelled = json.dumps(value, indent=3, ensure_ascii=True, sort_keys=False)
    assert canonical_bytes(read_exact(respelled.encode())) == canonical_bytes(value)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        pytest.param({"a": [1.0]}, "N-TYPE", id="float"),
        pytest.param({1: 2}, "N-TYPE", id="name-of-another-type"),
        pytest.param([{1, 2}], "N-TYPE", id="python-set"),
        pytest.param([2**53], "N-RANGE", id="large-integer"),
        pytest.param(["\ud800"], "C-SURROGATE", id="surrogate"),
    ],
)
def test_a_value_without_an_exact_form_is_not_written(value: object, rule: str) -> None:
    with pytest.raises(CanonicalError) as refusal:
        canonical_bytes(value)
    assert refusal.value.rule == rule


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(CanonicalError):
        canonical_bytes(value)


def test_normal_form_c_joins_what_looks_the_same_and_refuses_colliding_names() -> None:
    assert nfc({"e\u0301": ["A\u030a", 1, None]}) == {"\u00e9": ["\u00c5", 1, None]}
    with pytest.raises(CanonicalError, match="N-NFC"):
        nfc({"deep": [{"e\u0301": 1, "\u00e9": 2}]})


def test_a_set_has_one_order_and_no_element_twice() -> None:
    assert canonical_set(["b", "a", "10", "9"]) == ["10", "9", "a", "b"]
    with pytest.raises(CanonicalError, match="N-SET"):
        canonical_set([{"a": 1, "b": 2}, {"b": 2, "a": 1}])


def test_the_pre_authentication_encoding_is_dsses_own_example() -> None:
    encoded = pae("http://example.com/HelloWorld", b"hello world")
    assert encoded == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    expected = "sha256:" + hashlib.sha256(encoded).hexdigest()
    assert object_digest("http://example.com/HelloWorld", b"hello world") == expected


def test_no_two_pairs_of_type_and_body_have_one_encoding() -> None:
    assert pae("a", b"1 b") != pae("a 3", b"b")
    assert len(pae("é", b"")) == len(b"DSSEv1 2 xx 0 ")
