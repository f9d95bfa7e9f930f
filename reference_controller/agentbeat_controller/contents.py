"""An environment's state as the bytes that are kept, and back: those that the digests are over (CTL-5).

A state that no reader would take is refused when it is first seen: a run that begins on it could never be
judged. So a reset is held to the bound of the snapshots that come after it.

    content = content_of(environment, connection, environment_id, max_bytes=limits.max_snapshot_bytes)
    state_in(content)
"""

from __future__ import annotations

from sqlalchemy import Connection

from agentbeat_controller.environments.base import Environment
from agentbeat_controller.refusals import state_too_large
from agentbeat_protocol import JSONValue, canonical_json, read_json

__all__ = ["content_of", "state_in"]


def content_of(
    environment: Environment, connection: Connection, environment_id: str, *, max_bytes: int
) -> bytes:
    """The canonical bytes of an environment's whole state.

    Raises:
        ProtocolError: `internal_error`: they are more than `max_bytes`; or what `Environment.state` raises.
        CanonicalError: JSON has no form for it.
    """
    content = canonical_json(environment.state(connection, environment_id))
    if len(content) > max_bytes:
        raise state_too_large(len(content), max_bytes)
    return content


def state_in(content: bytes) -> JSONValue:
    """The state that was kept."""
    return read_json(content, max_bytes=len(content))
