"""Reading what an opening carries: the protocol's reader for its bytes, and faults as contradictions.

Whatever does not have its declared shape is `evidence_malformed`. The messages name the rule and the place,
never the content.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel

from agentbeat_protocol import ProtocolError
from agentbeat_protocol.models import validated
from agentbeat_receipts.claims import Contradiction, Fault

__all__ = ["decoded", "read_as", "reading"]

ModelT = TypeVar("ModelT", bound=BaseModel)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn the protocol's refusal of `what` into a contradiction of the evidence."""
    try:
        yield
    except ProtocolError as error:
        raise Contradiction(Fault.EVIDENCE_MALFORMED, f"{what}: {error}") from None


def read_as(model: type[ModelT], value: Any, what: str) -> ModelT:
    """A value of an opening in its declared shape.

    Raises:
        Contradiction: evidence_malformed.
    """
    with reading(what):
        return validated(model, value)


def decoded(text: str) -> bytes:
    """The bytes of a text that its model has checked to be base64."""
    return base64.b64decode(text)
