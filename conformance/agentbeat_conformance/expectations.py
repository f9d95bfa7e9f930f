"""What checks expect of an answer, each as a function that gives the findings against it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.requirements import Finding
from agentbeat_protocol import ProtocolError, read_error

__all__ = ["enveloped", "permitted"]


def permitted(exchange: Exchange, permits: Collection[str], what: str) -> Iterator[Finding]:
    """The outcome is one of those permitted.

    Args:
        what: the case in a few words, such as "a body of `[]`".
    """
    if exchange.outcome not in permits:
        expected = " or ".join(sorted(permits))
        yield Finding(f"{what}: got {exchange.outcome}, expected {expected}", exchange.index)


def enveloped(exchange: Exchange, what: str) -> Iterator[Finding]:
    """A refusal carries the error envelope as JSON (INV-10)."""
    answer = exchange.answer
    if answer is None:
        return
    media_type = (answer.value("content-type") or "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        got = media_type or "no media type"
        yield Finding(f"{what}: got {got}, expected application/json", exchange.index)
    try:
        read_error(answer.body)
    except ProtocolError as error:
        where = error.path or "the body"
        yield Finding(f"{what}: got {error.got} at {where}, expected the error envelope", exchange.index)
