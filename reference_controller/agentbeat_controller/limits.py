"""Every bound of the State Controller in one frozen record, each with its unit beside it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

__all__ = ["ControllerLimits"]

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB


@dataclass(frozen=True, kw_only=True, slots=True)
class ControllerLimits:
    """What the Controller takes from the network, and how long a lease may last.

    >>> ControllerLimits(lease_seconds=60).max_body_bytes
    1048576
    >>> ControllerLimits(lease_seconds=0)
    Traceback (most recent call last):
    ValueError: lease_seconds: got 0, expected a whole number of at least 1
    """

    #: seconds from reset until a lease expires, unless it is renewed
    lease_seconds: int = 15 * 60
    #: seconds from now that a renewal may ask for at most; a longer one is 400
    max_lease_seconds: int = 24 * 60 * 60
    #: connections to one plane; further ones are 503. Both planes together stay below the 1,024 files that a
    #: process may usually open
    max_connections: int = 400
    #: seconds from the connection, or the first byte of a later request, to the end of a head; then 408
    head_seconds: int = 10
    #: seconds that a connection may rest between two requests
    idle_seconds: int = 75
    #: seconds in which a client takes nothing of its answer until the connection is cut
    stalled_seconds: int = 30
    #: bytes of a request's header fields together; more is 431
    max_head_bytes: int = 32 * _KIB
    #: header fields of a request; more is 431
    max_header_fields: int = 100
    #: bytes of a control request's body; more is 413
    max_body_bytes: int = _MIB
    #: bytes of verify's body: it holds the whole final response, of which Core takes 4 MiB
    max_verify_bytes: int = 8 * _MIB
    #: bytes of a snapshot; Core stops reading there
    max_snapshot_bytes: int = 16 * _MIB
    #: seconds from the first look at a body to its end; then 408
    body_seconds: int = 30
    #: seconds that a client gets to stop sending and read an answer that came before its body's end …
    early_answer_seconds: int = 2
    #: … and the bytes of that body that are read and thrown away meanwhile
    early_answer_bytes: int = 4 * _MIB
    #: control calls that work at the same time; the others wait their turn
    control_threads: int = 16
    #: seconds that a stopping server waits for the calls in flight; then they are cut off
    drain_seconds: int = 10
    #: the longest wait, in seconds, that a 409 `environment_busy` suggests
    max_retry_after: int = 5

    def __post_init__(self) -> None:
        """Check every bound, so that a mistyped one fails where it is written."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{field.name}: got {value!r}, expected a whole number of at least 1")
        if self.max_lease_seconds < self.lease_seconds:
            raise ValueError(
                f"max_lease_seconds: got {self.max_lease_seconds}, expected at least lease_seconds"
            )
