"""What a staging system that cannot be set or read becomes: 503, and nothing has been leased or kept.

The reason goes to the Controller's log, cut and without the parameters of a statement; never to the caller.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from agentbeat_controller.environments.containment import contained
from agentbeat_controller.refusals import RetryLaterError
from agentbeat_protocol import CanonicalError, JSONError, ProtocolError, cut

__all__ = ["attempt", "log_failure", "unavailable"]

_log = logging.getLogger("agentbeat.controller")


def unavailable(got: str = "no answer from the staging system") -> RetryLaterError:
    """The staging system did not do its part."""
    return RetryLaterError(
        "CTL-10",
        code="controller_unavailable",
        got=got,
        expected="a staging system that can be set and read",
        retry_after=1,
    )


@contextmanager
def attempt(doing: str) -> Iterator[None]:
    """Do something with the staging system.

    Raises:
        ProtocolError: what it raised itself, `controller_unavailable` for anything else; a value that JSON
            cannot hold is no answer either.
    """
    try:
        with contained():
            yield
    except Exception as error:
        if isinstance(error, ProtocolError) and not isinstance(error, CanonicalError | JSONError):
            raise
        log_failure(doing, error)
        raise unavailable() from error


def log_failure(doing: str, error: Exception) -> None:
    """Say in the log what failed. Of a database error only the driver's words: no parameters."""
    cause = getattr(error, "orig", None) or error
    _log.error("%s: %s: %s", cut(doing, 200), type(cause).__name__, cut(str(cause), 200))
