"""What frames the runs: a ticket before each, a checkpoint over all tickets, a closing record at the end.

All are signed by the ingress authority. A ticket names the time anchor's token by digest: it was made after
the token, whatever the operator's clock said. Before the closing record is published outside, a replacement
of the whole chain cannot be seen.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import (
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
)

from agentbeat_protocol.models import Digest
from agentbeat_receipts.objects.base import Body, Counted, Id, SomeOf, type_name
from agentbeat_receipts.objects.kept_lists import KeptList

__all__ = ["Checkpoint", "ClosingRecord", "Ticket"]


class Ticket(Body):
    """One assignment may run now."""

    TYPE: ClassVar[str] = type_name("ticket")

    manifest: Digest
    assignment: Id
    #: SHA-256 over the anchor token's bytes; null without an anchor.
    anchor: Digest | None


def _digests(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    # The digests of a list were checked one by one, and put in order.
    return value if isinstance(value, KeptList) else handler(value)


def _written_digests(value: Any, handler: SerializerFunctionWrapHandler) -> Any:
    return handler(tuple(value))


class Checkpoint(Body):
    """These are all the tickets; receipts begin after it, and the first one's `previous` is its digest."""

    TYPE: ClassVar[str] = type_name("checkpoint")

    manifest: Digest
    anchor: Digest | None
    #: A tuple, or where there are many the list that equals it.
    tickets: Annotated[SomeOf[Digest], WrapValidator(_digests), WrapSerializer(_written_digests)]


class ClosingRecord(Body):
    """So many receipts were written, and this is the last."""

    TYPE: ClassVar[str] = type_name("closing-record")

    manifest: Digest
    count: Counted
    #: Digest of the last receipt; where there is none, what the first one would have had as `previous`.
    head: Digest
