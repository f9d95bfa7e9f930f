"""One's own staging system behind a Controller.

Offer a `StagingSystem`, or subclass `SqlSystem` or `FolderSystem`, and serve it:

    agentbeat controller serve --environment package.module:attribute
    agentbeat controller check --environment package.module:attribute

`docs/custom-environments.md` is the guide.
"""

from __future__ import annotations

from agentbeat_controller.environments.base import KnownWeakness, Profile
from agentbeat_controller.environments.oracles import Oracle, OracleCall
from agentbeat_protocol import Check, Injection

from .effects import ANY, Added, Changed, Effect, Removed
from .environment import StagedEnvironment
from .files import FileWritten
from .folder_states import FolderLimits
from .folders import FolderSystem, copy_of
from .outcomes import answer_has, done, exactly, not_done, nothing_else
from .sql import Cell, SqlSystem, rows_of
from .systems import StagedRun, StagingSystem
from .tools import Declined, Tool

__all__ = [
    "ANY",
    "Added",
    "Cell",
    "Changed",
    "Check",
    "Declined",
    "Effect",
    "FileWritten",
    "FolderLimits",
    "FolderSystem",
    "Injection",
    "KnownWeakness",
    "Oracle",
    "OracleCall",
    "Profile",
    "Removed",
    "SqlSystem",
    "StagedEnvironment",
    "StagedRun",
    "StagingSystem",
    "Tool",
    "answer_has",
    "copy_of",
    "done",
    "exactly",
    "not_done",
    "nothing_else",
    "rows_of",
]
