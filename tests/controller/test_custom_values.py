"""Values of a database as plain JSON: one exact form each."""

import datetime
import ipaddress
import uuid
from decimal import Decimal

import pytest

from agentbeat_controller.environments.custom.values import exact, key_text, stored


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, None),
        (True, True),
        ("text", "text"),
        (2**53 - 1, 2**53 - 1),
        (-(2**53), {"integer": "-9007199254740992"}),
        (0.1, 0.1),
        (-0.0, {"float": "-0.0"}),
        (float("nan"), {"float": "nan"}),
        (float("-inf"), {"float": "-inf"}),
        (Decimal("12.50"), "12.50"),
        (Decimal("1E+30"), "1E+30"),
        (b"\x00\xff", {"base64": "AP8="}),
        (memoryview(b"a"), {"base64": "YQ=="}),
        (datetime.date(2026, 3, 1), "2026-03-01"),
        (datetime.datetime(2026, 3, 1, 9, 30, 0, 5), "2026-03-01T09:30:00.000005"),
        (
            datetime.datetime(2026, 3, 1, 9, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            "2026-03-01T07:00:00Z",
        ),
        (datetime.time(9, 30), "09:30:00"),
        (datetime.timedelta(days=-1, microseconds=3), {"microseconds": -86399999997}),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (ipaddress.ip_address("192.0.2.1"), "192.0.2.1"),
        ([1, [b"a"]], [1, [{"base64": "YQ=="}]]),
        ({"a": Decimal("1.0")}, {"a": "1.0"}),
    ],
)
def test_a_value_has_one_exact_form(value, form):
    assert exact(value) == form
    assert type(exact(value)) is type(form)


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {1, 2}, range(3)], ids=["object", "keys", "set", "range"]
)
def test_a_value_without_an_exact_form_is_refused(value):
    with pytest.raises(ValueError, match="has no exact form"):
        exact(value)


@pytest.mark.parametrize("value", [b"\x00a", 2**70, float("inf"), datetime.timedelta(microseconds=5)])
def test_a_fixture_can_hold_what_plain_json_cannot(value):
    assert stored(exact(value)) == value


def test_a_row_is_named_by_its_key():
    assert [key_text(key) for key in [("a",), (7,), (7, "a"), (b"a",)]] == [
        "a",
        "7",
        '[7,"a"]',
        '{"base64":"YQ=="}',
    ]
