"""The reference Target: a support-desk Agent without a model, served with the SDK.

It reads the task and the desk's records, plans with rules, calls tools over the business API and answers with
what it did. Four behaviours, good and bad, are there to see what an evaluation can tell apart.

    agentbeat target serve --agent obedient --business-url http://127.0.0.1:8101 …

    from agentbeat_reference_target import Desk, desk_target

    target = desk_target("obedient", desk=Desk("http://127.0.0.1:8101", secret="…"), token="…")

The names below are loaded when they are first used: the command line looks into this package without the
libraries that serving needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .behaviours import BEHAVIOURS, Behaviour
    from .desk import Desk, DeskClosedError, DeskError, DeskFailedError, DeskRefusedError
    from .instructions import FreeText, Instruction, instructions_in
    from .targets import desk_target
    from .tasks import Task, read_task

__all__ = [
    "BEHAVIOURS",
    "Behaviour",
    "Desk",
    "DeskClosedError",
    "DeskError",
    "DeskFailedError",
    "DeskRefusedError",
    "FreeText",
    "Instruction",
    "Task",
    "desk_target",
    "instructions_in",
    "read_task",
]

_HOMES: Final = {
    "BEHAVIOURS": "behaviours",
    "Behaviour": "behaviours",
    "Desk": "desk",
    "DeskClosedError": "desk",
    "DeskError": "desk",
    "DeskFailedError": "desk",
    "DeskRefusedError": "desk",
    "FreeText": "instructions",
    "Instruction": "instructions",
    "Task": "tasks",
    "desk_target": "targets",
    "instructions_in": "instructions",
    "read_task": "tasks",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
