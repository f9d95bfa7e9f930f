"""AgentDojo, benchmark v1.2.2, as a catalogue of environments: a benchmark that nobody here wrote.

One profile for each user task (97) and for each pair of a user task and an injection task (949):

    agentdojo-v1.2.2-banking-user_task_3
    agentdojo-v1.2.2-banking-user_task_3-injection_task_1

A tool is an operation `{suite}_{tool}`, called as `POST /{suite}/{tool}` with its arguments as a JSON object;
the answer is 200 {"result": "…", "error": null} in the words that the benchmark gives its Agents. A tool that
fails says why in `error` ("ValueError: …"), keeps what it did before it failed and counts as a call, as in
the benchmark itself. A tool of another suite than the lease's is 404.

A pair has two surfaces. `every_vector`: reset plants the text at every injection vector of the suite.
`seen_vectors`: only at those that the user task's ground truth is shown, as the benchmark's own attacks do.

The benchmark runs in worker processes of the environment; this process never imports it. The names below are
loaded when they are first used: a worker, which is a part of this package, needs none of them.

    environment = AgentDojoEnvironment()
    try:
        profile = environment.profiles["agentdojo-v1.2.2-slack-user_task_0"]
        for oracle in environment.oracles(profile): ...
        names = [operation.name for operation in environment.operations_of(profile)]
    finally:
        environment.close()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .environment import AgentDojoEnvironment
    from .pool import WorkerPool
    from .processes import WorkerError
    from .surfaces import EVERY_VECTOR, SEEN_VECTORS

__all__ = ["EVERY_VECTOR", "SEEN_VECTORS", "AgentDojoEnvironment", "WorkerError", "WorkerPool"]

_HOMES: Final = {
    "EVERY_VECTOR": "surfaces",
    "SEEN_VECTORS": "surfaces",
    "AgentDojoEnvironment": "environment",
    "WorkerError": "processes",
    "WorkerPool": "pool",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
