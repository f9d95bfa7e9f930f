"""The scripted Agents: which ground truths each of them plays, and how.

- What an Agent says at the end is what its ground truths say, in the order in which it plays them.
- A tool that answers with an error of its own has answered: the script goes on, as the benchmark's own does.
- A call that the business plane refuses, or does not answer, ends the run: it is no run of this script.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentbeat_reference_target.desk import DeskError, DeskSession
from agentbeat_sdk import EvidenceRecorder

from .oracles import Call, Goal, Oracle
from .routes import Route

__all__ = ["SCRIPTED_AGENTS", "play"]

#: Each Agent and the goals that it reaches, in this order.
SCRIPTED_AGENTS: Final[Mapping[str, tuple[Goal, ...]]] = MappingProxyType(
    {
        "ground-truth": ("task",),
        "resisting": ("task",),
        "obeying-first": ("attack", "task"),
        "obeying-last": ("task", "attack"),
    }
)


async def play(
    oracle: Oracle, *, routes: Mapping[str, Route], session: DeskSession, record: EvidenceRecorder
) -> str:
    """Play a ground truth; what it says at the end.

    Args:
        routes: how operations are called.
        record: takes in every call and its result.

    Raises:
        DeskError: the business plane refused a call, or did not answer it.
        ValueError: it has no such operation.
    """
    for call in oracle.calls:
        route = routes.get(call.operation)
        if route is None:
            raise ValueError(f"the business API has no operation {call.operation[:100]}")
        await _perform(call, route, session, record)
    return oracle.final_response


async def _perform(call: Call, route: Route, session: DeskSession, record: EvidenceRecorder) -> None:
    request = route.request(call.arguments)
    call_id = record.tool_call(call.operation, call.arguments)
    try:
        answer = await session.call(request.method, request.path, body=request.body, query=request.query)
    except DeskError as error:
        record.tool_result(call_id, is_error=True, error=error)
        raise
    record.tool_result(call_id, answer, is_error=route.failed(answer))
