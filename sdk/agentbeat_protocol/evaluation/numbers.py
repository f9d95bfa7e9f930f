"""Decimals to their last digit, where a verdict depends on it.

`read_json` gives doubles, which keep 17 digits at most: a weight of 0.70000000000000000001 would be read as
0.7, and a judge's 0.49999999999999999999 as one half. `read_exact_json` gives the same value, but a number
that its double does not keep is a `WrittenNumber`: a double in all but its `repr`, which is the number as it
was written. `ExactDecimal` is made from that.

>>> weights = read_exact_json(b"[0.70000000000000000001, 0.7]")
>>> weights[0] == weights[1], weights
(True, [0.70000000000000000001, 0.7])
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Final, cast

from agentbeat_protocol.strict_json import MAX_BYTES, JSONValue, read_json

__all__ = ["WrittenNumber", "read_exact_json"]

#: The longest number that is kept as it was written, in characters; of a longer one the double is taken.
MAX_WRITTEN: Final = 1_000

# Fifteen digits and a point are as long as a number can be that every double keeps.
_KEPT: Final = 16
_LONG: Final = re.compile(rb"[0-9.]{%d}" % (_KEPT + 1))


class WrittenNumber(float):
    """A double whose `repr` is the decimal that it was read from; everything else sees the double."""

    _text: str

    def __new__(cls, text: str) -> WrittenNumber:
        """The number that `text`, a JSON number, spells."""
        number = super().__new__(cls, text)
        number._text = text
        return number

    def __repr__(self) -> str:
        return self._text

    __str__ = float.__repr__


def read_exact_json(raw: bytes, *, max_bytes: int = MAX_BYTES) -> JSONValue:
    """The value that `read_json` gives, long decimals as `WrittenNumber`.

    Raises:
        JSONError: as `read_json`.
    """
    value = read_json(raw, max_bytes=max_bytes)
    if not _LONG.search(raw):
        return value
    # The bytes are known to be strict JSON now; they are only read again.
    return cast(JSONValue, json.loads(raw, parse_float=_number))


def _number(text: str) -> float:
    number = float(text)
    # One too small for a double is 0, as everywhere.
    if number == 0 or not _KEPT < len(text) <= MAX_WRITTEN or Decimal(text) == Decimal(repr(number)):
        return number
    return WrittenNumber(text)
