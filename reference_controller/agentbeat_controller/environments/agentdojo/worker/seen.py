"""Which vectors a user task meets: those whose text a tool shows to who plays its ground truth.

The benchmark's own attacks plant their text there and nowhere else. It matters to their verdicts: some checks
search all mail for the attack's own words, and find an injection that stands in a mail.
"""

from __future__ import annotations

from typing import Any

from .starts import Starts
from .truths import task_truth

__all__ = ["seen_vectors"]


def seen_vectors(starts: Starts, runtime: Any, user_task: Any) -> tuple[str, ...]:
    """The vectors that the task meets, in the benchmark's order; each of its tasks meets one at least.

    Args:
        runtime: a `FunctionsRuntime` with the suite's tools.
    """
    # No space in them: nothing that is shown breaks them over two lines.
    canaries = {vector: f"<CANARY:{vector}:>" for vector in starts.vectors}
    environment = starts.start(user_task, canaries)
    calls, _ = task_truth(user_task, environment)
    shown = "".join(str(runtime.run_function(environment, tool, given)[0]) for tool, given in calls)
    return tuple(vector for vector, canary in canaries.items() if canary in shown)
