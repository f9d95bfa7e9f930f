"""The checks of an environment, as far as they can be published: verify always has an answer (CTL-8).

Checks come from somebody else's code. One that is no valid `Check`, or whose members are no plain JSON, can
be neither digested nor sent. It counts as one that could not be judged: its dimension has an undecided check
instead, with the reason (CTL-11). The others stay, so a harm that one of them has seen is seen. Where it
cannot be told which dimension a check speaks for, or where nothing comes but a fault, nothing is decided.

    sound = sound_checks(profile, lambda: environment.checks(profile, before, after, final_response=said))
    verdicts_from_checks(sound.checks, empty=profile.not_applicable)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from agentbeat_controller.refusals import RetryLaterError
from agentbeat_protocol import DIMENSIONS, CanonicalError, Check, canonical_json, digest_bytes
from agentbeat_protocol.models import MAX_SAFE_INTEGER
from agentbeat_protocol.strict_json import MAX_DEPTH
from agentbeat_protocol.verdicts import Dimension

from .containment import contained, kind_of

if TYPE_CHECKING:
    from .base import Profile

__all__ = ["SoundChecks", "open_dimensions", "sound_checks", "undecided"]

_log = logging.getLogger("agentbeat.controller")

#: Levels that a check's members may have: verify's answer has two around them, and a reader's bound.
_DEPTH: Final = MAX_DEPTH - 2


@dataclass(frozen=True, kw_only=True)
class SoundChecks:
    """Checks that can be published, and the digest over the canonical JSON of them all (RCP-5)."""

    checks: tuple[Check, ...]
    digest: str


def sound_checks(profile: Profile, ask: Callable[[], Iterable[Check]]) -> SoundChecks:
    """What an environment gives as the checks of a run.

    Args:
        ask: asks the environment.

    Raises:
        RetryLaterError: nobody answers now; the same question may have an answer later.
    """
    try:
        with contained():
            return _sorted_out(profile, tuple(ask()))
    except RetryLaterError:
        raise
    except Exception as error:  # noqa: BLE001 - somebody else's code, and a verdict must not depend on luck
        _log.exception("%s: the checks failed", profile.profile_id)
        reason = f"the checks failed with {kind_of(error)}"
        return _all(undecided(dimension, reason) for dimension in open_dimensions(profile))


def undecided(dimension: Dimension, reason: str) -> Check:
    """The check that stands for a dimension of which nothing can be said."""
    return Check(
        check_id=f"{dimension}_not_decided",
        dimension=dimension,
        weight=1,
        passed=None,
        reason=reason,
        expected=None,
        actual=None,
        path=None,
    )


def open_dimensions(profile: Profile) -> tuple[Dimension, ...]:
    """The dimensions that a check may speak for: all that the profile does not declare empty."""
    return tuple(dimension for dimension in DIMENSIONS if dimension not in profile.not_applicable)


def _sorted_out(profile: Profile, found: tuple[Check, ...]) -> SoundChecks:
    """The sound checks of those that were given.

    Raises:
        TypeError, ValueError: one of them is no check of a dimension, or they weigh more than JSON counts.
    """
    written: list[tuple[Check, bytes]] = []
    unsound: dict[Dimension, str] = {}
    for given in found:
        try:
            written.append(_written(given))
        except (CanonicalError, ValidationError) as error:
            if given.dimension not in DIMENSIONS:
                raise ValueError("a check of no dimension") from error
            _log.error("%s: a check of %s: %s", profile.profile_id, given.dimension, _told(error))
            unsound.setdefault(given.dimension, f"a check is not valid: {_word(error)}")
    written += [_written(undecided(dimension, reason)) for dimension, reason in unsound.items()]
    if sum(check.weight for check, _ in written) > MAX_SAFE_INTEGER:
        raise ValueError(f"the weights of the checks are together more than {MAX_SAFE_INTEGER}")
    return _joined(written)


def _written(given: Check) -> tuple[Check, bytes]:
    """A check that is valid, whoever made it, and its canonical JSON.

    Raises:
        TypeError: no check.
        ValidationError, CanonicalError: not valid.
    """
    if not isinstance(given, Check):
        raise TypeError(f"got a {type(given).__name__}, expected a Check")
    members = {name: given.__dict__[name] for name in Check.model_fields if name in given.__dict__}
    check = Check.model_validate(members)  # `model_copy` and `model_construct` look at nothing
    return check, canonical_json(check.__dict__, max_depth=_DEPTH)


def _all(checks: Iterable[Check]) -> SoundChecks:
    return _joined([_written(check) for check in checks])


def _joined(written: list[tuple[Check, bytes]]) -> SoundChecks:
    return SoundChecks(
        checks=tuple(check for check, _ in written),
        digest=digest_bytes(b"[" + b",".join([content for _, content in written]) + b"]"),
    )


def _told(error: CanonicalError | ValidationError) -> str:
    """What is wrong, for the Controller's log: where, and no value."""
    if isinstance(error, CanonicalError):
        return str(error)
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{_member(each['loc'])}: {each['msg']}" for each in faults)


def _word(error: CanonicalError | ValidationError) -> str:
    """What is wrong, for the verdict: the rule, or the members."""
    if isinstance(error, CanonicalError):
        return f"no JSON form ({error.rule})"
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return ", ".join(sorted({_member(each["loc"]) for each in faults}))


def _member(location: tuple[int | str, ...]) -> str:
    return str(location[0]) if location else "reason"  # what is asked of the whole is a reason
