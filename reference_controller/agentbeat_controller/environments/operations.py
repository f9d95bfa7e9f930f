"""What a business application offers, described once: for HTTP, for its OpenAPI document, for its log.

An `Operation` names a route, the model of its arguments and of its answer, the refusals that it may give
and the function that does the work inside the caller's transaction. `perform` runs one and keeps the books:

- An operation that refuses (`Refusal`) has changed no record: it runs inside a savepoint.
- Each call that came through the door has exactly one line in the log, refused ones too (CTL-8).
- An operation that ends in a fault, or gives what cannot be written as JSON, is refused as `internal_error`:
  the answer is written before its line is, so the log never says 200 of a call that had no answer.
- Past the log's bounds a call is refused and does not run: nothing happens that the log does not show.

>>> Refusal("not_found", "no such order").status
404
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from sqlalchemy.exc import SQLAlchemyError

from agentbeat_controller.refusals import RetryLaterError
from agentbeat_protocol import CONTROLLER_CODES, TARGET_CODES, error_envelope

from . import calls
from .containment import contained

if TYPE_CHECKING:
    from pydantic import BaseModel
    from sqlalchemy import Connection

    from .base import Entry

__all__ = [
    "BUSINESS_CODES",
    "Call",
    "Method",
    "Operation",
    "Outcome",
    "Refusal",
    "perform",
    "refused",
    "written",
]

_log = logging.getLogger("agentbeat.controller")

Method = Literal["GET", "POST", "PUT", "PATCH"]

#: The error codes of the business plane that the protocol does not have, and their HTTP status.
BUSINESS_CODES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "email_in_use": 409,
        "order_not_changeable": 409,
        "order_not_refundable": 409,
        "refund_exceeds_remaining": 409,
        "status_conflict": 409,
        "ticket_closed": 409,
        "call_limit_reached": 429,
    }
)

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class Refusal(Exception):  # noqa: N818 - a business answer, not a fault
    """The application declines a call; no record has changed.

    Args:
        code: snake_case, one of the protocol's codes or of `BUSINESS_CODES`.
        message: for people; without secrets and without values of the request.

    Raises:
        TypeError, ValueError: the message is no text that can be sent.
    """

    def __init__(self, code: str, message: str) -> None:
        if not isinstance(message, str):
            raise TypeError(f"got a {type(message).__name__}, expected a text")
        message.encode()
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return status_of_code(self.code)


def status_of_code(code: str) -> int:
    """The HTTP status of any code that the business plane answers with; an unknown one is 500."""
    for table in (BUSINESS_CODES, TARGET_CODES, CONTROLLER_CODES):
        if code in table:
            return table[code]
    return 500


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call as an operation sees it.

    Args:
        connection: inside the transaction that the call is part of.
        environment_id: whose records it works on.
        sequence: the call's place in the environment's log, from 1. It is the environment's clock: no
            record depends on the time of day.
    """

    connection: Connection
    environment_id: str
    sequence: int


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of a business application: a tool for the Agent and a route of the API.

    Args:
        name: snake_case; the tool's name and the document's `operationId`.
        path: the route, with `{placeholders}` named as members of `arguments`.
        arguments: a strict model of all arguments: those of the path, and of the query (GET) or the body.
        schema: the JSON Schema of the arguments for people and tools, without `$ref`, where the application
            checks them by itself and `arguments` lets any object through; None: the model's own schema.
        refusals: the codes with which the operation itself may decline.
        failure: the member of the answer that says why the tool failed, and is null where it did not; None
            where the operation does not answer so. A failed tool has run: it may have changed something.
        run: does the work; raises `Refusal` to decline.
    """

    name: str
    method: Method
    path: str
    summary: str
    arguments: type[BaseModel]
    answer: type[BaseModel]
    run: Callable[[Call, Any], BaseModel]
    status: int = 200
    refusals: tuple[str, ...] = ()
    failure: str | None = None
    schema: Mapping[str, Any] | None = None
    path_arguments: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path_arguments", tuple(_PLACEHOLDER.findall(self.path)))

    def arguments_schema(self) -> dict[str, Any]:
        """The JSON Schema of all arguments: an object with `properties`, `required` and a `description`."""
        return dict(self.schema) if self.schema is not None else self.arguments.model_json_schema()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The answer to a call: an HTTP status and a JSON body.

    Args:
        failed: the call was answered, and the answer is that the tool failed (`Operation.failure`).
    """

    status: int
    body: Any
    failed: bool = False

    @cached_property
    def content(self) -> bytes:
        """The body as it goes out.

        Raises:
            ValueError: JSON has no form for it.
        """
        return written(self.body)


def perform(entry: Entry, operation: Operation, arguments: BaseModel | Refusal) -> Outcome:
    """Run one call inside the door's transaction and write its line in the log.

    Args:
        arguments: valid arguments, or the refusal that reading them ended in: that is logged too.
    """
    connection, environment_id = entry.connection, entry.environment_id
    sequence = calls.next_sequence(connection, environment_id)
    if sequence is None:
        return refused(Refusal("call_limit_reached", "this environment takes no more calls"))
    try:
        if isinstance(arguments, Refusal):
            raise arguments
        call = Call(connection=connection, environment_id=environment_id, sequence=sequence)
        with connection.begin_nested():
            outcome, error = _answer(operation, call, arguments), None
    except Refusal as refusal:
        outcome, error = refused(refusal), refusal.code
    calls.append(
        connection,
        environment_id,
        calls.LoggedCall(
            sequence=sequence,
            operation=operation.name,
            arguments=None
            if isinstance(arguments, Refusal)
            else arguments.model_dump(mode="json", exclude_unset=True),
            status=outcome.status,
            error=error,
        ),
    )
    return outcome


def _answer(operation: Operation, call: Call, arguments: BaseModel) -> Outcome:
    """The answer to a call, written.

    Raises:
        Refusal: what the operation declines with; `internal_error` for a fault of its own.
        RetryLaterError, SQLAlchemyError: nobody answers now; the call has no line, and may come again.
    """
    try:
        with contained():
            body = operation.run(call, arguments).model_dump(mode="json")
        failed = operation.failure is not None and body[operation.failure] is not None
        outcome = Outcome(status=operation.status, body=body, failed=failed)
        _ = outcome.content
    except (Refusal, RetryLaterError, SQLAlchemyError):
        raise
    except Exception as error:
        _log.exception("the operation %s failed", operation.name)
        raise Refusal("internal_error", "the application failed") from error
    return outcome


def written(value: Any) -> bytes:
    """A JSON value as it goes out.

    Raises:
        ValueError: JSON has no form for it, such as NaN or a lone surrogate.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no JSON value: {type(error).__name__}") from error


def refused(refusal: Refusal) -> Outcome:
    """The answer that declines a call."""
    return Outcome(status=refusal.status, body=error_envelope(refusal.code, refusal.message))
