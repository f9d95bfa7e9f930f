"""How much work one analysis may take. A contract beyond it is I_E, never a verifier that does not answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["LIMITS", "Limits", "TooMuchWork"]


class TooMuchWork(Exception):  # noqa: N818 - what happened
    """An analysis would take more than is allowed; nothing was computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one analysis.

    Args:
        exact_steps: estimated steps of the exact distribution; 10^9 took about a second when measured.
        packed_digits: decimal digits of the largest number in it; ten digits take about 70 bytes.
        draws: resamples of `mc`. The envelope's exact binomial sum grows with the square of them.
        words: indices that `mc` draws in all, resamples times profiles.
        digits: decimal digits of a number that is printed: an object's integers have at most 128 characters.
    """

    exact_steps: int = 10_000_000_000
    packed_digits: int = 40_000_000
    draws: int = 100_000
    words: int = 20_000_000
    digits: int = 127


#: The limits that every verification uses, so that two verifiers give one verdict.
LIMITS: Final = Limits()
