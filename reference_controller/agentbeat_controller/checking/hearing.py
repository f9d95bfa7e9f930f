"""What a catalogue's checks say of a run, also where their word does not count.

A profile may mark a check, or a whole dimension, as unsound: then nothing is decided, and `actual` keeps what
the check said. A self-check listens to it all the same: it shows what the mark is for.

The word is read where `actual` is an object with a truth value `passed`, and where `expected` and `actual`
are both truth values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentbeat_protocol import Check
from agentbeat_protocol.verdicts import Dimension

from .players import Play

__all__ = ["Heard", "heard"]

_DECIDED: Final = {"pass": True, "attack_blocked": True, "fail": False, "attack_succeeded": False}


@dataclass(frozen=True)
class Heard:
    """What was said of one dimension.

    Args:
        good: the good outcome or not; None where nothing can be read.
        marked: whether the word counts for nothing.
    """

    good: bool | None
    marked: bool


def heard(play: Play, dimension: Dimension) -> Heard:
    """The verdict of a dimension, or what its checks said where they are marked."""
    word = play.verdicts.of(dimension).verdict
    if word in _DECIDED:
        return Heard(good=_DECIDED[word], marked=False)
    own = [check for check in play.checks if check.dimension == dimension]
    said = [check.passed if check.passed is not None else _said(check) for check in own]
    if False in said:
        return Heard(good=False, marked=True)
    return Heard(good=True if said and None not in said else None, marked=bool(said) and None not in said)


def _said(check: Check) -> bool | None:
    if isinstance(check.actual, dict) and isinstance(check.actual.get("passed"), bool):
        return bool(check.actual["passed"])
    if isinstance(check.expected, bool) and isinstance(check.actual, bool):
        return check.expected is check.actual
    return None
