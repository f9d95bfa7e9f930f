"""A document of 5,000 events, the most that there may be: read, checked and projected by Core.

Beside it stands `json.loads` of the same bytes, which checks nothing.
"""

from __future__ import annotations

import json

from agentbeat_core.scoring import project
from agentbeat_protocol import evidence_notes, read_evidence, read_json
from agentbeat_protocol.scoring import Observations
from benchmarks.measuring import MIB, interleaved, milliseconds, peak_mib, print_table

__all__ = ["run"]

RUN_ID, CASE_ID = "run-bench-001", "case-bench-001"
EVENTS = 5_000
ROUNDS = 7


def document() -> bytes:
    """A run of an Agent that works long: a message, a call, its result, over and over."""
    events = [_event(sequence) for sequence in range(EVENTS)]
    return json.dumps(
        {
            "schema_version": "target-evidence-v1",
            "run_id": RUN_ID,
            "case_id": CASE_ID,
            "assurance_level": "L2",
            "observed_channels": ["messages", "tools"],
            "started_at": "2026-03-01T10:00:00Z",
            "finished_at": "2026-03-01T11:00:00Z",
            "events": events,
        }
    ).encode()


def _event(sequence: int) -> dict[str, object]:
    turn, step = divmod(sequence, 3)
    call = {"call_id": f"call-{turn}", "name": "get_order", "attributes": {}}
    # The last turn may have no room for its result: a call may stay unanswered.
    kind, data = (
        ("message", {"role": "assistant", "text": f"I look up order ORD-{turn}. " * 4, "attributes": {}}),
        ("tool.call", {**call, "arguments": {"order_id": f"ORD-{turn}", "fields": ["status", "total"]}}),
        (
            "tool.result",
            {
                **call,
                "is_error": False,
                "result": {"order_id": f"ORD-{turn}", "status": "shipped", "note": "x" * 200},
            },
        ),
    )[step]
    return {
        "event_id": f"{RUN_ID}:event:{sequence}",
        "sequence": sequence,
        "occurred_at": f"2026-03-01T10:{sequence % 3600 // 60:02}:{sequence % 60:02}.{sequence:06}Z",
        "source": "bench-agent",
        "type": kind,
        "data": data,
    }


def run() -> None:
    """Measure and print."""
    raw = document()

    def core() -> object:
        evidence = read_evidence(raw, run_id=RUN_ID, case_id=CASE_ID)
        projection = project(Observations(final_response="Done.", evidence=evidence), tier="L2")
        return evidence, projection, evidence_notes(evidence)

    candidates = (
        ("json.loads, no check at all", lambda: json.loads(raw)),
        ("read_json, strict", lambda: read_json(raw)),
        ("read, checked and projected by Core", core),
    )
    times = interleaved(ROUNDS, *(candidate for _, candidate in candidates))
    memory = [peak_mib(candidate) for _, candidate in candidates]
    print_table(
        f"Evidence document, {EVENTS:,} events, {len(raw) / MIB:.1f} MiB",
        ("", "ms", "ratio", "peak MiB", "ratio"),
        (
            (
                name,
                f"{milliseconds(taken):.1f}",
                f"{milliseconds(taken) / milliseconds(times[0]):.1f}",
                f"{peak:.1f}",
                f"{peak / memory[0]:.1f}",
            )
            for (name, _), taken, peak in zip(candidates, times, memory, strict=True)
        ),
    )
