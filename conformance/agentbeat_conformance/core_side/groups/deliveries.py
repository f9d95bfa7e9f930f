"""The evidence route as a gateway, a broken server or a liar answers: sizes, times and statuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from agentbeat_conformance.core_side.deliveries import (
    Answer,
    Chunked,
    Cut,
    Dripping,
    Endless,
    EndlessHead,
    HangUp,
    Late,
    Pieces,
    gzipped,
    html_error,
    refusal,
)
from agentbeat_conformance.core_side.expectations import (
    complete,
    observed,
    without_trace,
)
from agentbeat_conformance.core_side.scenarios import Expectation, Scenario
from agentbeat_conformance.core_side.servers import Delivery
from agentbeat_conformance.core_side.stages import Stage
from agentbeat_conformance.core_side.targets import Change, evidence_document
from agentbeat_protocol import MAX_EVIDENCE_BYTES

__all__ = ["ENDLESS", "LATE", "SCENARIOS", "SHORT", "said"]

Object = dict[str, Any]
Arrange = Callable[[Stage], Any]

#: A time-out of a scenario about lateness, and how much later the answer comes, in seconds.
SHORT: Final = 1.0
LATE: Final = 4.0
#: A time-out for whom an endless answer stands still, in seconds: long enough to read to any limit.
ENDLESS: Final = 3.0


def brought(change: Change) -> Arrange:
    """The evidence answer, brought in another way."""
    return lambda stage: stage.target.change.update(evidence=change)


def said(change: Callable[[Object], Object | bytes]) -> Arrange:
    """Another evidence document."""
    return lambda stage: setattr(stage.target, "document", change)


def _padded(size: int) -> Callable[[Object], bytes]:
    """The document with an open object that makes it exactly `size` bytes long."""

    def pad(document: Object) -> bytes:
        attributes = document["events"][0]["data"]["attributes"]
        attributes["padding"] = ""
        attributes["padding"] = "x" * (size - len(json.dumps(document).encode()))
        return json.dumps(document).encode()

    return pad


def _file_changed(document: Object) -> Object:
    """Another event, on a channel that is not listed."""
    last = document["events"][-1]
    event = last | {
        "event_id": f"{document['run_id']}:event:{len(document['events'])}",
        "sequence": len(document["events"]),
        "type": "file.change",
        "data": {"path": "notes.txt", "diff": "+ more", "attributes": {}},
    }
    return document | {"events": [*document["events"], event]}


def _bomb(answer: Answer) -> Delivery:
    """A few kilobytes that stand for a document over the limit."""
    spaces = b" " * (MAX_EVIDENCE_BYTES + 1)
    return gzipped(Answer(body=answer.body + spaces, fields=answer.fields))


# Name, rule, what is served, how: for all of these the evidence is refused.
_REFUSED: Final[tuple[tuple[str, str, str, Arrange], ...]] = (
    ("http-500", "EVD-1", "500 with an error envelope", brought(lambda _: refusal("internal_error", 500))),
    ("http-502-html", "EVD-1", "502 with an HTML page", brought(lambda _: html_error(502))),
    (
        "http-503",
        "EVD-1",
        "503, try later",
        brought(lambda _: refusal("target_draining", 503, Retry_After="0")),
    ),
    ("http-404", "EVD-10", "404 not_found", brought(lambda _: refusal("not_found", 404))),
    (
        "http-401",
        "EVD-10",
        "401 although the secret is right",
        brought(lambda _: refusal("unauthorized", 401)),
    ),
    ("http-204", "EVD-1", "204 without a body", brought(lambda _: Answer(status=204, fields=()))),
    ("http-200-html", "EVD-1", "200 with an HTML page", brought(lambda _: html_error(200))),
    (
        "http-500-good",
        "EVD-1",
        "500 with a good document in the body",
        brought(lambda a: Answer(status=500, body=a.body)),
    ),
    (
        "http-404-good",
        "EVD-10",
        "404 with a good document in the body",
        brought(lambda a: Answer(status=404, body=a.body)),
    ),
    (
        "http-206-good",
        "EVD-1",
        "206 Partial Content with a good document",
        brought(lambda a: Answer(status=206, body=a.body)),
    ),
    ("endless-head", "EVD-1", "header lines without an end", brought(lambda _: EndlessHead())),
    (
        "too-large",
        "EVD-15",
        "a good document of 16 MiB and one byte",
        said(_padded(MAX_EVIDENCE_BYTES + 1)),
    ),
    ("gzip-bomb", "EVD-15", "a compressed answer that stands for more than 16 MiB", brought(_bomb)),
    ("cut", "EVD-1", "half a body, then the connection ends", brought(Cut)),
    ("hang-up", "EVD-1", "no byte at all", brought(lambda _: HangUp())),
    (
        "other-run",
        "EVD-2",
        "the evidence of another run of the same case, without a fault",
        said(lambda d: evidence_document("run-another", d["case_id"])),
    ),
    (
        "other-case",
        "EVD-2",
        "the evidence of another case, without a fault",
        said(lambda d: evidence_document(d["run_id"], "case-another")),
    ),
    (
        "unobserved-channel",
        "EVD-8",
        "a file.change, although files were not observed",
        said(_file_changed),
    ),
    ("list", "EVD-1", "the document inside a list", said(lambda d: json.dumps([d]).encode())),
)

# For these the time-out is short, and the good answer comes too late.
_LATE: Final[tuple[tuple[str, str, Change], ...]] = (
    ("late", "a good document after the time-out", lambda a: Late(a, LATE)),
    ("dripping", "a byte now and then, until after the time-out", Dripping),
)

_ODD: Final[tuple[tuple[str, str, str, Arrange], ...]] = (
    ("chunked", "RFC 9112", "in small chunks", brought(Chunked)),
    ("pieces", "RFC 9112", "byte by byte, without a pause", brought(Pieces)),
    (
        "http-1-0",
        "RFC 9112",
        "as HTTP/1.0 without a length",
        brought(lambda a: Answer(body=a.body, version="1.0")),
    ),
    (
        "charset",
        "RFC 9110",
        "with `application/json;charset=UTF-8`",
        brought(lambda a: Answer(body=a.body, fields=(("content-type", "application/json;charset=UTF-8"),))),
    ),
    ("exactly-16-mib", "EVD-15", "a document of exactly 16 MiB", said(_padded(MAX_EVIDENCE_BYTES))),
    (
        "white-space",
        "RFC 8259",
        "white space around the document",
        said(lambda d: b"\r\n\t " + json.dumps(d).encode() + b" \n\n"),
    ),
)


def _delivered(name: str, rule: str, served: str, arrange: Arrange, expects: Expectation) -> Scenario:
    return Scenario(
        id=f"core.delivery.{name}",
        rule=rule,
        tier="L2",
        served=f"evidence: {served}",
        expects=expects,
        arrange=arrange,
    )


def _scenarios() -> Iterator[Scenario]:
    for name, rule, served, arrange in _REFUSED:
        yield _delivered(name, rule, served, arrange, without_trace())
    for name, served, change in _LATE:
        yield Scenario(
            id=f"core.delivery.{name}",
            rule="Request",
            tier="L2",
            served=f"evidence: {served}",
            expects=without_trace(),
            arrange=brought(change),
            request={"timeouts.evidence": SHORT},
        )
    yield Scenario(
        id="core.delivery.endless",
        rule="EVD-15",
        tier="L2",
        served="evidence: a good document, and white space without an end",
        expects=without_trace(),
        arrange=brought(Endless),
        request={"timeouts.evidence": ENDLESS},
    )
    for name, rule, served, arrange in _ODD:
        # What is very long may not be shown to a judge whole, so its part may be incomplete.
        expects = observed("L2") if name == "exactly-16-mib" else complete("L2")
        yield _delivered(name, rule, served, arrange, expects)


SCENARIOS: Final = tuple(_scenarios())
