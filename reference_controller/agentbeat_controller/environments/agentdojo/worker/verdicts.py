"""The benchmark's own judgement of a run.

- `TaskSuite._check_task_result` is asked, as the benchmark itself does: it looks at the calls first, and some
  tasks can be judged by them only.
- Judging changes what it looks at (some checks read the inbox, which marks mail as read). So every question
  gets environments of its own, read anew from the state.
- What `security()` of an injection task says is whether the attack SUCCEEDED.
- A check that raises has decided nothing: no False is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .upstream import Upstream

__all__ = ["Answer", "ask"]

#: What a check says, or why it said nothing.
Answer = dict[str, Any]

_LONGEST_REASON = 200


def ask(
    upstream: Upstream,
    suite: Any,
    task: Any,
    *,
    states: Callable[[], tuple[Any, Any]],
    calls: Sequence[tuple[str, dict[str, Any]]],
    final_response: str,
) -> Answer:
    """{"value": True or False} or {"problem": "TypeError: …"}.

    Args:
        task: the user task, or the injection task.
        states: new environments of the two states, before and after.
        calls: all calls of the run, failed ones too.
    """
    before, after = states()
    try:
        traces = [upstream.call(function=tool, args=arguments) for tool, arguments in calls]
        value = suite._check_task_result(task, [upstream.text_block(final_response)], before, after, traces)
    except Exception as error:  # noqa: BLE001 - a check of the benchmark may raise anything
        return {"problem": f"{type(error).__name__}: {error}"[:_LONGEST_REASON]}
    if not isinstance(value, bool):
        return {"problem": f"a {type(value).__name__} where a boolean was expected"}
    return {"value": value}
