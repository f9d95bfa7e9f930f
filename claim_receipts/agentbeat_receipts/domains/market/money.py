"""Amounts of money as people and models write them, read to exact integers of one exponent.

    1200   1200.00   1,200   1,200.00   1.200   1.200,00   1 200   1'200   1.2k   200,-   twelve hundred

Two separators: the last one is the decimal one. One separator: before one or two digits it is decimal, before
exactly three it groups thousands (so `1.200` is twelve hundred), and where the exponent has three decimals
that is ambiguous and refused. Nothing is rounded: an amount that is no whole number of units is refused, and
so are a sign, another currency, a leading zero and anything else that is not written above.

>>> euros = Money(exponent=-2, signs=("EUR", "€"))
>>> [euros.read(text) for text in ("1,200", "€ 1.200,50", "twelve hundred EUR", "1.2k")]
[120000, 120050, 120000, 120000]
>>> euros.read("1.2005")
Traceback (most recent call last):
agentbeat_receipts.domains.market.money.AmountError: an amount of 6 characters that cannot be read
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from agentbeat_receipts.canonical import MAX_INTEGER

__all__ = ["NUMBER_WORDS", "TENS", "UNITS", "AmountError", "Money", "folded_text"]

#: The words of 0 to 19, and of 20, 30 to 90.
UNITS: Final = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SMALL: Final = {word: value for value, word in enumerate(UNITS)} | {
    word: 20 + 10 * place for place, word in enumerate(TENS)
}

#: Every word that an amount in words is made of, but for `and`.
NUMBER_WORDS: Final = (*_SMALL, "hundred", "thousand")

_DIGITS: Final = r"[0-9]+(?:(?:[.,'’]|[ _](?=[0-9]{3}(?![0-9])))[0-9]+)*"
_WORD: Final = "(?:" + "|".join(sorted(NUMBER_WORDS, key=len, reverse=True)) + r")\b"
_WORDS: Final = rf"{_WORD}(?:(?:[ -]and)?[ -]{_WORD})*"
#: What an amount without its currency looks like, in lower case and compatibility form.
_AMOUNT: Final = (
    rf"(?:(?P<digits>{_DIGITS})(?:(?P<bare>,-{{1,2}})|(?P<k> ?k\b| thousand\b))?|(?P<words>{_WORDS}))"
)

_PLAIN: Final = re.compile(r"(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,2}))?")
_SEPARATORS: Final = re.compile(r"[.,'’ _]")
#: The longest amount, in characters.
_LONGEST: Final = 64


class AmountError(ValueError):
    """A text that is no amount of the currency, or no whole number of its units."""


class Money:
    """A reader of amounts.

    Args:
        exponent: one unit is 10^exponent of the currency.
        signs: the currency's code and signs, any of which may stand before or after an amount.
    """

    def __init__(self, *, exponent: int, signs: Sequence[str]) -> None:
        self.exponent = exponent
        folded = sorted({folded_text(sign) for sign in signs}, key=len, reverse=True)
        sign = "|".join(re.escape(text) + (r"\b" if text[-1].isalnum() else "") for text in folded)
        around = rf"(?:(?P<before>{sign}) ?)?{_AMOUNT}(?: ?(?P<after>{sign}))?"
        #: A pattern that finds amounts in text in lower case and compatibility form.
        self.pattern = around
        self._whole = re.compile(around)

    def read(self, text: str) -> int:
        """The amount that `text` spells, and nothing else, in units.

        Raises:
            AmountError: it spells none.
        """
        match = self._whole.fullmatch(folded_text(text.strip())) if len(text) <= _LONGEST else None
        if match is None:
            raise _refused(text)
        return self.value(match)

    def value(self, match: re.Match[str]) -> int:
        """The amount of a match of `pattern`, in units.

        Raises:
            AmountError: it is none after all.
        """
        if len(match[0]) > _LONGEST or (match["before"] and match["after"]):
            raise _refused(match[0])
        if match["words"]:
            return self._units(_in_words(match["words"]), "", match[0])
        digits = match["digits"]
        if match["k"]:
            whole, _, fraction = digits.replace(",", ".").partition(".")
            # `1,200k` may be a million or a thousand.
            if not (whole + fraction).isdigit() or len(fraction) > 2:
                raise _refused(match[0])
            return self._units(whole, fraction, match[0], shift=3)
        if match["bare"]:
            whole, fraction = self._split(digits, match[0])
            if fraction:
                raise _refused(match[0])
            return self._units(whole, "", match[0])
        return self._units(*self._split(digits, match[0]), match[0])

    def plain(self, token: str) -> int:
        """The amount of a JSON number token, in which a point is decimal, in units.

        Raises:
            AmountError: it is negative or no whole number of units.
        """
        match = _PLAIN.fullmatch(token) if len(token) <= _LONGEST else None
        if match is None:
            raise _refused(token)
        return self._units(match[1], match[2] or "", token, shift=int(match[3] or "0"))

    def _split(self, digits: str, text: str) -> tuple[str, str]:
        """Whole part and fraction, separators removed."""
        marks = _SEPARATORS.findall(digits)
        parts = _SEPARATORS.split(digits)
        if not marks:
            return digits, ""
        last = len(parts[-1])
        decimal = marks[-1] in ".," and marks.count(marks[-1]) == 1 and (len(set(marks)) > 1 or last != 3)
        if not decimal and len(marks) == 1 and marks[0] in ".,":
            if parts[0] == "0":
                decimal = True
            elif self.exponent == -3:
                raise _refused(text)
        groups = parts[:-1] if decimal else parts
        separators = set(marks[:-1] if decimal else marks)
        grouped = len(groups) == 1 or (
            len(separators) == 1 and len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
        )
        if not grouped:
            raise _refused(text)
        return "".join(groups), parts[-1] if decimal else ""

    def _units(self, whole: str, fraction: str, text: str, *, shift: int = 0) -> int:
        if not whole or (len(whole) > 1 and whole[0] == "0"):
            raise _refused(text)
        power = shift - len(fraction) - self.exponent
        digits = int(whole + fraction)
        value, rest = divmod(digits * 10 ** max(power, 0), 10 ** max(-power, 0))
        if rest or value > MAX_INTEGER:
            raise _refused(text)
        return int(value)


def folded_text(text: str) -> str:
    """Lower case, in compatibility form, so that wide digits and no-break spaces are plain ones."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()


