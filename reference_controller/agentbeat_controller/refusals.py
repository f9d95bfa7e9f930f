"""What the control plane says no with: one `ProtocolError` per rule, its words without values of the request.

>>> phase_out_of_order("snapshot after", "the lease's last step was reset").status
409
"""

from __future__ import annotations

from agentbeat_protocol import ProtocolError

__all__ = [
    "RetryLaterError",
    "binding_conflict",
    "environment_busy",
    "environment_closed",
    "invalid_request",
    "lease_expired",
    "not_found",
    "phase_out_of_order",
    "profile_changed",
    "profile_not_found",
    "snapshot_mismatch",
    "state_too_large",
    "unauthorized",
    "unavailable",
]


class RetryLaterError(ProtocolError):
    """A refusal that may be different soon; `retry_after` is the header's value, in seconds."""

    def __init__(self, rule: str, *, code: str, got: str, expected: str, retry_after: int) -> None:
        super().__init__(rule, code=code, got=got, expected=expected)
        self.retry_after = retry_after


def unauthorized() -> ProtocolError:
    """A missing or wrong secret, the other plane's among them (CTL-9)."""
    return ProtocolError(
        "CTL-9", code="unauthorized", got="no valid secret", expected="Authorization: Bearer <secret>"
    )


def invalid_request(path: str, *, got: str, expected: str) -> ProtocolError:
    """A request that is well-formed and cannot be meant."""
    return ProtocolError("CTL-9", code="invalid_request", path=path, got=got, expected=expected)


def not_found(rule: str, what: str) -> ProtocolError:
    """Something that this Controller does not have, or not for this run."""
    return ProtocolError(rule, code="not_found", got="an unknown one", expected=what)


def profile_not_found() -> ProtocolError:
    """CTL-9: the catalogue has no such profile."""
    return ProtocolError(
        "CTL-9",
        code="profile_not_found",
        path="/profile_id",
        got="an unknown profile",
        expected="a profile of the catalogue",
    )


def profile_changed() -> ProtocolError:
    """The profile is not the one that the caller, or the lease, knows under this id."""
    return ProtocolError(
        "CTL-9",
        code="profile_changed",
        path="/profile_digest",
        got="another digest",
        expected="the profile's digest in this Controller's catalogue",
    )


def lease_expired() -> ProtocolError:
    """An expired lease fails closed."""
    return ProtocolError(
        "CTL-2", code="lease_expired", got="an expired lease", expected="a lease that has not ended"
    )


def binding_conflict(expected: str) -> ProtocolError:
    """CTL-2: another request for a run and phase that has its answer, or one bound to something else."""
    return ProtocolError("CTL-2", code="binding_conflict", got="a different request", expected=expected)


def phase_out_of_order(step: str, found: str) -> ProtocolError:
    """CTL-1: the step is not the next one of this lease."""
    return ProtocolError(
        "CTL-1",
        code="phase_out_of_order",
        got=f"{step} when {found}",
        expected=f"another step than {step} now: {found}",
    )


def snapshot_mismatch(path: str) -> ProtocolError:
    """CTL-7: a reference or digest that is not this run's own."""
    return ProtocolError(
        "CTL-7",
        code="snapshot_mismatch",
        path=path,
        got="another snapshot",
        expected="the ref and digest of this run's own snapshot",
    )


def state_too_large(size: int, limit: int) -> ProtocolError:
    """A state that no reader would take; nothing is kept of it."""
    return ProtocolError(
        "CTL-5",
        code="internal_error",
        got=f"a state of {size} bytes",
        expected=f"a state of at most {limit} bytes; it has {size}",
    )


def environment_closed(expected: str) -> ProtocolError:
    """CTL-12: a business call outside the open window."""
    return ProtocolError(
        "CTL-12", code="environment_closed", got="a call outside the window", expected=expected
    )


def environment_busy(retry_after: int) -> RetryLaterError:
    """CTL-6: another run holds the Deployment's one environment."""
    return RetryLaterError(
        "CTL-6",
        code="environment_busy",
        got="a second run",
        expected="the Deployment's environment to be released first",
        retry_after=retry_after,
    )


def unavailable(*, unknown: bool = False) -> RetryLaterError:
    """The database does not answer, or cannot keep what it is given: nothing has changed.

    Args:
        unknown: the database went away while it was keeping the call: all of it is kept, or nothing.
    """
    change = "whether the call was kept is not known" if unknown else "nothing has changed"
    return RetryLaterError(
        "CTL-10",
        code="controller_unavailable",
        got="no answer from the database",
        expected=f"a database that answers; {change}",
        retry_after=1,
    )
