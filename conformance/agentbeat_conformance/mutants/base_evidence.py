"""What the base Target writes down of a run: events in order, and the L2 document made of them.

Mutants of the evidence rules change the finished document, or override one of the few steps here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agentbeat_protocol import Instant, Invocation

__all__ = ["TASKS", "Recording"]

#: Tasks for which the base Target's Agent uses its tools; given to the suite as `--task`.
TASKS: Final = (
    "Use your tools: find the note about tea and add a line to it.",
    "Use your tools: find the note about bread and add a line to it.",
)

_LONGEST_TEXT: Final = 32_768
#: Other people's secrets by their shape; the Target's own never gets into a text (EVD-13).
_SECRET = re.compile(r"(?<=Bearer )[^\s\"',;]+|(?<![A-Za-z])sk-[A-Za-z0-9_\-]{6,}")


class Recording:
    """The events of one run."""

    def __init__(self, invocation: Invocation) -> None:
        self.invocation = invocation
        self.started_at = str(Instant.now())
        self.events: list[dict[str, Any]] = []
        self._calls = 0

    def add(self, type: str, data: Mapping[str, Any]) -> None:
        """Append an event; `attributes` is there without being given."""
        number = len(self.events)
        self.events.append(
            {
                "event_id": f"{self.invocation.run_id}:event:{number}",
                "sequence": number,
                "occurred_at": str(Instant.now()),
                "source": "agent",
                "type": type,
                "data": {**data, "attributes": {}},
            }
        )

    def message(self, role: str, text: str) -> None:
        """A whole message, without secrets, at most its first 32,768 code points."""
        self.add("message", {"role": role, "text": _SECRET.sub("[redacted]", text)[:_LONGEST_TEXT]})

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """A tool call that is not answered yet; its call id."""
        self._calls += 1
        call_id = f"call-{self._calls}"
        self.add("tool.call", {"call_id": call_id, "name": name, "arguments": dict(arguments)})
        return call_id

    def result(self, call_id: str, name: str, result: object) -> None:
        """The answer to an earlier call."""
        self.add("tool.result", {"call_id": call_id, "name": name, "result": result, "is_error": False})

    def document(self) -> dict[str, Any]:
        """The finished document, as its members."""
        return {
            "schema_version": "target-evidence-v1",
            "run_id": self.invocation.run_id,
            "case_id": self.invocation.case_id,
            "assurance_level": "L2",
            "observed_channels": ["messages", "tools"],
            "started_at": self.started_at,
            "finished_at": str(Instant.now()),
            "events": self.events,
        }
