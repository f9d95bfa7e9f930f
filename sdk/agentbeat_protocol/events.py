"""The events of `target-evidence-v1`: what each type holds, and the channel that it is observed on.

An event's `type` decides the shape of its `data`; `attributes`, `arguments`, `result`, `error` and `changes`
are the only open places. Lengths count Unicode code points.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints, model_validator

from agentbeat_protocol.identifiers import EventId
from agentbeat_protocol.models import (
    MAX_SAFE_INTEGER,
    Array,
    At,
    Integral,
    JSONObject,
    NotNull,
    Strict,
    rule_error,
)

__all__ = [
    "CHANNEL_OF",
    "MAX_TEXT",
    "TRUNCATED",
    "Channel",
    "CommandResult",
    "CommandResultEvent",
    "Event",
    "FileChange",
    "FileChangeEvent",
    "Lifecycle",
    "LifecycleEvent",
    "Message",
    "MessageDelta",
    "MessageDeltaEvent",
    "MessageEvent",
    "RunError",
    "RunErrorEvent",
    "ToolCall",
    "ToolCallEvent",
    "ToolResult",
    "ToolResultEvent",
]

#: The longest text of an event, in code points.
MAX_TEXT: Final = 32_768

#: The channel that each event type is observed on (EVD-8).
CHANNEL_OF: Final[Mapping[str, str]] = {
    "message": "messages",
    "message.delta": "messages",
    "tool.call": "tools",
    "tool.result": "tools",
    "command.result": "tools",
    "file.change": "files",
    "run.error": "messages",
    "lifecycle": "messages",
}

#: The `lifecycle` event that says: recording stopped at a bound, `attributes.dropped` counts what was lost.
TRUNCATED: Final = "evidence.truncated"

Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT)]
Output = Annotated[str, StringConstraints(max_length=MAX_TEXT)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Status = Annotated[Annotated[str, StringConstraints(max_length=128)] | None, NotNull]


class Message(Strict):
    """A whole message of the conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    text: Text
    attributes: JSONObject


class MessageDelta(Strict):
    """A piece of a message as it was streamed."""

    role: Literal["assistant", "tool"]
    delta: Text
    attributes: JSONObject


class ToolCall(Strict):
    """The Agent calls a tool. The call may stay unanswered."""

    call_id: Label
    name: Label
    arguments: JSONObject
    attributes: JSONObject


class ToolResult(Strict):
    """What the tool gave back for exactly one earlier call."""

    call_id: Label
    name: Label
    result: Any
    is_error: bool
    status: Status = None
    error: Any = None
    attributes: JSONObject


class CommandResult(Strict):
    """A command that the Agent ran, with its end."""

    command: Text
    exit_code: Annotated[int, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER), Integral]
    output: Output
    status: Status = None
    attributes: JSONObject


class FileChange(Strict):
    """A file that the Agent changed. The path is an observation; nobody opens it."""

    path: Text
    diff: Annotated[Output | None, NotNull] = None
    changes: Annotated[Array[Any] | None, NotNull] = None
    status: Status = None
    attributes: JSONObject

    @model_validator(mode="after")
    def _has_a_change(self) -> FileChange:
        if self.diff is None and self.changes is None:
            raise rule_error("S-REQUIRED", "at least one of diff and changes")
        return self


class RunError(Strict):
    """The run failed; the message says how."""

    message: Text
    attributes: JSONObject


class Lifecycle(Strict):
    """A step of the run itself, such as `evidence.truncated` or `guardrail.decision`."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    status: Status = None
    attributes: JSONObject


class _Event(Strict):
    event_id: EventId
    sequence: Annotated[int, Field(ge=0), Integral]
    occurred_at: At
    source: Annotated[str, StringConstraints(min_length=1, max_length=160)]


class MessageEvent(_Event):
    type: Literal["message"]
    data: Message


class MessageDeltaEvent(_Event):
    type: Literal["message.delta"]
    data: MessageDelta


class ToolCallEvent(_Event):
    type: Literal["tool.call"]
    data: ToolCall


class ToolResultEvent(_Event):
    type: Literal["tool.result"]
    data: ToolResult


class CommandResultEvent(_Event):
    type: Literal["command.result"]
    data: CommandResult


class FileChangeEvent(_Event):
    type: Literal["file.change"]
    data: FileChange


class RunErrorEvent(_Event):
    type: Literal["run.error"]
    data: RunError


class LifecycleEvent(_Event):
    type: Literal["lifecycle"]
    data: Lifecycle


Event = (
    MessageEvent
    | MessageDeltaEvent
    | ToolCallEvent
    | ToolResultEvent
    | CommandResultEvent
    | FileChangeEvent
    | RunErrorEvent
    | LifecycleEvent
)
Channel = Literal["messages", "tools", "files"]
