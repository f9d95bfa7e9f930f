"""Exact numbers as text: ratios as they are, and their decimals for people.

A decimal is written from the integers; no float is involved. One that does not end within the places that are
shown is rounded half away from zero and has `≈` in front.

>>> from agentbeat_receipts.objects import Pair
>>> ratio_text(Pair(pair=(77, 2))), decimal_text(Pair(pair=(77, 2)))
('77/2', '38.5')
>>> decimal_text(Pair(pair=(-2, 3))), decimal_text(Pair(pair=(5, 0)))
('≈ -0.6667', None)
"""

from __future__ import annotations

from typing import Final

from agentbeat_receipts.objects import Pair

__all__ = ["decimal_text", "number_text", "ratio_text"]

_PLACES: Final = 4
#: Integers of more digits than this are cut in texts for people. JSON reports have them whole.
_DIGITS: Final = 40


def ratio_text(pair: Pair) -> str:
    """The ratio, unreduced."""
    numerator, denominator = pair.pair
    return f"{number_text(numerator)}/{number_text(denominator)}"


def decimal_text(pair: Pair, places: int = _PLACES) -> str | None:
    """The ratio as a decimal of at most so many places; None when it has none, as its denominator is 0."""
    numerator, denominator = (int(part) for part in pair.pair)
    if denominator == 0:
        return None
    negative = (numerator < 0) != (denominator < 0)
    shifted, rest = divmod(abs(numerator) * 10**places, abs(denominator))
    if 2 * rest >= abs(denominator):
        shifted += 1
    whole, fraction = divmod(shifted, 10**places)
    digits = f"{fraction:0{places}d}".rstrip("0")
    sign = "-" if negative and shifted else ""
    text = f"{sign}{number_text(whole)}{'.' if digits else ''}{digits}"
    return f"≈ {text}" if rest else text


def number_text(number: int | str) -> str:
    """An integer in full, or its first digits and how many there are."""
    text = str(number)
    return text if len(text) <= _DIGITS else f"{text[:12]}… ({len(text.lstrip('-'))} digits)"
