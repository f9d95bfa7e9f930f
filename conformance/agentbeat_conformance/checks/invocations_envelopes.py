"""INV-10, INV-11: the form of every refusal, and the header fields of every answer.

What a server's HTTP parser answers on its own is that server's; no request here is broken as HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentbeat_conformance.exchanges import Exchange, Request
from agentbeat_conformance.expectations import enveloped, permitted
from agentbeat_conformance.oversized import too_large
from agentbeat_conformance.refusals import Refusal, among, refusals, replayed
from agentbeat_conformance.requirements import (
    Capability,
    CouldNotRun,
    Finding,
    Findings,
    Level,
    requirement,
)
from agentbeat_conformance.target_probes import TargetProbe
from agentbeat_conformance.wrong_requests import Wrong, given_fields, is_accepted
from agentbeat_protocol import INVOCATION_PATH

__all__: list[str] = []

SECTION: Final = "Invocation request"
_NOWHERE: Final = "/v1/agent/nowhere"


@requirement(
    "INV-10.a",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="A refusal has the error envelope as its body and Content-Type application/json.",
    permits={"400", "409", "415"},
    kills={
        "errors-as-text",
        "errors-as-html",
        "envelope-as-text",
        "code-in-words",
        "error-is-a-string",
        "bare-error",
    },
)
async def envelope(target: TargetProbe) -> Findings:
    return among([*await refusals(target), *await replayed(target)], _enveloped)


def _enveloped(refusal: Refusal) -> Iterator[Finding]:
    yield from enveloped(refusal.exchange, refusal.what)


@requirement(
    "INV-10.b",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="The refusal of a request without the secret has the error envelope too.",
    needs={Capability.AUTH},
    permits={"401"},
    kills={"bare-401"},
)
async def envelope_of_401(target: TargetProbe) -> Findings:
    return among(await refusals(target, [Wrong("no secret", secret=None)]), _enveloped)


@requirement(
    "INV-10.c",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="The refusal of a body over the limit has the error envelope too.",
    permits={"413"},
    kills={"bare-413"},
)
async def envelope_of_413(target: TargetProbe) -> Findings:
    await target.control()
    exchange, what = await too_large(target)
    if exchange.status is None or is_accepted(exchange):
        raise CouldNotRun(f"{what}: got {exchange.outcome}, and the envelope is that of a refusal")
    return list(enveloped(exchange, what))


@requirement(
    "INV-10.d",
    level=Level.MUST,
    tier="target-L1",
    section=SECTION,
    text="An unknown route is answered 404 with the error envelope.",
    permits={"404"},
    kills={"bare-404", "any-route-will-do"},
)
async def unknown_route(target: TargetProbe) -> Findings:
    await target.control()
    right = target.request()
    elsewhere = Request.build(
        "POST",
        target.prefix + _NOWHERE,
        host=target.host,
        fields=given_fields(right),
        body=right.body,
    )
    exchange = await target.session.send(elsewhere)
    what = f"POST {_NOWHERE}"
    if exchange.status != 404:
        return list(permitted(exchange, {"404"}, what))
    return list(enveloped(exchange, what))


@requirement(
    "INV-10.i",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="Another method on the invocation route is answered 405 with Allow, or 404, or 501.",
    permits={"404", "405", "501"},
    kills={"get-is-200", "405-without-allow"},
)
async def other_method(target: TargetProbe) -> Findings:
    await target.control()
    exchange = await target.get(INVOCATION_PATH)
    what = f"GET {INVOCATION_PATH}"
    findings = list(permitted(exchange, {"404", "405", "501"}, what))
    if exchange.answer and exchange.status == 405 and exchange.answer.value("allow") is None:
        findings.append(Finding(f"{what}: got 405 without Allow", exchange.index))
    return findings


@requirement(
    "INV-11.a",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="Answers and refusals carry Cache-Control: no-store.",
    permits={"200", "400"},
    kills={"lets-caches-store", "lets-caches-store-refusals"},
)
async def no_store(target: TargetProbe) -> Findings:
    return [
        Finding(f"{what}: got no Cache-Control: no-store", exchange.index)
        for what, exchange in await _answer_and_refusal(target)
        if "no-store" not in _tokens(exchange, "cache-control")
    ]


@requirement(
    "INV-11.b",
    level=Level.SHOULD,
    tier="target-L1",
    section=SECTION,
    text="Answers and refusals carry X-Content-Type-Options: nosniff.",
    permits={"200", "400"},
    kills={"lets-clients-sniff"},
)
async def no_sniffing(target: TargetProbe) -> Findings:
    return [
        Finding(f"{what}: got no X-Content-Type-Options: nosniff", exchange.index)
        for what, exchange in await _answer_and_refusal(target)
        if "nosniff" not in _tokens(exchange, "x-content-type-options")
    ]


async def _answer_and_refusal(target: TargetProbe) -> list[tuple[str, Exchange]]:
    control = await target.control()
    (refusal,) = await refusals(target, [Wrong("a body of `[]`", body=b"[]")])
    return [("the control", control), (refusal.what, refusal.exchange)]


def _tokens(exchange: Exchange, name: str) -> set[str]:
    values = exchange.answer.values(name) if exchange.answer else []
    return {token.strip().lower() for value in values for token in value.split(",")}
