"""INV-1, the answer: what stands in the 200 of an invocation with nothing wrong about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_conformance.sessions import Ids
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_protocol import ProtocolError, cut, read_json

__all__: list[str] = []

SECTION: Final = "Invocation request"
_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (str, "a string"),
    (bool, "a boolean"),
    (dict, "an object"),
    (list, "an array"),
    (int, "a number"),
    (float, "a number"),
)


@requirement(
    "INV-1.a",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An invocation with nothing wrong about it is answered 200.",
    permits={"200"},
    kills={"answers-202", "always-busy"},
)
async def answered_200(target: TargetProbe) -> Findings:
    _, exchange = await target.invoked()
    return list(permitted(exchange, {"200"}, "the control"))


@requirement(
    "INV-1.b",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="The answer is a JSON object with schema_version target-invocation-v1.",
    permits={"200"},
    kills={"answers-prose", "answers-other-version"},
)
async def answer_is_of_the_protocol(target: TargetProbe) -> Findings:
    exchange = await target.control()
    try:
        members = _read(exchange)
    except CouldNotRun as fault:
        return [Finding(str(fault), exchange.index)]
    return _equals(exchange, members, "schema_version", "target-invocation-v1")


@requirement(
    "INV-1.c",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="The answer holds the run_id and the case_id of its own invocation, to the letter.",
    permits={"200"},
    kills={"answers-another-run", "answers-another-case", "answers-the-first-run"},
    invocations=1,
)
async def answer_is_bound(target: TargetProbe) -> Findings:
    await target.control()
    # One canned answer may fit the first invocation; it does not fit two.
    again = target.session.ids()
    second = await target.invoke(ids=again)
    return [
        finding
        for ids, exchange in (await target.invoked(), (again, second))
        for finding in _bound(exchange, ids)
    ]


def _bound(exchange: Exchange, ids: Ids) -> Iterator[Finding]:
    if exchange.status != 200:
        raise CouldNotRun(f"the second invocation was answered {exchange.outcome}, not 200")
    members = _read(exchange)
    yield from _equals(exchange, members, "run_id", ids.run_id)
    yield from _equals(exchange, members, "case_id", ids.case_id)


@requirement(
    "INV-1.d",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="The answer's status is completed.",
    permits={"200"},
    kills={"status-success"},
)
async def status_is_completed(target: TargetProbe) -> Findings:
    exchange = await target.control()
    return _equals(exchange, _read(exchange), "status", "completed")


@requirement(
    "INV-1.e",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="The answer's final_response is a string with a character that is not white space.",
    permits={"200"},
    kills={"no-final-response", "blank-final-response", "structured-final-response"},
)
async def final_response_says_something(target: TargetProbe) -> Findings:
    exchange = await target.control()
    final_response = _read(exchange).get("final_response", ...)
    if isinstance(final_response, str) and final_response.strip():
        return []
    got = "blank text" if isinstance(final_response, str) else _kind(final_response)
    return [Finding(f"final_response: got {got}, expected text that is not blank", exchange.index)]


@requirement(
    "INV-1.f",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="Of the answer's optional members, task_id is a string and metadata and usage are objects.",
    permits={"200"},
    kills={"usage-is-a-list", "metadata-is-text", "task-id-is-a-number"},
)
async def optional_members_have_their_types(target: TargetProbe) -> Findings:
    exchange = await target.control()
    members = _read(exchange)
    types: dict[str, tuple[type, str]] = {
        "task_id": (str, "a string"),
        "metadata": (dict, "an object"),
        "usage": (dict, "an object"),
    }
    # null stands for an absent member.
    return [
        Finding(f"{name}: got {_kind(members[name])}, expected {expected}", exchange.index)
        for name, (kind, expected) in types.items()
        if members.get(name) is not None and not isinstance(members[name], kind)
    ]


def _read(exchange: Exchange) -> Mapping[str, Any]:
    """The members of an answer of 200.

    Raises:
        CouldNotRun: it is no JSON object, so that nothing can be said of its members.
    """
    body = exchange.answer.body if exchange.answer else b""
    try:
        members = read_json(body)
    except ProtocolError as error:
        raise CouldNotRun(f"the answer: got {error.got}, expected a JSON object") from None
    if not isinstance(members, dict):
        raise CouldNotRun(f"the answer: got {_kind(members)}, expected a JSON object")
    return members


def _equals(exchange: Exchange, members: Mapping[str, Any], name: str, expected: str) -> list[Finding]:
    given = members.get(name, ...)
    if given == expected:
        return []
    got = repr(cut(given)) if isinstance(given, str) else _kind(given)
    return [Finding(f"{name}: got {got}, expected {expected!r}", exchange.index)]


def _kind(value: object) -> str:
    """What a JSON value is, for a finding; `...` is an absent member."""
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "nothing" if value is ... else "null"
