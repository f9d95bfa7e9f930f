"""Exact points in time, as RFC 3339 writes them (EVD-4, EVD-12).

An `Instant` keeps what the text says and compares without rounding: any number of fraction digits, offsets up
to ±23:59, years 0000 to 9999 and the UTC years beside them that an offset leads to. No float and no
`datetime` is involved: neither holds year 0000, a leap second or a nanosecond.

The second 60 is a time where the UTC minute is the last one of a month, announced or not: leap seconds are
announced after software ships. It lies between 23:59:59 and the next midnight.

>>> start, end = Instant.parse("2026-03-01T10:00:00+09:00"), Instant.parse("2026-03-01T02:00:00.5Z")
>>> start < end, end.nanoseconds_since(start)
(True, 3600500000000)
>>> str(start), start.text
('2026-03-01T01:00:00Z', '2026-03-01T10:00:00+09:00')
>>> Instant.parse("2026-02-29T10:00:00Z")  # doctest: +ELLIPSIS
Traceback (most recent call last):
agentbeat_protocol.errors.SchemaError: S-DATETIME at the document: got day 29 of month 2, expected ...
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Final

from agentbeat_protocol.errors import SchemaError

__all__ = ["Instant"]

_EXPECTED: Final = "an RFC 3339 date-time with an offset"

_GRAMMAR: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)

_NANOSECONDS: Final = 1_000_000_000
_MINUTES_PER_DAY: Final = 24 * 60
_DAYS_PER_400_YEARS: Final = 146_097

# Of a common year: the days of each month, and the days before it.
_DAYS_IN: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_BEFORE: Final = (0, *accumulate(_DAYS_IN[:-1]))


@dataclass(frozen=True, order=True, slots=True)
class Instant:
    """A point in time, compared and hashed by when it is, not by how it was written.

    Made by `parse`, `now` and `from_nanoseconds`. The fields are the position in UTC, most significant first.
    """

    #: Minutes since 1970-01-01T00:00Z in the proleptic Gregorian calendar; negative before.
    minute: int
    #: Seconds into the minute, 0 to 59, or 60 in a leap second.
    second: int
    #: The digits after the decimal point without trailing zeros, which compare as text as their values do.
    fraction: str
    #: The RFC 3339 text that this instant was read from or would be written as.
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> Instant:
        """The instant that an RFC 3339 `date-time` names; the whole text must match, in ASCII.

        Raises:
            SchemaError: S-DATETIME, with what is wrong but not the text.
        """
        match = _GRAMMAR.fullmatch(text)
        if match is None:
            raise _error(f"{len(text)} characters of another form")
        date, hour, minute, second, fraction, sign, offset_hour, offset_minute = match.groups()
        position = _date_minutes(date) + _clock_minutes(hour, minute)
        if sign:
            position -= _offset_minutes(sign, offset_hour, offset_minute)
        seconds = int(second)
        if seconds > 59:
            _check_leap_second(seconds, position)
        return cls(position, seconds, fraction.rstrip("0") if fraction else "", text)

    @classmethod
    def now(cls) -> Instant:
        """The system clock's time, to the nanosecond as far as it ticks so finely."""
        return cls.from_nanoseconds(time.time_ns())

    @classmethod
    def from_nanoseconds(cls, nanoseconds: int) -> Instant:
        """The instant so many nanoseconds after 1970-01-01T00:00:00Z, leap seconds not counted.

        Raises:
            ValueError: outside the years 0000 to 9999, which RFC 3339 cannot write.
        """
        seconds, rest = divmod(nanoseconds, _NANOSECONDS)
        minute, second = divmod(seconds, 60)
        fraction = f"{rest:09d}".rstrip("0")
        text = _utc_text(minute, second, fraction)
        if text is None:
            raise ValueError(
                "got a time outside the years 0000 to 9999, expected one that RFC 3339 can write"
            )
        return cls(minute, second, fraction, text)

    @property
    def unix_nanoseconds(self) -> int:
        """Nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted.

        Digits beyond the ninth are cut off. Unix time has no place for a leap second: all of it counts as the
        midnight that follows, so that a later instant never has a smaller number.
        """
        whole = (self.minute * 60 + self.second) * _NANOSECONDS
        return whole if self.second == 60 else whole + int(f"{self.fraction[:9]:0<9}")

    def nanoseconds_since(self, other: Instant) -> int:
        """`unix_nanoseconds` of this instant less those of `other`; never negative when this is the later."""
        return self.unix_nanoseconds - other.unix_nanoseconds

    def __str__(self) -> str:
        """RFC 3339 in UTC with `Z`, at most nine fraction digits (the rest cut off) and no trailing zero.

        An instant whose UTC year RFC 3339 cannot write is given as it was read.
        """
        return _utc_text(self.minute, self.second, self.fraction[:9].rstrip("0")) or self.text


