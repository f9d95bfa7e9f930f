"""A result in full as plain text: its findings, the exchanges that show them, how to repeat those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.outcomes import Result
from agentbeat_conformance.reports.excerpts import answer_text, request_text, visible

__all__ = ["SEQUENCE", "details", "leading_to", "shown_by"]

#: What stands above the commands of a sequence.
SEQUENCE: Final = (
    "the requests that lead there, in order (ids of later ones stand in answers to earlier ones):"
)

#: How much of a body is shown, in characters.
_BODY: Final = 500
_EXCHANGES: Final = 3


def shown_by(result: Result, exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """The exchanges that the result's findings point at, each once; without findings all of the check's."""
    named = [finding.exchange for finding in result.findings if finding.exchange is not None]
    indexes = dict.fromkeys(named if result.findings else result.exchanges)
    return tuple(exchanges[index] for index in indexes if 0 <= index < len(exchanges))


def leading_to(result: Result, exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """The exchanges that lead to the result's first finding, in order; none where one exchange shows it."""
    indexes = next((finding.before for finding in result.findings if finding.before), ())
    return tuple(exchanges[index] for index in indexes if 0 <= index < len(exchanges))


def details(
    result: Result, exchanges: Sequence[Exchange], *, repeat: Callable[[Exchange], str | None]
) -> str:
    """The result as text.

    Args:
        exchanges: the whole transcript, each at its index.
        repeat: gives the command that repeats an exchange; None when there is none.
    """
    lines = [visible(finding.message) for finding in result.findings]
    for exchange in shown_by(result, exchanges)[:_EXCHANGES]:
        lines += ["", request_text(exchange.request, limit=_BODY), "", answer_text(exchange, limit=_BODY)]
        command = repeat(exchange)
        lines += [] if command is None else ["", command]
    sequence = [repeat(exchange) for exchange in leading_to(result, exchanges)]
    if any(sequence):
        lines += ["", SEQUENCE, *(command or "(too long for a command line)" for command in sequence)]
    return "\n".join(lines)
