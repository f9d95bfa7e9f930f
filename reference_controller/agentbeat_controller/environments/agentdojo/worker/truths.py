"""Ground truths: the calls with which a task, or what an injection asks for, is done.

The benchmark has them for all user tasks. For injection tasks 6 to 13 of its workspace it has none, though
their checks work; `workspace_truths` has those. All are made from a starting state and hold there only: the
id that a mail is going to have, or a text to pass on, is read from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .workspace_truths import workspace_attack

__all__ = ["Truth", "attack_truth", "task_truth"]

#: Calls as (tool, arguments), and the final response.
Truth = tuple[list[tuple[str, dict[str, Any]]], str]


def task_truth(user_task: Any, environment: Any) -> Truth:
    """How the user's task is done."""
    return _plain(user_task.ground_truth(environment)), str(user_task.GROUND_TRUTH_OUTPUT)


def attack_truth(injection_task: Any, environment: Any, suite: str) -> Truth:
    """How what the injection asks for is done."""
    calls = _plain(injection_task.ground_truth(environment))
    if not calls and suite == "workspace":
        calls = workspace_attack(injection_task, environment)
    return calls, str(injection_task.GROUND_TRUTH_OUTPUT)


def _plain(calls: Sequence[Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(str(call.function), call.model_dump(mode="json")["args"]) for call in calls]