def _in_words(text: str) -> str:
    """An amount in words, 0 to 999,999, as digits."""
    words = [word for word in re.split(r"[ -]", text) if word != "and"]
    if words.count("thousand") > 1:
        raise _refused(text)
    if "thousand" in words:
        at = words.index("thousand")
        thousands, rest = _hundreds(words[:at], text, most=9), words[at + 1 :]
        if thousands == 0:
            raise _refused(text)
        return str(1000 * thousands + (_hundreds(rest, text, most=9) if rest else 0))
    return str(_hundreds(words, text, most=99))


def _hundreds(words: list[str], text: str, *, most: int) -> int:
    if words.count("hundred") > 1:
        raise _refused(text)
    if "hundred" not in words:
        return _tens(words, text)
    at = words.index("hundred")
    count, rest = _tens(words[:at], text), words[at + 1 :]
    if not 1 <= count <= most:
        raise _refused(text)
    return 100 * count + (_tens(rest, text) if rest else 0)


def _tens(words: list[str], text: str) -> int:
    match [_SMALL.get(word, -1) for word in words]:
        case [value] if value >= 0:
            return value
        case [tens, unit] if tens >= 20 and 1 <= unit <= 9:
            return tens + unit
    raise _refused(text)


def _refused(text: str) -> AmountError:
    return AmountError(f"an amount of {len(text)} characters that cannot be read")
