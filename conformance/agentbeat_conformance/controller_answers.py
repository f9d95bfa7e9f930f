"""What a State Controller's answers say, read as a tolerant reader would.

A member that the specs do not name accuses nobody: it is dropped before the shape is judged, and told apart
by `surplus`. All else is as strict as the protocol's own models.

    answer = read_answer(exchange, VerifyAnswer)
    answer.receipt.receipt_digest
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from agentbeat_conformance.exchanges import Exchange
from agentbeat_protocol import MAX_EVIDENCE_BYTES, ProtocolError, read_error, read_json
from agentbeat_protocol.models import validated

__all__ = ["error_code", "members_of", "read_answer", "surplus"]

ModelT = TypeVar("ModelT", bound=BaseModel)

#: How many members beyond the specs are dropped before the shape is given up.
_MOST_SURPLUS: Final = 100


def members_of(exchange: Exchange) -> Any:
    """The JSON of an answer's body, exactly as it was received.

    Raises:
        ProtocolError: it is no strict JSON, or there is no answer.
    """
    if exchange.answer is None:
        raise ProtocolError("CTL-1", got=exchange.outcome, expected="an answer")
    return read_json(exchange.answer.body, max_bytes=MAX_EVIDENCE_BYTES)


def read_answer(exchange: Exchange, model: type[ModelT]) -> ModelT:
    """The answer as a `model`, members that it does not know left out.

    Raises:
        ProtocolError: the first thing that does not fit.
    """
    value, _ = _known(members_of(exchange), model)
    return validated(model, value)


def surplus(exchange: Exchange, model: type[BaseModel]) -> tuple[str, ...]:
    """The pointers of the members that a `model` does not know, in the order in which they were met.

    Raises:
        ProtocolError: the answer has another shape.
    """
    value, dropped = _known(members_of(exchange), model)
    validated(model, value)
    return dropped


def error_code(exchange: Exchange) -> str | None:
    """The code of a refusal; None without a readable envelope."""
    if exchange.answer is None:
        return None
    try:
        return read_error(exchange.answer.body).code
    except ProtocolError:
        return None


def _known(value: Any, model: type[BaseModel]) -> tuple[Any, tuple[str, ...]]:
    """`value` without the members that `model` refuses as unknown, and their pointers."""
    dropped: list[str] = []
    for _ in range(_MOST_SURPLUS):
        try:
            validated(model, value)
        except ProtocolError as error:
            if error.rule != "S-ADDPROP" or error.path in dropped:
                break
            dropped.append(error.path)
            value = _without(value, tuple(_parts(error.path)))
        else:
            break
    return value, tuple(dropped)


def _parts(pointer: str) -> Iterator[str]:
    return (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _without(value: Any, parts: tuple[str, ...]) -> Any:
    """A copy of `value` without the member at the pointer; unchanged where the pointer leads nowhere."""
    if not parts:
        return value
    first, rest = parts[0], parts[1:]
    if isinstance(value, dict):
        if rest:
            return {name: _without(item, rest) if name == first else item for name, item in value.items()}
        return {name: item for name, item in value.items() if name != first}
    if isinstance(value, list) and rest:
        return [_without(item, rest) if str(at) == first else item for at, item in enumerate(value)]
    return value
