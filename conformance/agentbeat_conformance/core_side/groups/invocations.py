"""Invocation responses that break the Target's contract, and odd ones that do not.

A broken one is no observation at all: the run has failed, and there is no evaluation. Whatever came of it,
the Agent is not asked a second time, but where it provably was not started.
"""

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
    html_error,
    refusal,
)
from agentbeat_conformance.core_side.expectations import complete, either, failed
from agentbeat_conformance.core_side.groups.deliveries import ENDLESS, LATE, SHORT
from agentbeat_conformance.core_side.scenarios import Expectation, Scenario
from agentbeat_conformance.core_side.servers import Delivery
from agentbeat_conformance.core_side.stages import Stage
from agentbeat_conformance.core_side.targets import Change

__all__ = ["SCENARIOS"]

Object = dict[str, Any]

_BROKEN: Final = failed("target_contract_failed")


def _said(**members: Any) -> Callable[[Stage], Any]:
    """A response with other members; `...` leaves one out."""

    def reply(honest: Object) -> Object:
        return {name: value for name, value in (honest | members).items() if value is not ...}

    return lambda stage: setattr(stage.target, "reply", reply)


def _brought(change: Change) -> Callable[[Stage], Any]:
    return lambda stage: stage.target.change.update(invocation=change)


# Name, what is wrong, the members: all break INV-1.
_MEMBERS: Final[tuple[tuple[str, str, Object], ...]] = (
    ("empty", "final_response is empty", {"final_response": ""}),
    ("blank", "final_response is white space", {"final_response": " \n\t "}),
    ("blank-unicode", "final_response is white space beyond ASCII", {"final_response": "\u00a0\u2003\u3000"}),
    ("absent", "no final_response", {"final_response": ...}),
    ("null", "final_response is null", {"final_response": None}),
    ("number", "final_response is a number", {"final_response": 7}),
    ("object", "final_response is an object", {"final_response": {"text": "Order 7 is refunded."}}),
    ("other-run", "the run_id of another run", {"run_id": "run-another"}),
    ("other-case", "the case_id of another case", {"case_id": "case-another"}),
    ("no-run", "no run_id", {"run_id": ...}),
    ("failed", "status failed, with a final_response", {"status": "failed"}),
    ("running", "status running", {"status": "running"}),
    ("no-status", "no status", {"status": ...}),
    ("other-version", "schema_version target-invocation-v2", {"schema_version": "target-invocation-v2"}),
)

