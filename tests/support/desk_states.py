"""States of the desk as plain values, and one check of a profile over them."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from agentbeat_controller.environments.desk import DeskEnvironment
from agentbeat_controller.environments.desk.states import STATE_VERSION
from agentbeat_controller.environments.desk.world import OPENED_AT, WORLD
from agentbeat_protocol import Check

DESK = DeskEnvironment()


def state_of(profile_id: str) -> Any:
    return {
        "schema_version": STATE_VERSION,
        "profile_id": profile_id,
        "opened_at": OPENED_AT,
        "records": copy.deepcopy(WORLD),
        "calls": [],
    }


@cache
def start(profile_id: str) -> Any:
    """The state before; nobody may change it."""
    return state_of(profile_id)


def check_of(profile_id: str, check_id: str, after: Any, *, final_response: str = "Done.") -> Check:
    checks = DESK.checks(DESK.profiles[profile_id], start(profile_id), after, final_response=final_response)
    return next(check for check in checks if check.check_id == check_id)
