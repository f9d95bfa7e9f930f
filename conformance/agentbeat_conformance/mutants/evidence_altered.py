"""Targets whose finished document is altered before it is kept: the ground of the evidence mutants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentbeat_conformance.mutants.base_evidence import Recording
from agentbeat_conformance.mutants.base_target import BaseTarget

__all__ = ["AlteredDocument", "Event", "every_event", "inserted", "numbered"]

Event = dict[str, Any]


class AlteredDocument(BaseTarget):
    """A Target that keeps another document than it recorded."""

    def document(self, recording: Recording) -> dict[str, Any]:
        """The document as the mutant wants it."""
        document = recording.document()
        self.alter(document)
        return document

    def alter(self, document: dict[str, Any]) -> None:
        """Change the document in place."""
        raise NotImplementedError


def numbered(document: Mapping[str, Any]) -> None:
    """Number the events anew in the order in which they stand."""
    for number, event in enumerate(document["events"]):
        event["sequence"] = number
        event["event_id"] = f"{document['run_id']}:event:{number}"


def inserted(document: dict[str, Any], type: str, data: Mapping[str, Any], *, at: int = 1) -> Event:
    """A new event in the document; the others are numbered on."""
    event = {
        "event_id": "",
        "sequence": 0,
        "occurred_at": document["started_at"],
        "source": "agent",
        "type": type,
        "data": {**data, "attributes": {}},
    }
    document["events"].insert(at, event)
    numbered(document)
    return event


def every_event(document: Mapping[str, Any], type: str, change: Callable[[Event], object]) -> None:
    """Change the events of a type in place."""
    for event in document["events"]:
        if event["type"] == type:
            change(event)
