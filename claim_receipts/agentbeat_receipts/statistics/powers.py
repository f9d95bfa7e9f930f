"""Powers of a polynomial with small integer coefficients, exactly, in three ways.

With P(x) = Σ x^v over n values v, the coefficients of P(x)^k count the ways to draw k values by their sum.

- `stream_power`: each coefficient from the few before it, by the recurrence that P·(P^k)' = k·P'·P^k gives.
  It keeps a window only, so it serves large k with small values.
- `packed_power`: all coefficients as the digits of one number (Kronecker's substitution), which is squared
  repeatedly. `decimal` multiplies long numbers by number-theoretic transforms, faster than `int` can, and
  reads and writes them in linear time.
- `sparse_power`: a dictionary from sum to count. For few values that lie far apart.

>>> list(stream_power([1, 2, 1], 3)) == packed_power([1, 2, 1], 3) == [1, 6, 15, 20, 15, 6, 1]
True
>>> sparse_power({0: 1, 10**30: 1}, 2) == {0: 1, 10**30: 2, 2 * 10**30: 1}
True
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from operator import mul
from typing import Final

__all__ = ["MAX_SLOT", "packed_power", "packed_powers", "slot_digits", "sparse_power", "stream_power"]

#: Digits of a packed coefficient: what `int` reads from text (sys.int_info.default_max_str_digits is 4300).
MAX_SLOT: Final = 4000

_EXACT: Final = decimal.Context(
    prec=decimal.MAX_PREC,
    Emax=decimal.MAX_EMAX,
    Emin=decimal.MIN_EMIN,
    traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow, decimal.Rounded],
)


def stream_power(coefficients: Sequence[int], exponent: int) -> Iterator[int]:
    """The coefficients of the power, from the lowest.

    Args:
        coefficients: of P, from the lowest; the first and the last are not 0.
        exponent: k, at least 1.
    """
    degree = len(coefficients) - 1
    steps = [j for j in range(1, degree + 1) if coefficients[j]]
    plain = [coefficients[j] for j in steps]
    weighted = [(exponent + 1) * j * coefficients[j] for j in steps]
    lowest = coefficients[0]
    # What stands before the first coefficient is 0; what no step reaches any more is dropped now and then.
    window = [0] * degree + [lowest**exponent]
    yield window[-1]
    keep = max(4 * degree, 64)
    places = [-j for j in steps]
    for k in range(1, degree * exponent + 1):
        before = [window[place] for place in places]
        one: int = sum(map(mul, weighted, before))
        other: int = sum(map(mul, plain, before))
        coefficient = (one - k * other) // (k * lowest)
        window.append(coefficient)
        if len(window) > keep:
            del window[: len(window) - degree]
        yield coefficient


def slot_digits(coefficients: Sequence[int], exponent: int) -> int:
    """A width in decimal digits that every coefficient of the power fits into."""
    greatest: int = sum(coefficients) ** exponent
    return greatest.bit_length() * 30103 // 100_000 + 1


def packed_power(coefficients: Sequence[int], exponent: int) -> list[int]:
    """All coefficients of the power, from the lowest.

    Args:
        coefficients: of P, from the lowest, none negative.
        exponent: k, at least 0; small enough that a coefficient has at most MAX_SLOT digits.
    """
    return packed_powers(coefficients, exponent, 1)[0]


def packed_powers(coefficients: Sequence[int], exponent: int, count: int) -> list[list[int]]:
    """All coefficients of the power and of the next ones; each next one costs only one product more.

    Args:
        coefficients, exponent: as for one power.
        count: how many powers.
    """
    width = slot_digits(coefficients, exponent + count - 1)
    packed = Decimal("".join(str(c).zfill(width) for c in reversed(coefficients)))
    power = Decimal(1)
    for bit in f"{exponent:b}":
        power = _EXACT.multiply(power, power)
        if bit == "1":
            power = _EXACT.multiply(power, packed)
    degree = len(coefficients) - 1
    powers = [_unpacked(power, degree * exponent + 1, width)]
    for k in range(exponent + 1, exponent + count):
        power = _EXACT.multiply(power, packed)
        powers.append(_unpacked(power, degree * k + 1, width))
    return powers


def _unpacked(power: Decimal, size: int, width: int) -> list[int]:
    digits = str(power).zfill(size * width)
    return [int(digits[at : at + width]) for at in range((size - 1) * width, -1, -width)]


def sparse_power(counts: Mapping[int, int], exponent: int) -> dict[int, int]:
    """The count of every sum of `exponent` values.

    Args:
        counts: of each value.
        exponent: k, at least 0.
    """
    power = {0: 1}
    for _ in range(exponent):
        longer: dict[int, int] = {}
        for total, ways in power.items():
            for value, count in counts.items():
                longer[total + value] = longer.get(total + value, 0) + ways * count
        power = longer
    return power