# Name, what is served, how: none is an answer of the contract.
_ANSWERS: Final[tuple[tuple[str, str, Change], ...]] = (
    ("http-500", "500 with an error envelope", lambda _: refusal("internal_error", 500)),
    ("http-500-good", "500 with a good response in the body", lambda a: Answer(status=500, body=a.body)),
    ("http-502", "502 target_execution_failed", lambda _: refusal("target_execution_failed", 502)),
    ("http-502-html", "502 with an HTML page", lambda _: html_error(502)),
    (
        "http-503-draining",
        "503 target_draining with Retry-After",
        lambda _: refusal("target_draining", 503, Retry_After="0"),
    ),
    ("http-503-html", "503 with an HTML page", lambda _: html_error(503)),
    ("http-504", "504 target_timeout", lambda _: refusal("target_timeout", 504)),
    ("http-409", "409 run_id_reused", lambda _: refusal("run_id_reused", 409)),
    ("http-400", "400 invalid_request", lambda _: refusal("invalid_request", 400)),
    ("http-202", "202 with a good response in the body", lambda a: Answer(status=202, body=a.body)),
    ("http-204", "204 without a body", lambda _: Answer(status=204, fields=())),
    ("html", "200 with an HTML page", lambda _: html_error(200)),
    ("no-body", "200 without a body", lambda _: Answer(body=b"")),
    ("list", "the response inside a list", lambda a: Answer(body=b"[" + a.body + b"]")),
    ("half-json", "half a JSON, with its length", lambda a: Answer(body=a.body[: len(a.body) // 2])),
    ("two-json", "two responses one after the other", lambda a: Answer(body=a.body + a.body)),
)

# The answer never comes, or not in time, or not in an end. The run has failed; the code is the Core's own.
_BREAKS: Final[tuple[tuple[str, str, Change], ...]] = (
    ("cut", "half a body, then the connection ends", Cut),
    ("hang-up", "the connection ends without an answer", lambda _: HangUp()),
    ("endless-head", "header lines without an end", lambda _: EndlessHead()),
)
_LATE: Final[tuple[tuple[str, str, Change], ...]] = (
    ("late", "a good response after the time-out", lambda a: Late(a, LATE)),
    ("dripping", "a byte now and then, until after the time-out", Dripping),
)

_ODD: Final[tuple[tuple[str, str, Object], ...]] = (
    ("task-id", "a task_id, usage and metadata", {"task_id": "task-7", "usage": {"tokens": 7}}),
    ("unknown-member", "a member that nobody knows", {"x_vendor": {"trace": [1, 2, 3]}}),
    ("no-metadata", "no metadata", {"metadata": ...}),
    ("open-metadata", "metadata with members of its own", {"metadata": {"model": "m", "cost": 0.5}}),
)
_ODD_ANSWERS: Final[tuple[tuple[str, str, Change], ...]] = (
    ("chunked", "in small chunks", Chunked),
    ("pieces", "byte by byte, without a pause", Pieces),
    ("http-1-0", "as HTTP/1.0 without a length", lambda a: Answer(body=a.body, version="1.0")),
    (
        "charset",
        "with lower-case field names and `application/json; charset=utf-8`",
        lambda a: Answer(body=a.body, fields=(("content-type", "application/json; charset=utf-8"),)),
    ),
    (
        "escapes",
        "with all of its text escaped",
        lambda a: Answer(body=json.dumps(json.loads(a.body)).replace("refunded", "re\\u0066unded").encode()),
    ),
    ("slow", "after a while, in time", lambda a: Late(a, 0.3)),
)


def _busy(times: int) -> Callable[[Stage], Any]:
    """503 target_busy some times, then the honest answer. A busy Target has not started the Agent."""

    def arrange(stage: Stage) -> None:
        left = times

        def change(honest: Answer) -> Delivery:
            nonlocal left
            left -= 1
            return refusal("target_busy", 503, Retry_After="0") if left >= 0 else honest

        stage.target.change["invocation"] = change

    return arrange


def _invocation(name: str, served: str, expects: Expectation, **others: Any) -> Scenario:
    return Scenario(
        id=f"core.invocation.{name}",
        rule=others.pop("rule", "INV-1"),
        tier=others.pop("tier", "L1"),
        served=f"response: {served}",
        expects=expects,
        **others,
    )


def _starts() -> Iterator[Scenario]:
    """Whether the Agent was started, and what follows for asking again."""
    yield _invocation(
        "busy-once",
        "503 target_busy, then a good one",
        either(
            "completed by asking again, or failed",
            complete("L1"),
            failed("target_busy", "target_contract_failed"),
        ),
        arrange=_busy(1),
        posts=(1, 2),
        rule="INV-9",
    )
    yield _invocation(
        "busy-for-ever",
        "503 target_busy each time",
        failed("target_busy", "target_contract_failed"),
        arrange=_busy(10**6),
        posts=(1, 10),
        rule="INV-9",
    )
    yield _invocation(
        "nobody",
        "nobody listens",
        failed(),
        absent=frozenset({"target"}),
        posts=(0, 0),
        rule="Data set",
    )


def _scenarios() -> Iterator[Scenario]:
    for name, served, members in _MEMBERS:
        yield _invocation(name, served, _BROKEN, arrange=_said(**members))
    for name, served, change in _ANSWERS:
        yield _invocation(name, served, _BROKEN, arrange=_brought(change))
    for name, served, change in _BREAKS:
        yield _invocation(name, served, failed(), arrange=_brought(change))
    for name, served, change in _LATE:
        yield _invocation(
            name,
            served,
            failed(),
            arrange=_brought(change),
            request={"timeouts.invoke": SHORT},
            rule="Request",
        )
    yield _invocation(
        "endless",
        "a good one, and white space without an end",
        failed(),
        arrange=_brought(Endless),
        request={"timeouts.invoke": ENDLESS},
    )
    yield _invocation(
        "failed-at-l2", "status failed, at L2", _BROKEN, tier="L2", arrange=_said(status="failed")
    )
    yield _invocation(
        "failed-at-l3", "502, at L3", _BROKEN, tier="L3", arrange=_brought(lambda _: refusal("x", 502))
    )
    for name, served, members in _ODD:
        yield _invocation(name, served, complete("L1"), arrange=_said(**members))
    for name, served, change in _ODD_ANSWERS:
        yield _invocation(name, served, complete("L1"), arrange=_brought(change))
    yield from _starts()


SCENARIOS: Final = tuple(_scenarios())
