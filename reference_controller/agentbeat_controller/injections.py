"""The injections that resets planted, kept in words beside their digests, for people who look at a run later.

Nothing is judged by them: a receipt binds the digest, and the text stands in the snapshots. Each function
works inside the caller's transaction.
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from agentbeat_controller.tables import injections
from agentbeat_protocol import Injection

__all__ = ["add_injection", "injection_of"]


def add_injection(connection: Connection, lease_id: str, injection: Injection) -> None:
    """Keep what a lease's reset planted; a second one is an error of the database."""
    connection.execute(
        insert(injections).values(lease_id=lease_id, surface=injection.surface, text=injection.text)
    )


def injection_of(connection: Connection, lease_id: str) -> Injection | None:
    """What a lease's reset planted."""
    query = select(injections.c.surface, injections.c.text).where(injections.c.lease_id == lease_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else Injection(surface=row.surface, text=row.text)
