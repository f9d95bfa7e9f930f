"""Instants: the grammar of RFC 3339, exact order, and nothing that `datetime` cannot hold lost."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbeat_protocol.errors import SchemaError
from agentbeat_protocol.instants import Instant
from support import cases

SECOND = 1_000_000_000
DAY = 86_400 * SECOND

#: Text, the same in UTC as `str` writes it, and its Unix nanoseconds where they are known by heart.
ACCEPTED: dict[str, tuple[str, str, int | None]] = {
    "the epoch": ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", 0),
    "before the epoch": ("1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.25Z", -750_000_000),
    "lower-case t and z": ("2026-03-01t10:00:01z", "2026-03-01T10:00:01Z", None),
    "unknown local offset": ("2026-03-01T10:00:01-00:00", "2026-03-01T10:00:01Z", None),
    "offset of half an hour": ("1970-01-01T09:30:01+09:30", "1970-01-01T00:00:01Z", SECOND),
    "negative offset of half an hour": ("1969-12-31T20:30:00-03:30", "1970-01-01T00:00:00Z", 0),
    "largest offset": ("1970-01-01T23:59:00+23:59", "1970-01-01T00:00:00Z", 0),
    "smallest offset": ("1970-01-01T00:00:00-23:59", "1970-01-01T23:59:00Z", DAY - 60 * SECOND),
    "29 February of a leap year": ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z", None),
    "29 February 2000": ("2000-02-29T23:59:59Z", "2000-02-29T23:59:59Z", None),
    "29 February 0000": ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z", None),
    "offset over a leap day": ("2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z", None),
    "offset over a February of 28 days": ("2026-02-28T23:30:00-01:00", "2026-03-01T00:30:00Z", None),
    "nanoseconds": ("2026-03-01T10:00:01.123456789Z", "2026-03-01T10:00:01.123456789Z", None),
    "zeros at the end": ("2026-03-01T10:00:01.5000Z", "2026-03-01T10:00:01.5Z", None),
    "zeros only": ("2026-03-01T10:00:01.000Z", "2026-03-01T10:00:01Z", None),
    "fifteen digits": ("2026-03-01T10:00:01.100000000999999Z", "2026-03-01T10:00:01.1Z", None),
    "5000 digits": (f"1970-01-01T00:00:00.{'1' * 5000}Z", "1970-01-01T00:00:00.111111111Z", 111_111_111),
    "first instant of year 0000": ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", -719_528 * DAY),
    "UTC year before 0000": ("0000-01-01T00:00:00+23:59", "0000-01-01T00:00:00+23:59", None),
    "UTC year after 9999": ("9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59-23:59", None),
    "leap second": ("2016-12-31T23:59:60Z", "2016-12-31T23:59:60Z", 1_483_228_800 * SECOND),
    "leap second with a fraction": (
        "2016-12-31T23:59:60.5Z",
        "2016-12-31T23:59:60.5Z",
        1_483_228_800 * SECOND,
    ),
    "leap second in Tokyo": ("2017-01-01T08:59:60+09:00", "2016-12-31T23:59:60Z", None),
    "leap second west of Greenwich": ("2016-12-31T15:59:60-08:00", "2016-12-31T23:59:60Z", None),
    "leap second at the end of a February": ("2024-02-29T23:59:60Z", "2024-02-29T23:59:60Z", None),
    "leap second nobody announced": ("2026-06-30T23:59:60Z", "2026-06-30T23:59:60Z", None),
    "leap second at the end of all years": ("9999-12-31T23:59:60Z", "9999-12-31T23:59:60Z", None),
}

#: More stand in the case file, below.
REFUSED = {
    "nothing": "",
    "a word": "now",
    "no offset": "2026-03-01T10:00:01",
    "date only": "2026-03-01",
    "no seconds": "2026-03-01T10:00Z",
    "space for T": "2026-03-01 10:00:01Z",
    "space before Z": "2026-03-01T10:00:01 Z",
    "space around": " 2026-03-01T10:00:01Z",
    "trailing newline": "2026-03-01T10:00:01Z\n",
    "day of the year": "2026-060T10:00:01Z",
    "year of five digits": "12026-03-01T10:00:01Z",
    "signed year": "-2026-03-01T10:00:01Z",
    "month 00": "2026-00-01T10:00:01Z",
    "month 13": "2026-13-01T10:00:01Z",
    "day 00": "2026-03-00T10:00:01Z",
    "31 April": "2026-04-31T10:00:01Z",
    "32 December": "2026-12-32T10:00:01Z",
    "29 February of a common year": "2026-02-29T10:00:01Z",
    "29 February 1900": "1900-02-29T10:00:01Z",
    "30 February": "2024-02-30T10:00:01Z",
    "hour 24": "2026-03-01T24:00:00Z",
    "minute 60": "2026-03-01T10:60:00Z",
    "fraction without digits": "2026-03-01T10:00:01.Z",
    "comma for the point": "2026-03-01T10:00:01,5Z",
    "fraction of a minute": "2026-03-01T10:00.5Z",
    "offset hour 24": "2026-03-01T10:00:01+24:00",
    "offset minute 60": "2026-03-01T10:00:01+00:60",
    "Z and offset": "2026-03-01T10:00:01Z+00:00",
    "full-width digits": "２０２６-03-01T10:00:01Z",
    "leap second on a wrong minute": "2016-12-31T23:58:60Z",
    "leap second on a wrong hour": "2016-12-31T22:59:60Z",
    "leap second whose UTC minute is 58": "2016-12-31T23:59:60+00:01",
    "leap second whose UTC minute is 00": "2016-12-31T23:59:60-00:01",
    "leap second in mid-month": "2026-03-15T23:59:60Z",
    "leap second on 28 February of a leap year": "2024-02-28T23:59:60Z",
    "leap second of a month end in local time only": "2016-12-31T23:59:60+09:00",
}

#: Strictly rising.
ORDER = [
    "0000-01-01T00:00:00+23:59",
    "0000-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z",
    "2016-12-31T23:59:59Z",
    "2016-12-31T23:59:59.999999999999Z",
    "2016-12-31T23:59:60Z",
    "2017-01-01T08:59:60.25+09:00",
    "2016-12-31T23:59:60.5Z",
    "2016-12-31T23:59:60.50001Z",
    "2017-01-01T00:00:00Z",
    "2017-01-01T00:00:00.000000001Z",
    f"2017-01-01T00:00:00.{'1' * 5000}Z",
    f"2017-01-01T00:00:00.{'1' * 4999}2Z",
    "2017-01-01T00:00:00.2Z",
    "9999-12-31T23:59:60Z",
    "9999-12-31T23:59:59-23:59",
]


@pytest.mark.parametrize(("text", "utc", "nanoseconds"), ACCEPTED.values(), ids=ACCEPTED)
def test_reads_every_time_of_rfc_3339(text: str, utc: str, nanoseconds: int | None) -> None:
    """The text is kept as it was written; `str` gives the same instant in UTC, to the nanosecond."""
    instant = Instant.parse(text)
    assert (instant.text, str(instant)) == (text, utc)
    if nanoseconds is not None:
        assert instant.unix_nanoseconds == nanoseconds


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_refuses_what_is_no_time(text: str) -> None:
    """S-DATETIME; what stood there is described, not repeated."""
    with pytest.raises(SchemaError) as caught:
        Instant.parse(text)
    assert caught.value.rule == "S-DATETIME"
    assert not text.strip() or text not in str(caught.value)


DATETIME_CASES = [c for c in cases.load("evidence_cases.jsonl") if c["rule"] == "S-DATETIME"]


@pytest.mark.parametrize("case", DATETIME_CASES, ids=lambda case: case["id"])
def test_evidence_lines_about_times(case: dict[str, Any]) -> None:
    """Every S-DATETIME line of the case file is decided here already."""
    document = case["document"]
    texts = [document["started_at"], document["finished_at"], *(e["occurred_at"] for e in document["events"])]
    if case["expect"] == "accept":
        assert [Instant.parse(text).text for text in texts] == texts
    else:
        with pytest.raises(SchemaError, match="S-DATETIME"):
            [Instant.parse(text) for text in texts]


def test_order_is_exact() -> None:
    """Each pair of the rising list compares the right way with every operator, and durations agree."""
    instants = [Instant.parse(text) for text in ORDER]
    for i, earlier in enumerate(instants):
        for later in instants[i + 1 :]:
            assert earlier < later
            assert later > earlier
            assert earlier <= later
            assert later >= earlier
            assert earlier != later
            assert later.nanoseconds_since(earlier) >= 0
    assert sorted(set(instants)) == instants


def test_equal_instants_are_equal_however_written() -> None:
    """Offset, letters and trailing zeros do not count, for equality and for hashing."""
    spellings = ["2026-03-01T10:00:00Z", "2026-03-01t10:00:00.000z", "2026-03-01T19:30:00+09:30"]
    assert len({Instant.parse(text) for text in spellings}) == 1
    assert spellings[0] not in {Instant.parse(spellings[0])}
    with pytest.raises(TypeError):
        assert Instant.parse(spellings[0]) < spellings[1]  # type: ignore[operator]


def test_instants_are_values() -> None:
    """Frozen, and the same after copying and pickling."""
    instant = Instant.parse("2016-12-31T23:59:60.5Z")
    with pytest.raises(dataclasses.FrozenInstanceError):
        instant.second = 0  # type: ignore[misc]
    for twin in (copy.deepcopy(instant), pickle.loads(pickle.dumps(instant))):
        assert (twin, twin.text) == (instant, instant.text)


def test_durations_are_whole_nanoseconds() -> None:
    """Exact across offsets, days and leap days; negative when the order is the other way round."""
    start = Instant.parse("2024-02-28T23:59:59.999999999Z")
    end = Instant.parse("2024-03-01T01:00:00+01:00")
    assert end.nanoseconds_since(start) == DAY + 1
    assert start.nanoseconds_since(end) == -DAY - 1


def test_unix_time_stands_still_in_a_leap_second() -> None:
    """All of the second 60 counts as the midnight that follows it."""
    midnight = Instant.parse("2017-01-01T00:00:00Z")
    for text in ("2016-12-31T23:59:60Z", "2016-12-31T23:59:60.999Z"):
        assert midnight.nanoseconds_since(Instant.parse(text)) == 0
    assert midnight.nanoseconds_since(Instant.parse("2016-12-31T23:59:59.5Z")) == SECOND // 2


def test_now_is_the_system_clock() -> None:
    """Between two readings of the clock, and written so that it reads back."""
    before = time.time_ns()
    now = Instant.now()
    assert before <= now.unix_nanoseconds <= time.time_ns()
    assert Instant.parse(now.text) == now


@pytest.mark.parametrize("nanoseconds", [-719_528 * DAY - 1, 2_932_897 * DAY], ids=["year -1", "year 10000"])
def test_from_nanoseconds_stays_within_four_digit_years(nanoseconds: int) -> None:
    """One nanosecond beyond the years that RFC 3339 writes is refused; the last one inside is not."""
    inside = nanoseconds + 1 if nanoseconds < 0 else nanoseconds - 1
    assert Instant.from_nanoseconds(inside).unix_nanoseconds == inside
    with pytest.raises(ValueError, match="years 0000 to 9999"):
        Instant.from_nanoseconds(nanoseconds)


@given(st.integers(-719_528 * DAY, 2_932_897 * DAY - 1))
def test_text_and_nanoseconds_round_trip(nanoseconds: int) -> None:
    """Every nanosecond of the years 0000 to 9999 is written and read back as itself."""
    instant = Instant.from_nanoseconds(nanoseconds)
    assert instant.unix_nanoseconds == nanoseconds
    assert instant.text == str(instant)
    assert Instant.parse(instant.text) == instant


def test_every_year_begins_where_the_last_one_ended() -> None:
    """The calendar has no gap and no overlap, and `str` gives first and last days as they were read."""
    previous = Instant.parse("0000-01-01T00:00:00Z").unix_nanoseconds - DAY
    for year in range(10_000):
        start = Instant.parse(f"{year:04d}-01-01T00:00:00Z")
        last_day = Instant.parse(f"{year:04d}-12-31T00:00:00Z")
        assert (str(start), str(last_day)) == (start.text, last_day.text)
        assert start.unix_nanoseconds == previous + DAY
        previous = last_day.unix_nanoseconds


OFFSETS = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(timezones=OFFSETS)


@given(TIMES, TIMES)
def test_order_agrees_with_datetime(one: datetime, other: datetime) -> None:
    """Wherever `datetime` can express both, order and difference are the same."""
    first, second = Instant.parse(one.isoformat()), Instant.parse(other.isoformat())
    assert (first < second, first == second) == (one < other, one == other)
    assert first.nanoseconds_since(second) == (one - other) // timedelta(microseconds=1) * 1000


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=OFFSETS))
def test_utc_text_agrees_with_datetime(moment: datetime) -> None:
    """`str` names the same UTC date and time."""
    assert datetime.fromisoformat(str(Instant.parse(moment.isoformat()))) == moment.astimezone(UTC)


@given(st.text() | st.text(alphabet="0123456789-:.+TtZz", min_size=19, max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but `SchemaError` comes out."""
    try:
        instant = Instant.parse(text)
    except SchemaError:
        return
    assert instant.text == text


DIGITS = st.text(alphabet="0123456789", min_size=1, max_size=40)


@given(DIGITS, DIGITS)
def test_fractions_compare_as_numbers(one: str, other: str) -> None:
    """However many digits there are, and with any zeros at the end."""
    first, second = (Instant.parse(f"2026-03-01T10:00:00.{digits}Z") for digits in (one, other))
    as_numbers = [int(digits.ljust(40, "0")) for digits in (one, other)]
    assert (first < second, first == second) == (
        as_numbers[0] < as_numbers[1],
        as_numbers[0] == as_numbers[1],
    )
