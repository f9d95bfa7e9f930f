"""Every bound of a Target in two frozen records, each with its unit beside it.

`Limits` bounds what a Target takes from the network and how long a run may last. `RecordingLimits` bounds
the evidence of one run. The 512 KiB of `input.text` are the protocol's (INV-3) and no Target's to choose,
so they are not here.

>>> Limits(max_concurrent_runs=2, run_timeout=60).max_body_bytes
1048576
>>> Limits(max_concurrent_runs=0)
Traceback (most recent call last):
ValueError: max_concurrent_runs: got 0, expected a whole number of at least 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final

__all__ = ["Limits", "RecordingLimits"]

KIB: Final = 1024
MIB: Final = 1024 * KIB


def _check_whole_number(name: str, value: object, *, least: int, most: int | None = None) -> None:
    """Refuse a bound that is no int (a bool neither) or lies outside `least`…`most`."""
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and value >= least
        and (most is None or value <= most)
    ):
        return
    top = "" if most is None else f" and at most {most}"
    raise ValueError(f"{name}: got {value!r}, expected a whole number of at least {least}{top}")


def _check_seconds(name: str, value: object) -> None:
    """Refuse a time that is not a positive, finite number."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
        return
    raise ValueError(f"{name}: got {value!r}, expected a positive number of seconds")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordingLimits:
    """What the evidence of one run may hold. A bound may be lower than the protocol's, never higher.

    Past `max_events` or `max_document_bytes` recording stops without failing the run and says so in the
    document (`evidence.truncated`). Lengths count Unicode code points.
    """

    #: events of a document (EVD-5)
    max_events: int = 5_000
    #: bytes of the finished document (EVD-15)
    max_document_bytes: int = 16 * MIB
    #: code points of a text, delta, command, output, path, diff or error message
    max_text: int = 32_768
    #: code points of an event's source
    max_source: int = 160
    #: code points of a tool's name and of a call id
    max_name: int = 256
    #: code points of a status and of a lifecycle event's name
    max_status: int = 128
    #: canonical bytes of one recorded value: a tool's arguments, its result, an event's attributes
    max_value_bytes: int = 256 * KIB
    #: levels of arrays and objects in one recorded value
    max_value_depth: int = 16
    #: members and elements of one recorded value, all levels together
    max_value_items: int = 10_000

    def __post_init__(self) -> None:
        """Check each bound against the protocol's: no reader takes a document that is over them."""
        # Two closing events always have their place: `evidence.truncated`, then the final message or
        # `run.error`.
        _check_whole_number("max_events", self.max_events, least=3, most=5_000)
        _check_whole_number("max_document_bytes", self.max_document_bytes, least=256 * KIB, most=16 * MIB)
        _check_whole_number("max_text", self.max_text, least=16, most=32_768)
        _check_whole_number("max_source", self.max_source, least=16, most=160)
        _check_whole_number("max_name", self.max_name, least=16, most=256)
        _check_whole_number("max_status", self.max_status, least=16, most=128)
        _check_whole_number("max_value_bytes", self.max_value_bytes, least=64, most=self.max_document_bytes)
        _check_whole_number("max_value_depth", self.max_value_depth, least=1, most=32)
        _check_whole_number("max_value_items", self.max_value_items, least=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a Target takes from the network, how many runs it serves at once and how long each may last."""

    #: bytes of a request's line and header fields together; more is 431 (kept by `target.run()`)
    max_head_bytes: int = 32 * KIB
    #: header fields of a request; more is 431
    max_header_fields: int = 100
    #: bytes of a request's body; more is 413 (INV-7)
    max_body_bytes: int = MIB
    #: runs at the same time; one more is 503 `target_busy` (INV-9)
    max_concurrent_runs: int = 8
    #: open connections of `target.run()`; one more is closed with 503 `target_busy`
    max_connections: int = 1_000
    #: seconds that the Agent may take for one run; then 504 `target_timeout`, and its task is cancelled
    run_timeout: float = 300.0
    #: seconds that a cancelled Agent gets to wind up before its evidence is closed
    cancel_timeout: float = 1.0
    #: seconds from a request's first byte to the end of its head; then 408. A new connection on which
    #: nothing is asked for so long is closed
    head_timeout: float = 10.0
    #: seconds from the end of the head to the end of the body; then 408
    body_timeout: float = 30.0
    #: seconds that a kept connection may be idle between two requests; then it is closed
    idle_timeout: float = 75.0
    #: seconds that a stopping server waits for the runs in flight
    drain_timeout: float = 30.0
    #: seconds that a client gets to stop sending and read an answer that came before its body's end …
    early_answer_seconds: float = 2.0
    #: … and the bytes of that body that are read and thrown away meanwhile
    early_answer_bytes: int = 4 * MIB
    #: seconds in `Retry-After` of a 503
    retry_after: int = 1
    #: bounds of the evidence of one run
    recording: RecordingLimits = RecordingLimits()

    def __post_init__(self) -> None:
        """Check every bound: a mistyped limit fails where it is written, not at the first request."""
        if not isinstance(self.recording, RecordingLimits):
            raise TypeError(f"recording: got {type(self.recording).__name__}, expected RecordingLimits")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int":
                _check_whole_number(field.name, value, least=1)
            elif field.type == "float":
                _check_seconds(field.name, value)
