"""What was seen, and what was not: channels that are empty, cut short, or missing beside an honest state."""

from __future__ import annotations

from typing import Any, Final

from agentbeat_conformance.core_side.documents import BAD_TOOL
from agentbeat_conformance.core_side.expectations import observed, trace_alone_missing, truncated
from agentbeat_conformance.core_side.groups.deliveries import said
from agentbeat_conformance.core_side.scenarios import Scenario
from agentbeat_conformance.core_side.targets import evidence_document

__all__ = ["SCENARIOS"]

Object = dict[str, Any]


def _tools_silent(document: Object) -> Object:
    events = [each for each in document["events"] if not each["type"].startswith("tool.")]
    return document | {"events": _numbered(events, document["run_id"])}


def _dropped(document: Object) -> Object:
    """The Target says that it dropped a call, and its result, past its bound."""
    mark = {"name": "evidence.truncated", "attributes": {"dropped": {"tool.call": 1, "tool.result": 1}}}
    event = document["events"][0] | {"type": "lifecycle", "data": mark}
    events = [*document["events"][:3], event, document["events"][3]]
    return document | {"events": _numbered(events, document["run_id"])}


def _numbered(events: list[Object], run_id: str) -> list[Object]:
    return [
        event | {"sequence": index, "event_id": f"{run_id}:event:{index}"}
        for index, event in enumerate(events)
    ]


_SILENT: Final = Scenario(
    id="core.absence.observed-empty",
    rule="EVD-8",
    tier="L2",
    served="tools observed, and no tool was called",
    expects=observed("L2"),
    arrange=said(_tools_silent),
)
_TRUNCATED: Final = Scenario(
    id="core.absence.truncated",
    rule="Projection",
    tier="L2",
    served=f"evidence.truncated: a call was dropped, which may have been of {BAD_TOOL}",
    expects=truncated("tool_call"),
    arrange=said(_dropped),
)
_AT_L3: Final = Scenario(
    id="core.absence.trace-at-l3",
    rule="Projection",
    tier="L3",
    served="at L3 an honest State Controller, and evidence of another run",
    expects=trace_alone_missing(),
    arrange=said(lambda d: evidence_document("run-another", d["case_id"])),
)

SCENARIOS: Final = (_SILENT, _TRUNCATED, _AT_L3)
