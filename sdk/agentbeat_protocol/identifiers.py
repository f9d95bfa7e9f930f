"""Identifiers of runs, cases, events and tasks.

All are ASCII and match as a whole: `run-a` followed by a newline is no run id. The patterns are given to
pydantic, whose engine takes `$` as the end of the text and nothing else.

>>> is_run_id("run-example-001"), is_run_id("run-example-001\\n"), is_run_id("run-A")
(True, False, False)
>>> task_id("run-example-001", "case-agent-example-001")
'task-207f990f7ff5e780a7960f0e'
"""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Final

from pydantic import StringConstraints

__all__ = [
    "CASE_ID_HEADER",
    "RUN_ID_HEADER",
    "CaseId",
    "EntityId",
    "EventId",
    "RunId",
    "is_case_id",
    "is_run_id",
    "task_id",
]

#: Correlation headers of an invocation and of a business call in a catalogue environment.
RUN_ID_HEADER: Final = "X-AIBeat-Run-ID"
CASE_ID_HEADER: Final = "X-AIBeat-Case-ID"

RUN_ID_PATTERN: Final = r"^run-[a-z0-9][a-z0-9-]*$"
CASE_ID_PATTERN: Final = r"^case-[a-z0-9][a-z0-9-]*$"
EVENT_ID_PATTERN: Final = r"^run-[a-z0-9][a-z0-9-]*:event:[0-9]+$"

MAX_RUN_ID: Final = 160
MAX_CASE_ID: Final = 200
MAX_EVENT_ID: Final = 192
MAX_ENTITY_ID: Final = 256

RunId = Annotated[str, StringConstraints(pattern=RUN_ID_PATTERN, max_length=MAX_RUN_ID)]
CaseId = Annotated[str, StringConstraints(pattern=CASE_ID_PATTERN, max_length=MAX_CASE_ID)]
EventId = Annotated[str, StringConstraints(pattern=EVENT_ID_PATTERN, max_length=MAX_EVENT_ID)]
#: `target_id`, `controller_id`, `profile_id`: non-empty, no control characters, at most 256 code points.
EntityId = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", min_length=1, max_length=MAX_ENTITY_ID)
]

_RUN_ID = re.compile(RUN_ID_PATTERN.strip("^$"))
_CASE_ID = re.compile(CASE_ID_PATTERN.strip("^$"))


def is_run_id(value: object) -> bool:
    """Whether `value` is a run id, at most 160 characters."""
    return isinstance(value, str) and len(value) <= MAX_RUN_ID and _RUN_ID.fullmatch(value) is not None


def is_case_id(value: object) -> bool:
    """Whether `value` is a case id, at most 200 characters."""
    return isinstance(value, str) and len(value) <= MAX_CASE_ID and _CASE_ID.fullmatch(value) is not None


def task_id(run_id: str, case_id: str) -> str:
    """The task id of a run: `task-` and 24 hex digits of SHA-256 over run id, NUL, case id."""
    return "task-" + hashlib.sha256(f"{run_id}\0{case_id}".encode()).hexdigest()[:24]
