"""What the models of all messages are made of: instants in members, and pointers in errors."""

from __future__ import annotations

import pytest

from agentbeat_protocol.errors import SchemaError, json_pointer
from agentbeat_protocol.instants import Instant
from agentbeat_protocol.models import Array, At, Strict, validated


class Stay(Strict):
    """A message with an instant, on its own and in an array."""

    begins: At
    visits: Array[At] = ()


def test_an_instant_of_a_message_keeps_its_spelling() -> None:
    """Digests are over the text, comparisons over the time."""
    text = "2017-01-01t08:59:60.50+09:00"
    stay = validated(Stay, {"begins": text})
    assert stay.begins == Instant.parse("2016-12-31T23:59:60.5Z")
    assert stay.model_dump(mode="json", exclude_unset=True) == {"begins": text}
    assert Stay.model_json_schema()["properties"]["begins"] == {
        "format": "date-time",
        "title": "Begins",
        "type": "string",
    }


@pytest.mark.parametrize(
    ("value", "rule"),
    [("2026-02-29T00:00:00Z", "S-DATETIME"), (1772359201, "S-TYPE"), (None, "S-TYPE")],
    ids=["no such day", "a Unix time", "null"],
)
def test_what_is_no_instant_is_refused_at_its_place_without_its_value(value: object, rule: str) -> None:
    with pytest.raises(SchemaError) as caught:
        validated(Stay, {"begins": "2026-03-01T00:00:00Z", "visits": ["2026-03-01T00:00:00Z", value]})
    assert (caught.value.rule, caught.value.path) == (rule, "/visits/1")
    assert "2026" not in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "pointer"),
    [
        ([], ""),
        (["events", 0, "data"], "/events/0/data"),
        (["a/b", "~1", ""], "/a~1b/~01/"),
        (["n" * 65], "/" + "n" * 63 + "…"),
        (["/" * 64], "/" + "~1" * 31 + "~…"),
        (["a\r\nb"], "/a\\r\\nb"),
    ],
    ids=["the document", "names and indexes", "escapes", "a long name", "a long name of slashes", "controls"],
)
def test_a_pointer_says_where_and_repeats_little_of_a_name(parts: list[str | int], pointer: str) -> None:
    """INV-10: at most 64 characters for a member name, its escapes counted."""
    assert json_pointer(parts) == pointer
