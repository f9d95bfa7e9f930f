"""The one place through which a check calls an environment: each call is a step, and a step always ends.

An environment is somebody else's code, and may not be right yet: it raises anything, `SystemExit` too, or
gives what it should not. Then a step ends in a `PlayError`, which is the finding: what was tried, at which
step, what came of it, and what was expected. What is said in the Controller's log meanwhile is the reason.

    steps = Steps()
    steps.trying = "the ground truth"
    with steps.step("reset"):
        answer = plane.reset(request)

A step that does not return is ended from outside (`processes`), which is why each is announced.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from pydantic import ValidationError

from agentbeat_protocol import CanonicalError, JSONError, ProtocolError, cut

from .findings import Finding, Severity

__all__ = ["FAILED", "PlayError", "Steps", "UnfitError", "told"]

#: What is found where an environment's code fails: it breaks what is asked of an environment.
FAILED: Final = "environment_failed"

_LONGEST: Final = 300
_log = logging.getLogger("agentbeat.controller")


class PlayError(Exception):
    """Something could not be played to its end.

    Args:
        finding: at which step, and why.
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.tried}: {finding.found}")
        self.finding = finding


class UnfitError(Exception):
    """What an environment gave is not what is asked of one; the message says what was got."""


class Steps:
    """The steps of a check.

    Args:
        announce: called with the name of each step before it begins.
        interrupted: whether somebody has stopped the check. Only then is a `KeyboardInterrupt` that comes out
            of a step more than something that an environment has raised.
    """

    def __init__(
        self,
        announce: Callable[[str], None] = lambda _: None,
        interrupted: Callable[[], bool] = lambda: True,
    ) -> None:
        self._announce = announce
        self._interrupted = interrupted
        self._reasons = _Reasons()
        #: What the steps are part of, such as `the ground truth`.
        self.trying = ""

    @contextmanager
    def step(self, name: str, *, expected: str = "an answer") -> Iterator[None]:
        """One call of the environment, or of the Controller that calls it.

        Raises:
            PlayError: it was refused, or it failed.
        """
        tried = self._tried(name)
        self._announce(tried)
        self._reasons.last = ""
        try:
            yield
        except PlayError:
            raise
        except BaseException as error:
            if isinstance(error, _STOPS) and self._interrupted():
                raise
            found = f"got {told(error)}, expected {expected}"
            raise PlayError(_finding("fault", FAILED, tried, found)) from error

    @contextmanager
    def control(self, name: str) -> Iterator[None]:
        """One control call: it may also be refused, such as for a system that does not answer.

        Raises:
            PlayError: it was refused, or it failed.
        """
        with self.step(name):
            try:
                yield
            except ProtocolError as error:
                if isinstance(error, CanonicalError | JSONError):
                    raise  # no refusal: the environment gave what JSON cannot hold
                why = self.reason() or f" ({error.got})"
                raise self.untried(name, f"got {error.code}{why}, expected an answer") from error

    def untried(self, name: str, found: str) -> PlayError:
        """What cannot be tried, and why: to be raised."""
        return PlayError(_finding("untried", "run_not_played", self._tried(name), found))

    def reason(self) -> str:
        """What the Controller's log says of this step, in brackets; empty if nothing."""
        return f" ({self._reasons.last})" if self._reasons.last else ""

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to the Controller's log for reasons."""
        _log.addHandler(self._reasons)
        try:
            yield
        finally:
            _log.removeHandler(self._reasons)

    def _tried(self, name: str) -> str:
        return f"{self.trying}: {name}" if self.trying else name


#: What ends a check from outside.
_STOPS: Final = (KeyboardInterrupt, asyncio.CancelledError, GeneratorExit)


def _finding(severity: Severity, code: str, tried: str, found: str) -> Finding:
    return Finding(severity=severity, code=code, tried=cut(tried, _LONGEST), found=cut(found, 2 * _LONGEST))


class _Reasons(logging.Handler):
    """Keeps the last thing that was said."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        said = cut(record.getMessage(), _LONGEST)
        raised = record.exc_info[1] if record.exc_info else None
        self.last = f"{said}: {told(raised)}" if raised else said


def told(error: BaseException) -> str:
    """What was raised, on one line. Its own text may fail as well."""
    kind = type(error).__name__
    try:
        if isinstance(error, UnfitError):
            return cut(str(error), _LONGEST)
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_input=False)[0]
            text = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        else:
            text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - somebody else's `__str__`
        text = ""
    return cut(f"{kind}: {text}" if text else kind, _LONGEST)
