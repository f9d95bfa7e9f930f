"""The case files of `tests/data`: one hostile or odd input per line, and the verdict that it deserves.

A line of `evidence_cases.jsonl` says what the server answers in one of three ways:

- `document`: a JSON value;
- `raw_b64`: the very bytes;
- `mutation`: steps from a small good document, for documents too big to spell out:
  `["set", pointer, value]`, `["repeat", pointer, unit, n]` (the string `unit * n`) and
  `["events", n, {"type": …, "data": …}]` (n generated events, numbered from 0).

A line of `invocations.jsonl` gives its bytes as `raw_b64` or as a `request` to write out.

>>> line = next(case for case in load("evidence_cases.jsonl") if case["id"] == "ev-001")
>>> materialize(line)[:1]
b'{'
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = [
    "CASE_ID",
    "DATA",
    "RUN_ID",
    "SECRET",
    "context",
    "event",
    "good_document",
    "load",
    "materialize",
    "request_bytes",
]

#: The folder that the case files are in.
DATA = Path(__file__).parents[1] / "data"

#: The run and the case that evidence is asked for, unless a line's `context` says otherwise.
RUN_ID = "run-hostile-001"
CASE_ID = "case-hostile-001"

#: The bearer secret that the lines of `invocations.jsonl` send.
SECRET = "test-token"

Case = dict[str, Any]


def load(name: str) -> list[Case]:
    """The lines of a case file, in order; `name` is a file of `tests/data` or a path."""
    text = (DATA / name).read_text(encoding="utf-8")
    # Split at the line feed only: `str.splitlines` would also cut at U+2028 inside a string.
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def context(case: Case) -> dict[str, str]:
    """`run_id` and `case_id` of the invocation that the evidence of this line is read for."""
    bound: dict[str, str] = case.get("context", {})
    return {"run_id": RUN_ID, "case_id": CASE_ID} | bound


def materialize(case: Case) -> bytes:
    """The bytes of an evidence document, for a line with `document`, `raw_b64` or `mutation`."""
    if "raw_b64" in case:
        return base64.b64decode(case["raw_b64"])
    document = case["document"] if "document" in case else _mutated(case["mutation"]["ops"])
    # A lone surrogate in a document stands for the three bytes that a careless encoder writes.
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")


def request_bytes(case: Case) -> bytes:
    """What to write to the socket for a line of `invocations.jsonl`: request line, headers and body."""
    if "raw_b64" in case:
        return base64.b64decode(case["raw_b64"])
    request = case["request"]
    body = _body(request)
    lines = [f"{request['method']} {request['target']} {request['version']}"]
    lines += [f"{name}: {value}" for name, value in request["headers"]]
    if request["auto_content_length"]:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def good_document() -> Case:
    """A small evidence document without a fault; mutations start from it."""
    return {
        "schema_version": "target-evidence-v1",
        "run_id": RUN_ID,
        "case_id": CASE_ID,
        "assurance_level": "L2",
        "observed_channels": ["messages", "tools"],
        "started_at": "2026-03-01T10:00:00Z",
        "finished_at": "2026-03-01T10:00:09Z",
        "events": [event(0)],
    }


def event(sequence: int, kind: str = "message", data: Case | None = None, **others: Any) -> Case:
    """One event of the default run; `others` replaces members or adds some."""
    greeting = {"role": "assistant", "text": "hello", "attributes": {}}
    return {
        "event_id": f"{RUN_ID}:event:{sequence}",
        "sequence": sequence,
        "occurred_at": "2026-03-01T10:00:01Z",
        "source": "hostile-agent",
        "type": kind,
        "data": greeting if data is None else data,
    } | others


def _mutated(steps: Iterable[list[Any]]) -> Case:
    document = good_document()
    for name, *arguments in steps:
        if name == "set":
            pointer, value = arguments
            _put(document, pointer, value)
        elif name == "repeat":
            pointer, unit, count = arguments
            _put(document, pointer, unit * count)
        elif name == "events":
            count, model = arguments
            document["events"] = [event(i, model["type"], copy.deepcopy(model["data"])) for i in range(count)]
        else:
            raise ValueError(f"unknown mutation step {name!r}")
    return document


def _put(document: Case, pointer: str, value: Any) -> None:
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    place: Any = document
    for part in parents:
        place = place[_key(place, part)]
    place[_key(place, last)] = value


def _key(container: Any, part: str) -> str | int:
    return int(part) if isinstance(container, list) else part


def _body(request: Case) -> bytes:
    if "body_gen" in request:
        before, unit, count, after = request["body_gen"]
        return str(before + unit * count + after).encode()
    if "body_b64" in request:
        return base64.b64decode(request["body_b64"])
    return str(request.get("body", "")).encode()
