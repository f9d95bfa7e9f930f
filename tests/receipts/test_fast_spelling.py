"""What is written fast is what is plain to see: canonical bytes, what is refused, base64."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentbeat_protocol import CanonicalError, canonical_json
from agentbeat_receipts.base64_texts import is_base64
from agentbeat_receipts.canonical import MAX_INTEGER, canonical_bytes, check_exact, read_exact, spelled
from support.json_values import exact_values, json_texts


@given(exact_values)
@example({"\U0001f600": 1, "\ufe0f": 2, "a": 3})
@example({"\U0001f600": "\ufe0f"})
@example({"\ue000": 1, "\ud7ff": 2, "é": {"\u2028": "\x7f\x00\b"}})
def test_spelling_is_that_of_the_reference(value: Any) -> None:
    assert spelled(value) == canonical_bytes(value) == canonical_json(value)
    assert read_exact(spelled(value)) == value


@pytest.mark.parametrize("value", ["\ud800", ["a\udfff"], {"\ud800": 1}, {"\ud83d": "\U0001f600"}], ids=ascii)
def test_a_lone_surrogate_has_no_spelling(value: Any) -> None:
    with pytest.raises(CanonicalError, match="C-SURROGATE"):
        spelled(value)


class _Integer(int):
    pass


odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**54), max_value=2**54)
    | st.sampled_from(
        [MAX_INTEGER, MAX_INTEGER + 1, _Integer(3), _Integer(2**53), 0.5, float("nan"), b"", 1j]
    )
    | json_texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(json_texts | st.integers() | st.none() | st.booleans(), inner, max_size=3)
        | st.frozensets(st.integers(), max_size=1)
    ),
    max_leaves=8,
)


def _exact(value: Any, room: int) -> str | None:
    """The rule that a value breaks first, told the long way."""
    if isinstance(value, dict | list | tuple):
        if room == 0:
            return "C-DEPTH"
        if isinstance(value, dict) and any(not isinstance(name, str) for name in value):
            return "N-TYPE"
        inner = value.values() if isinstance(value, dict) else value
        return next((rule for rule in (_exact(item, room - 1) for item in inner) if rule), None)
    if value is None or isinstance(value, bool | str):
        return None
    if isinstance(value, int):
        return None if abs(value) <= MAX_INTEGER else "N-RANGE"
    return "N-TYPE"


@given(odd_values, st.integers(0, 4))
def test_what_is_not_exact_is_refused_with_the_first_rule_that_it_breaks(value: Any, room: int) -> None:
    rule = _exact(value, room)
    if rule is None:
        check_exact(value, room)
        return
    with pytest.raises(CanonicalError) as refusal:
        check_exact(value, room)
    assert refusal.value.rule == rule


@given(
    st.text(st.sampled_from("AQgwBEIZaz059+/=_- \n\u0100é"), max_size=12)
    | st.binary(max_size=9).map(lambda raw: base64.b64encode(raw).decode())
)
@example("=")
@example("====")
@example("A===")
@example("AA=A")
def test_base64_is_told_from_other_text_as_by_decoding_it(text: str) -> None:
    try:
        one_spelling = base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except (binascii.Error, ValueError):
        one_spelling = False
    assert is_base64(text) == one_spelling
