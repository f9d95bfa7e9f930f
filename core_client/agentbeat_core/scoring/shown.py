"""What the judge is shown of a run: the projected evidence, one JSON value a line, up to a bound.

First the state of each channel, then the final response, the State Controller's verdicts and checks at
L3, and the events in their order. A line cannot hold a line break, so no text of the Agent's can begin a
line of its own; characters that a reader does not see, such as bidirectional controls and tags, are
shown as escapes.

A line over `MAX_LINE` is cut, and from the first that goes past `MAX_SHOWN` on all are left out, both
visibly: `whole` is then false, for a judge who was not shown everything has not judged everything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_protocol.evaluation import StateReport
from agentbeat_protocol.evidence import Event
from agentbeat_protocol.scoring import PROJECTED, Projection

__all__ = ["MAX_LINE", "MAX_SHOWN", "ShownEvidence", "json_line", "shown_evidence"]

#: The longest line, and the most of all lines together, in code points.
MAX_LINE: Final = 40_000
MAX_SHOWN: Final = 240_000

#: Line breaks that JSON leaves alone, other controls, and characters that print as nothing.
_UNSEEN: Final = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """The lines for the judge, and whether they are all there is."""

    lines: tuple[str, ...]
    whole: bool


def shown_evidence(projection: Projection) -> ShownEvidence:
    """The evidence of a projection as the judge is shown it."""
    values: list[dict[str, Any] | Event] = [*_head(projection), *projection.events]
    lines: list[str] = []
    whole, room = True, MAX_SHOWN
    for index, value in enumerate(values):
        line, uncut = _bounded(value if isinstance(value, dict) else _event(value))
        if len(line) > room:
            lines.append(json_line({"left_out": len(values) - index}))
            return ShownEvidence(tuple(lines), whole=False)
        lines.append(line)
        whole, room = whole and uncut, room - len(line)
    return ShownEvidence(tuple(lines), whole)


def json_line(value: Any) -> str:
    """`value` as JSON on one line, what cannot be seen escaped."""
    return _UNSEEN.sub(_escape, json.dumps(value, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _bounded(value: dict[str, Any]) -> tuple[str, bool]:
    line = json_line(value)
    if len(line) <= MAX_LINE:
        return line, True
    # The beginning of the line as a string: the escapes in it at most double its length.
    beginning = line[: MAX_LINE // 2]
    return json_line(
        {"channel": value["channel"], "length": len(line), "only_its_beginning": beginning}
    ), False


def _head(projection: Projection) -> Iterator[dict[str, Any]]:
    for each in projection.channels:
        yield each.model_dump(mode="json", exclude_none=True)
    if projection.final_response is not None:
        yield {"channel": "final_response", "text": projection.final_response}
    if projection.state is not None:
        yield from _native(projection.state)


def _native(state: StateReport) -> Iterator[dict[str, Any]]:
    judged = state.model_dump(mode="json", include={"verdicts", "native_score"}, exclude_none=True)
    yield {"channel": "native_score", **judged}
    for check in state.checks:
        yield {"channel": "state_before_after", "check": check.model_dump(mode="json", exclude_none=True)}


def _event(event: Event) -> dict[str, Any]:
    return {
        "channel": PROJECTED[event.type],
        "sequence": event.sequence,
        "type": event.type,
        "source": event.source,
        "data": event.data.model_dump(mode="json", exclude_unset=True),
    }
