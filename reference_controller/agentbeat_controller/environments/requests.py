"""From an HTTP request to an operation's arguments, or to the refusal that reading them ends in.

    GET    the path's placeholders and the query, each name once
    others the path's placeholders and a JSON object, read strictly (INV-8)

A placeholder that is no id of a record is 404 `not_found`: no such record exists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel
from starlette.requests import Request

from agentbeat_controller.front import read_body
from agentbeat_protocol import ProtocolError, read_json
from agentbeat_protocol.models import validated

from .operations import Operation, Refusal

__all__ = ["BusinessLimits", "arguments_of", "read_arguments"]

_RECORD_ID: Final = re.compile(r"[A-Z]{3}-[0-9]{1,9}")


@dataclass(frozen=True, kw_only=True)
class BusinessLimits:
    """Bounds of one business request."""

    body_bytes: int = 64 * 1024
    #: From the first look at the body to its end.
    body_seconds: float = 10.0
    #: Levels of arrays and objects.
    body_depth: int = 16


async def read_arguments(
    request: Request, operation: Operation, limits: BusinessLimits
) -> BaseModel | Refusal:
    """The valid arguments of a request, or the refusal that goes to the log and to the client."""
    try:
        given = dict(_placeholders(request.path_params))
        rest = _query(request) if operation.method == "GET" else await _object(request, limits)
        if twice := given.keys() & rest.keys():
            return Refusal("invalid_request", f"expected {sorted(twice)[0]} in the path only")
        return arguments_of(operation, given | rest)
    except ProtocolError as error:
        return _refusal(error)
    except Refusal as refusal:
        return refusal


def arguments_of(operation: Operation, given: Mapping[str, Any]) -> BaseModel | Refusal:
    """The valid arguments among JSON members, those of the path too, or the refusal that they end in."""
    try:
        # What is no text at all cannot stand in a path: the model says so.
        in_path = {name: given.get(name) for name in operation.path_arguments}
        _placeholders({name: value for name, value in in_path.items() if isinstance(value, str)})
        return validated(operation.arguments, dict(given), code="invalid_request")
    except ProtocolError as error:
        return _refusal(error)
    except Refusal as refusal:
        return refusal


def _refusal(error: ProtocolError) -> Refusal:
    return Refusal(error.code, error.envelope()["error"]["message"])


def _placeholders(values: Mapping[str, Any]) -> Mapping[str, Any]:
    if not all(_RECORD_ID.fullmatch(str(value)) for value in values.values()):
        raise Refusal("not_found", "no such record")
    return values


def _query(request: Request) -> dict[str, Any]:
    pairs = request.query_params.multi_items()
    values = dict(pairs)
    if len(values) != len(pairs):
        raise Refusal("invalid_request", "expected each name of the query once")
    return values


async def _object(request: Request, limits: BusinessLimits) -> dict[str, Any]:
    raw = await read_body(
        request.scope, request.receive, max_bytes=limits.body_bytes, seconds=limits.body_seconds
    )
    value = read_json(raw, max_bytes=limits.body_bytes, max_depth=limits.body_depth)
    if not isinstance(value, dict):
        raise Refusal("invalid_request", "expected a JSON object")
    return value
