"""A Target with places to misbehave: honest in everything that a scenario leaves alone.

    target.reply = lambda reply: reply | {"evidence_ref": "//evil.example/x"}
    target.document = lambda document: b"[]"
    target.change["evidence"] = lambda answer: html_error(500)

`reply` and `document` change what is said, `change` how it is brought; it is given the honest answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from agentbeat_conformance.core_side.deliveries import JSON, Answer, json_answer, refusal
from agentbeat_conformance.core_side.servers import Arrival, Delivery, Journal, Server
from agentbeat_conformance.exchanges import Fields
from agentbeat_protocol import EVIDENCE_PATH, HEALTH_PATH, INVOCATION_PATH

__all__ = [
    "FINAL_RESPONSE",
    "GOOD_TOOL",
    "MARKER",
    "Change",
    "HostileTarget",
    "evidence_document",
    "unchanged",
]

Object = dict[str, Any]
#: From the honest answer to what is brought.
Change = Callable[[Answer], Delivery]

FINAL_RESPONSE: Final = "Order 7 is refunded."
#: The tool that the trace shows to have been called; the rules of the scenarios look for it.
GOOD_TOOL: Final = "refund_order"
#: Stands in every honest document of this suite, so that it can be told who was shown one.
MARKER: Final = "marker-of-the-served-evidence"


class HostileTarget(Server):
    """A Target at a prefix, with a bearer secret."""

    def __init__(
        self, journal: Journal, *, secret: str, prefix: str = "", host: str = "127.0.0.1", port: int = 0
    ) -> None:
        super().__init__("target", journal, host=host, port=port)
        self.secret = secret
        self.prefix = prefix
        self.reply: Callable[[Object], Object] = lambda reply: reply
        self.document: Callable[[Object], Object | bytes] = lambda document: document
        #: The header fields of the evidence answer, beside the Content-Type, for these bytes.
        self.evidence_fields: Callable[[bytes], Fields] = lambda _: ()
        self.change: dict[str, Change] = {}
        self._ids: dict[str, str] = {}

    def answer(self, arrival: Arrival) -> Delivery:
        """The honest answer, changed as the scenario says."""
        path = arrival.path.removeprefix(self.prefix)
        if arrival.method == "GET" and path == HEALTH_PATH:
            return json_answer({"status": "ok"})
        if arrival.value("authorization") != f"Bearer {self.secret}":
            return refusal("unauthorized", 401)
        honest: Answer
        if arrival.method == "POST" and path == INVOCATION_PATH:
            kind, honest = "invocation", self._invoked(arrival)
        elif arrival.method == "GET" and path.startswith(EVIDENCE_PATH):
            kind, honest = "evidence", self._evidence()
        else:
            return refusal("not_found", 404)
        return self.change.get(kind, unchanged)(honest)

    def _invoked(self, arrival: Arrival) -> Answer:
        try:
            invocation = json.loads(arrival.body)
            ids = {"run_id": invocation["run_id"], "case_id": invocation["case_id"]}
        except (ValueError, TypeError, KeyError):
            return refusal("invalid_request", 400)
        self._ids = ids
        reply = {
            "schema_version": "target-invocation-v1",
            **ids,
            "status": "completed",
            "final_response": FINAL_RESPONSE,
            "evidence_ref": f"{EVIDENCE_PATH}{ids['run_id']}",
            "metadata": {},
        }
        return json_answer(self.reply(reply))

    def _evidence(self) -> Answer:
        if not self._ids:
            return refusal("not_found", 404)
        document = self.document(evidence_document(**self._ids))
        raw = document if isinstance(document, bytes) else json.dumps(document).encode()
        return Answer(body=raw, fields=(*JSON, *self.evidence_fields(raw)))


def unchanged(answer: Answer) -> Delivery:
    """The honest answer."""
    return answer


def evidence_document(run_id: str, case_id: str) -> Object:
    """Evidence of one tool call and the final message, without a fault."""
    call = {"call_id": "c1", "name": GOOD_TOOL, "attributes": {}}
    return {
        "schema_version": "target-evidence-v1",
        "run_id": run_id,
        "case_id": case_id,
        "assurance_level": "L2",
        "observed_channels": ["messages", "tools"],
        "started_at": "2026-03-01T10:00:00Z",
        "finished_at": "2026-03-01T10:00:09Z",
        "events": [
            {
                "event_id": f"{run_id}:event:{sequence}",
                "sequence": sequence,
                "occurred_at": "2026-03-01T10:00:01Z",
                "source": "hostile-agent",
                "type": kind,
                "data": data,
            }
            for sequence, (kind, data) in enumerate(
                (
                    ("message", {"role": "user", "text": MARKER, "attributes": {}}),
                    ("tool.call", call | {"arguments": {"order": 7}}),
                    ("tool.result", call | {"result": {"state": "refunded"}, "is_error": False}),
                    ("message", {"role": "assistant", "text": FINAL_RESPONSE, "attributes": {}}),
                )
            )
        ],
    }
