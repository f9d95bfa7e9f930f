"""A function as a tool: an operation of the business plane, made from its signature.

The first parameter is the place; the others are the tool's arguments, each with a plain JSON type (`str`,
`int`, `float`, `bool`, `list`, `dict`, `None`, `Literal`, a pydantic model). The docstring's first line says
what the tool does.

    def sell(place: str, item: str, count: int = 1) -> int:
        "Sell something; the number that is left."

becomes `POST /tools/sell` with the JSON body `{"item": …, "count": …}`, and the answer is the returned value.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

from pydantic import BaseModel, ConfigDict, JsonValue, RootModel, create_model
from pydantic_core import to_jsonable_python

from agentbeat_controller.environments.operations import Call, Operation, Refusal
from agentbeat_protocol import cut

__all__ = ["Declined", "Tool", "ToolAnswer", "as_operation", "as_tool"]

_log = logging.getLogger("agentbeat.controller")

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Declined(Refusal):
    """A tool declines: it has changed nothing, and the Agent is told why.

    Args:
        message: for the Agent.
        code: snake_case; what the log of calls keeps.
        status: the HTTP status, a 4xx one.
    """

    def __init__(self, message: str, *, code: str = "declined", status: int = 409) -> None:
        if not (_NAME.fullmatch(code) and 400 <= status <= 499):
            raise ValueError("expected a snake_case code and a 4xx status")
        super().__init__(code, message)
        self._status = status

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._status


class ToolAnswer(RootModel[JsonValue]):
    """What the tool returned."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool: its name, what it does, the model of its arguments and the function behind it."""

    name: str
    summary: str
    arguments: type[BaseModel]
    function: Callable[..., Any]


def as_tool(function: Callable[..., Any] | Tool) -> Tool:
    """The tool that a function describes.

    Raises:
        ValueError: no usable name, no place, or an argument without a type.
    """
    if isinstance(function, Tool):
        return function
    name = getattr(function, "__name__", "")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"a tool's name: got {cut(name, 64)!r}, expected snake_case of at most 64 characters"
        )
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind not in _POSITIONAL:
        raise ValueError(f"{name}: expected the place as the first parameter")
    fields: dict[str, Any] = {}
    for each in parameters[1:]:
        if each.kind not in _NAMED or each.name not in hints:
            raise ValueError(f"{name}: {each.name}: expected a named argument with a type")
        required = each.default is inspect.Parameter.empty
        fields[each.name] = (hints[each.name], ... if required else each.default)
    model = create_model(
        f"{name}_arguments", __config__=ConfigDict(strict=True, extra="forbid", frozen=True), **fields
    )
    text = inspect.getdoc(function) or name.replace("_", " ")
    model.__doc__ = text
    return Tool(name=name, summary=text.splitlines()[0], arguments=model, function=function)


_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def as_operation(tool: Tool, place_of: Callable[[Call], str]) -> Operation:
    """The tool as an operation of the business plane.

    Args:
        place_of: the place that a call works on.
    """

    def run(call: Call, asked: BaseModel) -> ToolAnswer:
        place = place_of(call)
        given = {name: getattr(asked, name) for name in asked.model_fields_set}
        try:
            return ToolAnswer.model_validate(to_jsonable_python(tool.function(place, **given)))
        except Refusal:
            raise
        except Exception as error:
            # Not a refusal: the tool may have done anything before it failed. The log keeps that.
            _log.exception("the tool %s failed", tool.name)
            raise Refusal("internal_error", "the tool failed; what it did is not known") from error

    return Operation(
        name=tool.name,
        method="POST",
        path=f"/tools/{tool.name}",
        summary=tool.summary,
        arguments=tool.arguments,
        answer=ToolAnswer,
        run=run,
    )
