"""The benchmark's tools as operations: `{suite}_{tool}`, `POST /{suite}/{tool}`.

The worker checks the arguments, with the benchmark's own models and in its own words, because a call with
wrong arguments is a call too. So any JSON object is let through here, and `schema` says what is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from agentbeat_controller.environments.operations import Call, Operation, Refusal

from . import states

__all__ = ["ToolAnswer", "ToolArguments", "read_operations"]


class ToolArguments(BaseModel):
    """Any arguments: the benchmark checks them."""

    model_config = ConfigDict(frozen=True, extra="allow")


class ToolAnswer(BaseModel):
    """What a tool answers, as the benchmark's Agents read it.

    `error` says why the tool failed, else it is null. What it did before it failed is kept.
    """

    model_config = ConfigDict(frozen=True)

    result: str
    error: str | None


class _Ask(Protocol):
    def __call__(self, request: dict[str, Any]) -> dict[str, Any]: ...


def read_operations(described: Mapping[str, Any], ask: _Ask) -> dict[str, tuple[Operation, ...]]:
    """The operations of each suite.

    Args:
        described: a worker's answer to `describe`.
        ask: asks a worker.
    """
    return {
        suite: tuple(_operation(suite, tool, ask) for tool in parts["tools"])
        for suite, parts in described["suites"].items()
    }


def _operation(suite: str, tool: Mapping[str, Any], ask: _Ask) -> Operation:
    return Operation(
        name=f"{suite}_{tool['name']}",
        method="POST",
        path=f"/{suite}/{tool['name']}",
        summary=f"{tool['name'].replace('_', ' ').capitalize()} ({suite})",
        arguments=ToolArguments,
        answer=ToolAnswer,
        failure="error",
        run=_runner(suite, tool["name"], ask),
        schema=tool["schema"],
    )


def _runner(suite: str, tool: str, ask: _Ask) -> Callable[[Call, ToolArguments], ToolAnswer]:
    def run(call: Call, arguments: ToolArguments) -> ToolAnswer:
        own_suite, state = states.held(call.connection, call.environment_id)
        if own_suite != suite:
            raise Refusal("not_found", "this environment has no such tool")
        given = arguments.model_dump(mode="json")
        answer = ask({"op": "call", "suite": suite, "state": state, "tool": tool, "arguments": given})
        if answer.get("refused") == "state_too_large":
            raise Refusal("call_limit_reached", "the environment's state would become too large")
        if "state" in answer:
            states.replace(call.connection, call.environment_id, answer["state"])
        return ToolAnswer(result=answer["result"], error=answer["error"])

    return run
