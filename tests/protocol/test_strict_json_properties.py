"""`read_json` over generated documents, sound and damaged; `json.loads` says what both should read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol.errors import JSONError
from agentbeat_protocol.strict_json import read_json
from support.json_values import json_texts, json_values


def refusal(raw: bytes, **limits: int) -> JSONError:
    with pytest.raises(JSONError) as caught:
        read_json(raw, **limits)
    return caught.value


@given(json_values, st.booleans())
def test_reads_back_what_json_writes(value: Any, ascii_only: bool) -> None:
    """Both spellings of text give the same value, with the same types."""
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert repr(read_json(raw)) == repr(value)


@given(st.binary() | st.text().map(str.encode) | st.text(alphabet='[]{}",:\\ud8c0e-1.NaI').map(str.encode))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    """Nothing but `JSONError` comes out, and what is read is what `json` reads."""
    try:
        value = read_json(raw)
    except JSONError:
        return
    assert repr(value) == repr(json.loads(raw))


@given(json_values.map(lambda value: json.dumps(value).encode()), st.data())
def test_damaged_documents_are_read_or_refused(raw: bytes, data: st.DataObject) -> None:
    """The same for documents that are almost JSON: bytes lost, doubled or put in."""
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(raw))] * 2)))
    inserted = data.draw(
        st.sampled_from([b"", b"\\", b'"', b"[", b"\xff", b"\\ud800", b"1e999", raw[start:end]])
    )
    damaged = raw[:start] + inserted + raw[end:]
    try:
        value = read_json(damaged)
    except JSONError:
        return
    assert repr(value) == repr(json.loads(damaged))


@given(json_values, st.integers(1, 12))
def test_depth_is_that_of_the_value(value: Any, extra: int) -> None:
    """The scan of the bytes and a walk of the value agree, whatever brackets and quotes the strings hold."""
    for _ in range(extra):
        value = {"]}\\": [value]}
    raw = json.dumps(value, ensure_ascii=False).encode()
    depth = depth_of(value)
    assert read_json(raw, max_depth=depth) == value
    assert refusal(raw, max_depth=depth - 1).got == f"{depth} levels"


def depth_of(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth_of, value.values() if isinstance(value, dict) else value), default=0)


@given(st.lists(st.sampled_from([r"\ud83d", r"\ude00", r"\\", r"\n", "x", "ud83d", r"\uD800", r"\uDFFF"])))
def test_surrogates_are_paired_as_json_pairs_them(units: list[str]) -> None:
    """A string is refused exactly when decoding it leaves half a pair."""
    raw = f'["{"".join(units)}"]'.encode()
    decoded = json.loads(raw)
    if any("\ud800" <= character <= "\udfff" for character in decoded[0]):
        assert refusal(raw).rule == "J-SURROGATE"
    else:
        assert read_json(raw) == decoded


@given(st.lists(st.tuples(json_texts, st.booleans()), min_size=1, max_size=6))
def test_names_are_compared_by_what_they_mean(names: list[tuple[str, bool]]) -> None:
    """Members are refused exactly when two names are equal, however they are spelt."""
    members = ",".join(f"{json.dumps(name, ensure_ascii=ascii_only)}:1" for name, ascii_only in names)
    raw = f"[{{{members}}}]".encode()
    if len({name for name, _ in names}) < len(names):
        assert refusal(raw).rule == "J-DUPKEY"
    else:
        assert read_json(raw) == json.loads(raw)