# The instants of one document share a few dates.
@lru_cache(maxsize=64)
def _date_minutes(date: str) -> int:
    year, month, day = map(int, date.split("-"))
    if not 1 <= month <= 12:
        raise _error(f"month {month}")
    if not 1 <= day <= (29 if month == 2 and _is_leap(year) else _DAYS_IN[month - 1]):
        raise _error(f"day {day} of month {month}")
    return _day_number(year, month, day) * _MINUTES_PER_DAY


def _clock_minutes(hour: str, minute: str) -> int:
    hours, minutes = int(hour), int(minute)
    if hours > 23:
        raise _error(f"hour {hours}")
    if minutes > 59:
        raise _error(f"minute {minutes}")
    return hours * 60 + minutes


def _offset_minutes(sign: str, hour: str, minute: str) -> int:
    hours, minutes = int(hour), int(minute)
    if hours > 23 or minutes > 59:
        raise _error(f"an offset of {hours} hours and {minutes} minutes")
    return hours * 60 + minutes if sign == "+" else -hours * 60 - minutes


def _check_leap_second(second: int, minute: int) -> None:
    if second > 60:
        raise _error(f"second {second}")
    if not _ends_a_month(minute):
        raise _error("second 60 outside the last UTC minute of a month")


def _error(got: str) -> SchemaError:
    return SchemaError("S-DATETIME", got=got, expected=_EXPECTED)


def _day_number(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the proleptic Gregorian calendar; any year, 0 and below too."""
    leap_day = 1 if month > 2 and _is_leap(year) else 0
    return _days_to_year(year) - _EPOCH + _DAYS_BEFORE[month - 1] + leap_day + day - 1


def _days_to_year(year: int) -> int:
    """Days from 0000-01-01 to 1 January of `year`."""
    # Leap years before `year`, counted from year 0, which is one: floor division rounds up after adding.
    return 365 * year + (year + 3) // 4 - (year + 99) // 100 + (year + 399) // 400


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


_EPOCH: Final = _days_to_year(1970)


def _date(day_number: int) -> tuple[int, int, int]:
    """Year, month and day of the month; the inverse of `_day_number`."""
    days = day_number + _EPOCH
    # The guess from the mean length of a year is off by one at most.
    year = days * 400 // _DAYS_PER_400_YEARS
    if days < _days_to_year(year):
        year -= 1
    elif days >= _days_to_year(year + 1):
        year += 1
    rest = days - _days_to_year(year)
    if _is_leap(year):
        if rest == 59:
            return year, 2, 29
        rest -= rest > 59
    month = bisect_right(_DAYS_BEFORE, rest)
    return year, month, rest - _DAYS_BEFORE[month - 1] + 1


def _ends_a_month(minute: int) -> bool:
    """Whether the next minute begins a month."""
    day, minute_of_day = divmod(minute + 1, _MINUTES_PER_DAY)
    return minute_of_day == 0 and _date(day)[2] == 1


def _utc_text(minute: int, second: int, fraction: str) -> str | None:
    """RFC 3339 with `Z`; None for a year that has no four digits."""
    start = _minute_text(minute)
    if start is None:
        return None
    return f"{start}:{second:02d}.{fraction}Z" if fraction else f"{start}:{second:02d}Z"


# Whoever tells the present time does so many times a minute.
@lru_cache(maxsize=64)
def _minute_text(minute: int) -> str | None:
    day_number, minute_of_day = divmod(minute, _MINUTES_PER_DAY)
    year, month, day = _date(day_number)
    if not 0 <= year <= 9999:
        return None
    hour, minute_of_hour = divmod(minute_of_day, 60)
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute_of_hour:02d}"
