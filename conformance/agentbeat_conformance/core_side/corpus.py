"""The hostile and odd documents and references that are served, one per line of two files in the package.

A line of `evidence_cases.jsonl` says what an evidence route answers: `document`, a JSON value; `raw_b64`, the
very bytes; or `mutation`, steps from a small good document. `expect` is accept or reject, `context` names
another run or case than the default, and `rule` the rule in question.

A line of `evidence_refs.jsonl` is an `evidence_ref` for a registered `base`, to allow or to deny, or with
`kind` `redirect` what the evidence route answers.

>>> next(iter(evidence_cases())).id
'ev-001'
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

__all__ = [
    "CASE_ID",
    "RUN_ID",
    "EvidenceCase",
    "Reference",
    "evidence_cases",
    "evidence_refs",
    "read_lines",
]

#: The run and the case that a line is about, unless its context says otherwise.
RUN_ID: Final = "run-hostile-001"
CASE_ID: Final = "case-hostile-001"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceCase:
    """One document of an evidence route.

    Attributes:
        run_id, case_id: what it is bound to; some lines bind it to an id that no request can hold.
        line: the line itself.
    """

    id: str
    what: str
    rule: str
    accepted: bool
    run_id: str
    case_id: str
    line: dict[str, Any]

    def raw(self) -> bytes:
        """The document's bytes."""
        if "raw_b64" in self.line:
            return base64.b64decode(self.line["raw_b64"])
        document = self.line["document"] if "document" in self.line else _mutated(self.line["mutation"])
        # A lone surrogate stands for the three bytes that a careless encoder writes.
        return json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One `evidence_ref`, or one redirect in answer to a good one.

    Attributes:
        ref: the reference, any JSON value.
        redirect: the status and the Location of the evidence route's answer; None for the other lines.
    """

    id: str
    why: str
    rule: str
    allowed: bool
    base: str
    ref: Any
    redirect: tuple[int, str | None] | None


def evidence_cases() -> Iterator[EvidenceCase]:
    """Every line of `evidence_cases.jsonl`, in order."""
    for line in read_lines("evidence_cases.jsonl"):
        bound = line.get("context", {})
        yield EvidenceCase(
            id=line["id"],
            what=line["what"],
            rule=line["rule"],
            accepted=line["expect"] == "accept",
            run_id=bound.get("run_id", RUN_ID),
            case_id=bound.get("case_id", CASE_ID),
            line=line,
        )


def evidence_refs() -> Iterator[Reference]:
    """Every line of `evidence_refs.jsonl`, in order."""
    for line in read_lines("evidence_refs.jsonl"):
        yield Reference(
            id=line["id"],
            why=line["why"],
            rule=line.get("rule", "EVD-9"),
            allowed=line["expect"] == "allow",
            base=line["base"],
            ref=line["ref"],
            redirect=(line["status"], line["location"]) if line.get("kind") == "redirect" else None,
        )


def read_lines(name: str) -> list[dict[str, Any]]:
    """The lines of a data file, in order."""
    text = files(__package__).joinpath("data", name).read_text(encoding="utf-8")
    # Split at the line feed only: `str.splitlines` would also cut at U+2028 inside a string.
    return [json.loads(line) for line in text.split("\n") if line.strip()]


# --- Mutations: documents too big to spell out ----------------------------------------------------------


def _mutated(mutation: dict[str, Any]) -> Any:
    document: Any = {
        "schema_version": "target-evidence-v1",
        "run_id": RUN_ID,
        "case_id": CASE_ID,
        "assurance_level": "L2",
        "observed_channels": ["messages", "tools"],
        "started_at": "2026-03-01T10:00:00Z",
        "finished_at": "2026-03-01T10:00:09Z",
        "events": [_event(0, "message", {"role": "assistant", "text": "hello", "attributes": {}})],
    }
    steps: Iterable[list[Any]] = mutation["ops"]
    for name, *arguments in steps:
        if name == "set":
            pointer, value = arguments
            _put(document, pointer, value)
        elif name == "repeat":
            pointer, unit, count = arguments
            _put(document, pointer, unit * count)
        elif name == "events":
            count, model = arguments
            document["events"] = [
                _event(i, model["type"], copy.deepcopy(model["data"])) for i in range(count)
            ]
        else:
            raise ValueError(f"unknown mutation step {name!r}")
    return document


def _event(sequence: int, kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "event_id": f"{RUN_ID}:event:{sequence}",
        "sequence": sequence,
        "occurred_at": "2026-03-01T10:00:01Z",
        "source": "hostile-agent",
        "type": kind,
        "data": data,
    }


def _put(document: Any, pointer: str, value: Any) -> None:
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    place = document
    for part in parents:
        place = place[_key(place, part)]
    place[_key(place, last)] = value


def _key(container: Any, part: str) -> str | int:
    return int(part) if isinstance(container, list) else part
