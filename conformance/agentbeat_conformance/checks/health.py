"""HLT-1, HLT-2: the health route."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentbeat_conformance.exchanges import Exchange
from agentbeat_conformance.expectations import permitted
from agentbeat_conformance.requirements import Capability, CouldNotRun, Finding, Findings, Level, requirement
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_protocol import INVOCATION_PATH, ProtocolError, cut, read_json

__all__: list[str] = []

SECTION: Final = "Health"


@requirement(
    "HLT-1.a",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="GET /healthz is answered 200 without a secret.",
    permits={"200"},
    kills={"health-behind-the-secret", "no-health"},
)
async def open_to_all(target: TargetProbe) -> Findings:
    return list(permitted(await target.seen(), {"200"}, "GET /healthz without a secret"))


@requirement(
    "HLT-1.b",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="The health answer holds no secret.",
    needs={Capability.AUTH},
    permits={"200"},
    kills={"health-tells-the-secret", "health-tells-the-secret-in-a-header"},
)
async def no_secret(target: TargetProbe) -> Findings:
    exchange = await _healthy(target)
    secret = target.secret or ""
    answer = exchange.answer
    places = {
        "the body": answer is not None and secret.encode() in answer.body,
        "a header field": answer is not None and any(secret in value for _, value in answer.fields),
    }
    return [
        Finding(f"got the secret in {place}, expected none", exchange.index)
        for place, found in places.items()
        if found
    ]


@requirement(
    "HLT-2.a",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="The health answer is a JSON object with status ok.",
    permits={"200"},
    kills={"health-in-words", "health-says-up"},
)
async def says_ok(target: TargetProbe) -> Findings:
    exchange = await _healthy(target)
    try:
        members = _read(exchange)
    except CouldNotRun as fault:
        return [Finding(str(fault), exchange.index)]
    return _differences(exchange, members, {"status": "ok"})


@requirement(
    "HLT-2.b",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="It names its target_id, connector_id, invocation_protocol and invocation_path.",
    permits={"200"},
    kills={"health-without-identity", "health-of-another-protocol", "health-with-another-path"},
)
async def says_who_it_is(target: TargetProbe) -> Findings:
    exchange = await _healthy(target)
    members = _read(exchange)
    expected = {
        "connector_id": "business-http-json-v1",
        "invocation_protocol": "target-invocation-v1",
    }
    findings = _differences(exchange, members, expected)
    target_id = members.get("target_id")
    if not isinstance(target_id, str) or not target_id:
        findings.append(Finding("target_id: expected text", exchange.index))
    # Below a prefix the path may be told as the Target sees it or as its callers do.
    path = members.get("invocation_path")
    if path not in (INVOCATION_PATH, target.prefix + INVOCATION_PATH):
        findings.append(Finding(f"invocation_path: expected {INVOCATION_PATH}", exchange.index))
    return findings


@requirement(
    "HLT-2.c",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="It says whether there is evidence: L1 or L2.",
    permits={"200"},
    kills={"health-with-evidence-true"},
)
async def says_its_level(target: TargetProbe) -> Findings:
    exchange = await _healthy(target)
    if _read(exchange).get("evidence") in ("L1", "L2"):
        return []
    return [Finding("evidence: expected L1 or L2", exchange.index)]


@requirement(
    "HLT-2.d",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="It counts its active_runs and says how many may run at once, max_concurrent_runs.",
    permits={"200"},
    kills={"health-without-counts", "health-counts-in-text"},
)
async def counts_runs(target: TargetProbe) -> Findings:
    exchange = await _healthy(target)
    members = _read(exchange)
    least = {"active_runs": 0, "max_concurrent_runs": 1}
    return [
        Finding(f"{name}: expected an integer of at least {number}", exchange.index)
        for name, number in least.items()
        if not _is_count(members.get(name), number)
    ]


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


async def _healthy(target: TargetProbe) -> Exchange:
    exchange = await target.seen()
    if exchange.status != 200:
        raise CouldNotRun(f"GET /healthz was answered {exchange.outcome}, not 200")
    return exchange


def _read(exchange: Exchange) -> Mapping[str, Any]:
    """The members of the health document.

    Raises:
        CouldNotRun: it is no JSON object.
    """
    try:
        members = read_json(exchange.answer.body if exchange.answer else b"")
    except ProtocolError as error:
        raise CouldNotRun(f"the health answer: got {error.got}, expected a JSON object") from None
    if not isinstance(members, dict):
        raise CouldNotRun("the health answer: got another JSON value, expected an object")
    return members


def _differences(
    exchange: Exchange, members: Mapping[str, Any], expected: Mapping[str, str]
) -> list[Finding]:
    findings = []
    for name, value in expected.items():
        given = members.get(name)
        if given != value:
            got = repr(cut(given)) if isinstance(given, str) else "no text"
            findings.append(Finding(f"{name}: got {got}, expected {value!r}", exchange.index))
    return findings
