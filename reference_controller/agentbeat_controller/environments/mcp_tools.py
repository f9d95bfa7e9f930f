"""A table of operations as MCP tools: what they are called, what they take, and one call through the door.

An `Operation` is the one description of a tool: HTTP route, OpenAPI document, log and MCP all come from it.
A call takes the way that a request to its route takes: the same model reads the arguments, the door decides
by run, window and lease, and the plane's `Caller` runs it and writes its one line in the log. So the log does
not show which of the two ways a call came.

Nothing here needs the MCP library; `mcp_server` speaks the protocol.

    toolbox = Toolbox(operations=OPERATIONS, operations_of=None, door=door, caller=call_through)
    tools = CallerTools(toolbox=toolbox, deployment="deployment-desk", run_id="run-1")
    tools.call("get_order", {"order_id": "ORD-1003"}).body
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentbeat_protocol import is_run_id

from .operations import Operation, Outcome, Refusal
from .requests import arguments_of

if TYPE_CHECKING:
    from .base import BusinessDoor
    from .plane import Caller

__all__ = ["CallerTools", "OperationsOf", "Toolbox", "UnknownToolError", "tool_members"]

#: The operations that a profile offers, by profile id; for environments whose profiles differ in them.
OperationsOf = Callable[[str], Sequence[Operation]]


class UnknownToolError(Exception):
    """The caller has no tool of this name. Nothing has happened, and the log has no line: as for a route."""


@dataclass(frozen=True, kw_only=True)
class Toolbox:
    """What one business plane offers.

    Args:
        operations: every operation of the environment, each name once.
        operations_of: the operations of a profile; None where every profile offers all of them. That a
            call of another profile's operation is refused is `caller`'s part, as for a request to a route.
        caller: takes a call through the door.

    Raises:
        ValueError: two operations have one name.
    """

    operations: Sequence[Operation]
    operations_of: OperationsOf | None
    door: BusinessDoor
    caller: Caller

    def __post_init__(self) -> None:
        names = [operation.name for operation in self.operations]
        if len(set(names)) != len(names):
            raise ValueError("two operations have the same name")

    @cached_property
    def by_name(self) -> Mapping[str, Operation]:
        """The operations by their names."""
        return {operation.name: operation for operation in self.operations}


@dataclass(frozen=True, kw_only=True)
class CallerTools:
    """The tools of one caller, for the time of one request. Both methods block; call them in a thread.

    Args:
        deployment: who calls, from the secret.
        run_id: the header `X-AIBeat-Run-ID`, or None where it is missing.
    """

    toolbox: Toolbox
    deployment: str
    run_id: str | None

    def listed(self) -> Sequence[Operation]:
        """The operations that this caller may call.

        Where they depend on the profile, the lease decides, so the window must be open; where they do not,
        the list says no more than the OpenAPI document, which is open too.

        Raises:
            Refusal: no such run.
            ProtocolError: what `BusinessDoor.enter` raises.
        """
        operations_of = self.toolbox.operations_of
        if operations_of is None:
            return self.toolbox.operations
        self._check_run()
        with self.toolbox.door.enter(self.deployment, self.run_id) as entry:
            return operations_of(entry.profile_id)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """One call of a tool.

        Raises:
            UnknownToolError: no such tool.
            Refusal: no such run.
            ProtocolError: what `BusinessDoor.enter` raises.
        """
        self._check_run()
        operation = self.toolbox.by_name.get(name)
        if operation is None:
            raise UnknownToolError
        asked = arguments_of(operation, arguments)
        return self.toolbox.caller(self.toolbox.door, self.deployment, self.run_id, operation, asked)

    def _check_run(self) -> None:
        if self.run_id is not None and not is_run_id(self.run_id):
            raise Refusal("not_found", "no such run")


def tool_members(operation: Operation) -> dict[str, Any]:
    """A tool's members in `tools/list`, as the protocol spells them."""
    schema = operation.arguments_schema()
    answer = operation.answer.model_json_schema(mode="serialization")
    about = schema.get("description", "")
    members: dict[str, Any] = {
        "name": operation.name,
        "title": operation.summary,
        "description": f"{operation.summary}. {about}".strip() if about else operation.summary,
        "inputSchema": {
            "type": "object",
            "properties": schema.get("properties", {}),
            "required": schema.get("required", []),
            "additionalProperties": False,
            **({"$defs": schema["$defs"]} if "$defs" in schema else {}),
        },
        # A hint for whoever asks a person before a change; nothing is enforced by it.
        "annotations": {"readOnlyHint": operation.method == "GET"},
    }
    if answer.get("type") == "object":
        members["outputSchema"] = answer
    return members
