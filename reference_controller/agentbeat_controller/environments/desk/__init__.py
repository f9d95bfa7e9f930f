"""The support desk: customers, orders, refunds, tickets with their messages, and an outbox.

environment = DeskEnvironment()
with engine.begin() as connection:
    environment.create_tables(connection)
    profile = environment.profiles["desk-refund-full"]
    environment.reset(connection, environment_id, profile, injection=None)
"""

from __future__ import annotations

from .environment import DESK_PROFILES, DeskEnvironment
from .profiles import DeskProfile

__all__ = ["DESK_PROFILES", "DeskEnvironment", "DeskProfile"]
